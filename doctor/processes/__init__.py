"""Starts child processes, and nothing else does."""
