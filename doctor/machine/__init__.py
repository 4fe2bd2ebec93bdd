"""The machine document: frozen structs, unknown facts, JSON in and out. The names are the contract."""
