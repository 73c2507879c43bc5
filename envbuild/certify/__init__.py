"""Running probes in an image as it is, and judging what they gave."""
