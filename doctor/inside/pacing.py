"""How long a workload warms up, how many steps make a block, and how many blocks are timed.

`worker.py` loads this file by its path. The clock is passed in. Standard library only; Python 3.8 syntax.
"""

import math
from statistics import median

#: A warm-up is over when the two halves of its last chunks differ by no more than this.
_HALVES_AGREE = 0.05
_HALF = 3
#: A chunk of the warm-up is this part of a block.
_CHUNK_SHARE = 0.25
_MOST_STEPS = 10**6


class Pace:
    """`block_seconds`: the shortest block. `blocks`: how many; fewer, but at least `least_blocks`, where they take
    longer than `most_seconds` together. `warm_up_seconds`: the longest warm-up."""

    def __init__(self, block_seconds, blocks, least_blocks, warm_up_seconds, most_seconds):
        self.block_seconds = block_seconds
        self.blocks = blocks
        self.least_blocks = least_blocks
        self.warm_up_seconds = warm_up_seconds
        self.most_seconds = most_seconds

    def with_blocks_of(self, seconds):
        """The same with blocks of at least `seconds`."""
        longer = max(self.block_seconds, seconds)
        return Pace(longer, self.blocks, self.least_blocks, self.warm_up_seconds, self.most_seconds)


class Stopwatch:
    """Times steps. `finish(result)` waits until the device is done with a result; `overhead` is what that takes where
    nothing is left to do, and is taken off."""

    def __init__(self, step, finish, clock, overhead=0.0):
        self.step, self.finish, self.clock, self.overhead = step, finish, clock, overhead

    def seconds(self, steps):
        step, began = self.step, self.clock()
        for _ in range(steps):
            result = step()
        self.finish(result)
        return max(self.clock() - began - self.overhead, 0.0)


def warm_up(watch, pace):
    """Run until two halves agree, or the time is over. Returns the seconds of one step, always after one at least."""
    begun, steps, times = watch.clock(), 1, []
    while True:
        seconds = watch.seconds(steps)
        over = watch.clock() - begun >= pace.warm_up_seconds
        if seconds < _CHUNK_SHARE * pace.block_seconds and steps < _MOST_STEPS and not over:
            steps, times = steps * 2, []
            continue
        times.append(seconds / steps)
        if over or (len(times) >= 2 * _HALF and agree(times[-2 * _HALF : -_HALF], times[-_HALF:])):
            return median(times[-_HALF:])


def agree(first, second):
    one, other = median(first), median(second)
    return abs(one - other) <= _HALVES_AGREE * max(one, other)


def blocks(watch, pace, step_seconds, before_block):
    """Seconds per step of each block. `before_block()` runs outside of the time."""
    steps = _MOST_STEPS
    if step_seconds > 0:
        steps = min(max(math.ceil(pace.block_seconds / step_seconds), 1), _MOST_STEPS)
    begun, times = watch.clock(), []
    while len(times) < pace.blocks:
        if len(times) >= pace.least_blocks and watch.clock() - begun > pace.most_seconds:
            break
        before_block()
        times.append(watch.seconds(steps) / steps)
    return times
