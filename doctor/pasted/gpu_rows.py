"""Which GPU of one text is which of another? Rows are matched by what names one card, never by their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from doctor.machine.model import Gpu

Key: TypeAlias = "str | None"

#: What names a card, the surest first. A card that is there twice has the same target and name twice: those count only
#: where each text has them once.
_KEYS: tuple[Callable[[Gpu], Key], ...] = (
    lambda gpu: gpu.pci_address,
    lambda gpu: gpu.pci_id,
    lambda gpu: gpu.gfx.partition(":")[0] if gpu.gfx else None,
    lambda gpu: gpu.name.casefold() if gpu.name else None,
    lambda gpu: gpu.vendor if gpu.vendor == "amd" else None,
)


def matched(older: Sequence[Gpu], newer: Sequence[Gpu]) -> list[tuple[Gpu | None, Gpu | None]] | None:
    """Pairs of (older, newer) rows, and at the end the older ones that the newer text does not have: it may list
    cards of one maker only. None where rows of both are left over, so that nobody can say which is which."""
    partners = _partners(older, newer)
    left = [at for at in range(len(older)) if at not in partners.values()]
    if left and len(partners) < len(newer):
        return None
    pairs: list[tuple[Gpu | None, Gpu | None]] = [
        (older[partners[at]] if at in partners else None, row) for at, row in enumerate(newer)
    ]
    return [*pairs, *((older[at], None) for at in left)]


def _partners(older: Sequence[Gpu], newer: Sequence[Gpu]) -> dict[int, int]:
    """Index in `newer` -> index in `older`."""
    found: dict[int, int] = {}
    for key in _KEYS:
        free_old = [at for at in range(len(older)) if at not in found.values()]
        free_new = [at for at in range(len(newer)) if at not in found]
        for at in free_new:
            name = key(newer[at])
            same_new = [other for other in free_new if key(newer[other]) == name]
            same_old = [other for other in free_old if key(older[other]) == name]
            if name is not None and len(same_new) == len(same_old) == 1 and _agree(older[same_old[0]], newer[at]):
                found[at] = same_old[0]
    return found


def _agree(one: Gpu, other: Gpu) -> bool:
    """Do two rows not contradict each other in what names a card?"""
    pairs = [(key(one), key(other)) for key in _KEYS[:3]]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)
