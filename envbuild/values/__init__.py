"""The values that flow through the corridor: immutable, typed, saved and loaded as JSON."""
