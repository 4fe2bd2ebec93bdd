"""Rules judge the machine document: loading, compiling and evaluating them, and ordering what they found by cause."""
