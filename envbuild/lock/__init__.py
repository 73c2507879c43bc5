"""Plan to Lock: every byte a build takes from outside, by hash."""
