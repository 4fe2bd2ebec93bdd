"""Training steps of a small residual network on images of 32 x 32 with momentum. Loaded by `worker.py`; Python 3.8
syntax.

An item is one image. flop per item: 2 x kernel area x channels in x channels out x pixels of each convolution forward,
twice that backward, except the gradient of the images themselves.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]
training = sys.modules["_training_of_the_doctor"]
loading = sys.modules["_loading_of_the_doctor"]

SIDE, CLASSES = 32, 10
_NARROW, _WIDE = 16, 32
_BATCH, _LOSS_ITEMS = 32, 8
_FIRST = 9 * 3 * _NARROW * SIDE**2
_INNER = (
    4 * 9 * _NARROW * _NARROW * SIDE**2
    + (9 * _NARROW + _NARROW + 9 * _WIDE) * _WIDE * (SIDE // 2) ** 2
)
_FLOP_PER_ITEM = 2.0 * (2 * _FIRST + 3 * _INNER)


def residual_block(nn, inside, outside, stride):
    """The class is made here: nn.Module exists only once PyTorch was imported."""

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
            self.first_norm = nn.BatchNorm2d(outside)
            self.second = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
            self.second_norm = nn.BatchNorm2d(outside)
            changes = stride != 1 or inside != outside
            self.beside = nn.Conv2d(inside, outside, 1, stride=stride, bias=False) if changes else nn.Identity()
            self.relu = nn.ReLU()

        def forward(self, images):
            inner = self.relu(self.first_norm(self.first(images)))
            return self.relu(self.second_norm(self.second(inner)) + self.beside(images))

    return Residual()


def make(context):
    nn = context.torch.nn
    return nn.Sequential(
        nn.Conv2d(3, _NARROW, 3, padding=1, bias=False),
        nn.BatchNorm2d(_NARROW),
        nn.ReLU(),
        residual_block(nn, _NARROW, _NARROW, 1),
        residual_block(nn, _NARROW, _NARROW, 1),
        residual_block(nn, _NARROW, _WIDE, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(_WIDE, CLASSES),
    )


def batch(context, count):
    return numbers.normal(context, count, 3, SIDE, SIDE), context.torch.arange(count) % CLASSES


def build(context):
    return training.Training(
        context,
        make=make,
        batch=batch,
        loss=context.torch.nn.functional.cross_entropy,
        rule="momentum",
        rate=0.01,
        count=_BATCH,
        loss_items=_LOSS_ITEMS,
        flop_per_item=_FLOP_PER_ITEM,
        batches=lambda context, count: loading.Batches(context, loading.Images(SIDE, CLASSES), count),
    )
