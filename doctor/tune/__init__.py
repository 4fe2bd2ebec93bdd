"""Chooses settings: arms from the machine document, a search that never claims, a confirmation that never chooses."""
