"""The well-known function fit: y = x**2 + noise on 1,000,000 points, a 1-10-1 ReLU net, plain gradient descent with
rate 0.01. Loaded by `worker.py`; Python 3.8 syntax.

An item is one point; a step goes over all of them, as each of the 100 steps of the usual script does. flop per item:
2 x inputs x outputs of each Linear forward, twice that backward, except the gradient of x. On a device other than the
CPU torch.optim takes the step: what is known to go wrong there goes wrong with it.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]
training = sys.modules["_training_of_the_doctor"]

POINTS = 1000000
_HIDDEN = 10
_LOSS_ITEMS = 10000
_FLOP_PER_ITEM = 2.0 * (2 * _HIDDEN + 3 * _HIDDEN)


def make(context):
    nn = context.torch.nn
    return nn.Sequential(nn.Linear(1, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))


def batch(context, count):
    x = context.torch.linspace(-1.0, 1.0, count).unsqueeze(1)
    return x, x**2 + 0.1 * numbers.normal(context, count, 1)


def build(context):
    return training.Training(
        context,
        make=make,
        batch=batch,
        loss=context.torch.nn.functional.mse_loss,
        rule="sgd",
        rate=0.01,
        count=POINTS,
        loss_items=_LOSS_ITEMS,
        flop_per_item=_FLOP_PER_ITEM,
        torch_optim=context.device.type != "cpu",
    )
