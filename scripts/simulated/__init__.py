"""Machines that do not exist, with published speeds and recorded noise: for the tests and `benchmark.py tune`."""
