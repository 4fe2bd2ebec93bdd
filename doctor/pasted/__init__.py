"""Recognises what a person hands over with `--from` and turns it into a source or a machine document."""
