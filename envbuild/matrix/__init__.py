"""The facts: rows with a source and a status, and what loads and names them."""
