"""The rules, one small pure function each."""
