"""Facts from facts: pure functions over the machine document and the dated tables."""
