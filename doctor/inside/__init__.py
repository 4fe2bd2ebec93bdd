"""Scripts run by the TARGET interpreter. Standard library only, Python 3.8 syntax, nothing of `doctor`."""
