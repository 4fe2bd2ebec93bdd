"""Batches from a DataLoader whose workers do what real ones do: a small transformation of each sample on the CPU.

`worker.py` loads this file by its path, in its own process and in those that a DataLoader starts. Standard library and
the target's torch only; Python 3.8 syntax.
"""

#: So many samples are kept in memory; a sample with a higher number is one of them, transformed in another way.
_KEPT = 256
_MARGIN = 4

#: Between blocks the workers go on: what they gain meanwhile has to be a small part of a block.
BLOCK_SECONDS = 0.1
#: Batches that each worker has ready, the default of a DataLoader.
_AHEAD = 2


class Rows:
    """Rows of bytes, as a table is stored: made to numbers, scaled, with a little noise."""

    def __init__(self, inputs, outputs):
        import torch

        generator = torch.Generator().manual_seed(1)
        self.outputs = outputs
        self.rows = torch.randint(0, 256, (_KEPT, inputs), dtype=torch.uint8, generator=generator)

    def __len__(self):
        return 2**31

    def __getitem__(self, number):
        import torch

        row = self.rows[number % _KEPT].float().div_(64.0).sub_(2.0)
        row.add_(torch.randn(row.shape), alpha=0.05).clamp_(-2.5, 2.5)
        return row, row[: self.outputs].abs()


class Images:
    """Images of bytes: a random part, turned over half of the time, scaled channel by channel."""

    def __init__(self, side, classes):
        import torch

        generator = torch.Generator().manual_seed(2)
        self.side, self.classes = side, classes
        whole = side + 2 * _MARGIN
        self.images = torch.randint(0, 256, (_KEPT, 3, whole, whole), dtype=torch.uint8, generator=generator)
        self.mean = torch.tensor([0.49, 0.48, 0.45]).reshape(3, 1, 1)
        self.deviation = torch.tensor([0.25, 0.24, 0.26]).reshape(3, 1, 1)

    def __len__(self):
        return 2**31

    def __getitem__(self, number):
        import torch

        top, left, turned = torch.randint(0, 2 * _MARGIN, (3,)).tolist()
        image = self.images[number % _KEPT, :, top : top + self.side, left : left + self.side].float().div_(255.0)
        if turned % 2:
            image = image.flip(2)
        return (image - self.mean) / self.deviation, number % self.classes


class Batches:
    """Batches without end, from as many workers as the option says; 0: the process does it itself, in between."""

    def __init__(self, context, dataset, count):
        from torch.utils.data import DataLoader

        self.workers = int(context.options["loader_workers"])
        self.batches = iter(DataLoader(dataset, batch_size=count, num_workers=self.workers))

    def __next__(self):
        return next(self.batches)

    def drain(self):
        """Take away what the workers prepared while nobody asked."""
        for _ in range(_AHEAD * self.workers):
            next(self.batches)
