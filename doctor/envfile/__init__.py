"""Env files: what a tuned setting exports, one writer and reader per format, a managed block in a file."""
