"""A product of two matrices, C = A B. Loaded by `worker.py`; Python 3.8 syntax.

flop: 2 m n k. moved_bytes: A and B read once and C written once, which no kernel can go below; a square product of any
size worth timing moves more through the caches and is bound by arithmetic, a skinny one moves just this.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]


class Gemm:
    items = 1

    def __init__(self, context, m, n, k, dtype):
        torch = context.torch
        self.context, self.torch, self.precision = context, torch, dtype
        kind = getattr(torch, dtype)
        self.a = numbers.normal(context, m, k).to(context.device, kind)
        self.b = numbers.normal(context, k, n).to(context.device, kind)
        # Elsewhere `out=` may be slower than a new tensor, and autocast leaves it alone.
        in_place = context.device.type == "cpu" and "autocast" not in context.options
        self.c = torch.empty(m, n, dtype=kind) if in_place else None
        self.flop = 2.0 * m * n * k
        self.moved_bytes = float(self.a.element_size() * (m * k + k * n + m * n))

    def step(self):
        if self.c is not None:
            return self.torch.mm(self.a, self.b, out=self.c)
        with self.context.autocast():
            return self.a @ self.b

    def answer(self):
        return numbers.few(self.step())


def build(context, m, n, k, dtype):
    return Gemm(context, m, n, k, dtype)
