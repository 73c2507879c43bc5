"""From a machine in any state, and from what its programs say, to the next right step."""
