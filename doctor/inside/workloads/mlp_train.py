"""Training steps of a small network of Linear, GELU and LayerNorm with Adam. Loaded by `worker.py`; Python 3.8 syntax.

An item is one row of the batch. flop per item: 2 x inputs x outputs of each Linear forward, twice that backward, except
the gradient of the first one's inputs, which nobody asks for. The other operations are not counted: they wait for
memory.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]
training = sys.modules["_training_of_the_doctor"]
loading = sys.modules["_loading_of_the_doctor"]

INPUTS, HIDDEN, OUTPUTS = 256, 1024, 32
_BATCH, _LOSS_ITEMS = 128, 64
_FLOP_PER_ITEM = 2.0 * (2 * INPUTS * HIDDEN + 3 * HIDDEN * HIDDEN + 3 * HIDDEN * OUTPUTS)


def make(context):
    nn = context.torch.nn
    return nn.Sequential(
        nn.Linear(INPUTS, HIDDEN),
        nn.GELU(),
        nn.LayerNorm(HIDDEN),
        nn.Linear(HIDDEN, HIDDEN),
        nn.GELU(),
        nn.LayerNorm(HIDDEN),
        nn.Linear(HIDDEN, OUTPUTS),
    )


def batch(context, count):
    inputs = numbers.normal(context, count, INPUTS)
    return inputs, inputs[:, :OUTPUTS].abs() - inputs[:, OUTPUTS : 2 * OUTPUTS]


def build(context):
    return training.Training(
        context,
        make=make,
        batch=batch,
        loss=context.torch.nn.functional.mse_loss,
        rule="adam",
        rate=1e-4,
        count=_BATCH,
        loss_items=_LOSS_ITEMS,
        flop_per_item=_FLOP_PER_ITEM,
        batches=lambda context, count: loading.Batches(context, loading.Rows(INPUTS, OUTPUTS), count),
    )
