"""A certificate for people and for CI."""
