"""What others can check: signed statements about an image, attached to it, and their verification."""
