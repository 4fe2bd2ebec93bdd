"""A thousand operations on a thousand elements each: what starting an operation costs. Loaded by `worker.py`; Python
3.8 syntax.

A step is the thousand operations. They are far too small for more than one thread; what slows them down is what a
setting does around them. No flop or bytes are counted: neither is what they wait for.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]

_ELEMENTS = 1024
_ROUNDS = 200  # of five operations each


class SmallOps:
    items = 1
    flop = moved_bytes = None
    precision = "float32"

    def __init__(self, context):
        self.torch = context.torch
        self.start = numbers.normal(context, _ELEMENTS).to(context.device)
        self.other = numbers.normal(context, 2, _ELEMENTS // 2).reshape(_ELEMENTS).to(context.device)

    def step(self):
        torch, x, other = self.torch, self.start, self.other
        with torch.no_grad():
            for _ in range(_ROUNDS):
                x = x * 0.5
                x = x + other
                x = torch.tanh(x)
                x = torch.maximum(x, other)
                x = x - 0.125
        return x

    def answer(self):
        return numbers.few(self.step())


def build(context):
    return SmallOps(context)
