"""A product of two float64 matrices of 1024 x 1024 through NumPy, which brings a BLAS of its own. Loaded by
`worker.py`, which then leaves PyTorch alone; Python 3.8 syntax.

flop: 2 n**3. moved_bytes: both matrices read once and the product written once.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]

_SIDE = 1024


class NumpyGemm:
    items = 1
    precision = "float64"
    flop = 2.0 * _SIDE**3
    moved_bytes = 3.0 * 8 * _SIDE**2

    def __init__(self, context):
        numpy = context.numpy
        self.numpy = numpy
        state = numpy.random.RandomState(0)
        self.a, self.b = (state.standard_normal((_SIDE, _SIDE)) for _ in range(2))
        self.c = numpy.empty((_SIDE, _SIDE))

    def step(self):
        return self.numpy.dot(self.a, self.b, out=self.c)

    def answer(self):
        flat = self.step().ravel()
        strips = abs(flat).reshape(8, -1).mean(axis=1)
        return [float(value) for value in flat[:: len(flat) // 7]] + [float(value) for value in strips]


def build(context):
    return NumpyGemm(context)
