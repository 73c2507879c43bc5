"""What others can check: signed statements about an image, and their verification."""
