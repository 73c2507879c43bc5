"""From a Target to a Plan: rules over the matrices."""
