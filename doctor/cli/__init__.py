"""Commands: one file each. A command parses its options, calls one function and hands the result to `present`."""
