"""STREAM's triad, a = b + s c, as one pass through torch.add. Loaded by `worker.py`; Python 3.8 syntax.

flop: 2 per element. moved_bytes: 12 per float32 element (two reads, one write), as STREAM counts; a cache that reads a
line before it writes to it moves 16. Every array is first written by a parallel operation of the same size, so that on
machines with several memory nodes each thread finds its part near it.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]

_BYTES_PER_ELEMENT = 4
#: The three arrays may take this share of the memory that is free.
_FREE_SHARE = 0.10


class Triad:
    items = 1
    precision = "exact"

    def __init__(self, context):
        torch, elements = context.torch, context.array_bytes // _BYTES_PER_ELEMENT
        self.torch = torch
        self.a, self.b, self.c = (torch.empty(elements, device=context.device) for _ in range(3))
        for array, value in ((self.a, 0.0), (self.b, 1.5), (self.c, 0.25)):
            array.fill_(value)
        self.flop = 2.0 * elements
        self.moved_bytes = 3.0 * _BYTES_PER_ELEMENT * elements

    def step(self):
        return self.torch.add(self.b, self.c, alpha=3.0, out=self.a)

    def answer(self):
        found = self.step()
        values = [float(value) for value in (found[0], found[-1], found.min(), found.max())]
        if values != [2.25] * 4:
            raise numbers.Wrong("1.5 + 3 x 0.25 gave %s" % values)
        return values


def build(context):
    return Triad(context)


def too_large(array_bytes, free_bytes):
    """Why it is left out, in words; None where it fits."""
    if free_bytes is None or 3 * array_bytes <= _FREE_SHARE * free_bytes:
        return None
    return "three arrays of %d MiB would take more than a tenth of the %d MiB of free memory" % (
        array_bytes >> 20,
        free_bytes >> 20,
    )
