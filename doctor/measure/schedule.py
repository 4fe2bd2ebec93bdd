"""The order of runs, from a seed that is stored: random inside every round, so that no drift can favour an arm.

Each round draws from its own generator, named by seed, stage and number. A run that is resumed, or whose earlier
rounds went otherwise, therefore tosses the same coins.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: Within it the place of the stack matters (hyperfine's randomized environment offset shifts as far).
_PAGE_BYTES = 4096


def shuffled(seed: int, stage: str, number: int, members: Sequence[T]) -> tuple[T, ...]:
    """The members of one round in a random order, every order equally likely. Two members: one toss of a coin."""
    order = list(members)
    random.Random(f"{seed} {stage} {number}").shuffle(order)
    return tuple(order)


def pad_bytes(seed: int, number: int) -> int:
    """The length of the pad variable of unit `number`, anything up to a page."""
    return zlib.crc32(f"{seed} {number}".encode()) % _PAGE_BYTES
