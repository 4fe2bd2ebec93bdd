"""One measurement and what it proves: units and their results, the order of runs, exact statistics, guards."""
