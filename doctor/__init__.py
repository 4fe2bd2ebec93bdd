"""amd-doctor: says why PyTorch is broken or slow on an AMD machine, and what to do about it."""

__version__ = "0.1.0"
