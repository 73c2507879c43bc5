"""The steps of each fix, one module a matter; whoever gives advice takes them from here."""
