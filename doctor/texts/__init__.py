"""One pure reader per foreign text format. No file access, no judgement."""
