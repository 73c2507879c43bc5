"""From a compute capability to a certified CUDA image."""

__version__ = "0.1.0"
