"""A copy between the memory of the machine and that of a device, in one direction. Loaded by `worker.py`; Python 3.8
syntax.

moved_bytes: those of the tensor. It is timed apart: no other workload copies while it is timed.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]

_ELEMENTS = 16 << 20  # 64 MiB of float32


class Transfer:
    items = 1
    flop = None
    precision = "exact"

    def __init__(self, context, to_device):
        self.device, self.to_device = context.device, to_device
        self.here = numbers.normal(context, _ELEMENTS)
        self.there = self.here.to(context.device)
        self.moved_bytes = float(self.here.element_size() * _ELEMENTS)

    def step(self):
        return self.here.to(self.device) if self.to_device else self.there.cpu()

    def answer(self):
        return numbers.few(self.there)


def build(context, to_device):
    return Transfer(context, bool(to_device))
