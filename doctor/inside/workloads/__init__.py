"""What a unit times, one file each. `worker.py` loads them by their path, in the target interpreter.

A file has `build(context, **arguments)`, which makes the data and gives an object with these parts:
    step()       does one step and returns a tensor that depends on its last operation (NumPy: anything)
    answer()     a few numbers that tell a right computation from a wrong one; called once, before anything is timed
    items        how much work a step does, in the workload's own unit
    flop, moved_bytes    of one step, counted from the shapes; None where a count would mean nothing
    precision    a name in `TOLERANCES` of `workload_numbers.py`
and, where it trains, `loss` (after 20 steps from its seeded start, set by `answer()`) and `reset()`, which takes the
model back to that start so that every block does the same work. Standard library and the target's torch or NumPy only;
Python 3.8 syntax.
"""
