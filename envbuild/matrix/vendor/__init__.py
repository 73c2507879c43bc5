"""The rows of the matrices, measured again in the vendors' own packages."""
