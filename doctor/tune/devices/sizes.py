"""What the rows of a ladder say: where more stops to pay, what does not fit, from where on one device is ahead.

Everything here is of the search: one process each, estimates that choose and never claim.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from doctor.measure.units import Outcome
from doctor.tune.batch import KNEE_SHARE

#: A device is called ahead at a size only beyond this: one process against one process.
AHEAD = math.log(1.05)

#: How a size fails that is too large, rather than wrong: refused, or the end of the driver's patience (TDR).
_TOO_LARGE: tuple[Outcome, ...] = ("out-of-memory", "killed", "hung")


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One size of one family on one device. `items_per_second` is None where it failed; `outcome` and `detail` say how.
    `device_bytes`: the most that PyTorch held on the device, where it tells; `process_bytes`: the process in the
    machine's own memory."""

    family: str
    size: int
    items_per_second: float | None = None
    step_seconds: float | None = None
    outcome: Outcome = "ok"
    detail: str = ""
    device_bytes: int | None = None
    process_bytes: int | None = None

    @property
    def ran(self) -> bool:
        return self.items_per_second is not None


class Crossover(msgspec.Struct, frozen=True, omit_defaults=True):
    """From which size a device is ahead of the CPU. `always`: at every size that both ran. `from`: from `from_size` on.
    `up-to`, `between`: larger ones are slower again. `never`: at none. `unknown`: nothing to compare.

    `largest`: the largest size that both ran. `too_large`: the smallest that the device refused."""

    word: Literal["always", "from", "up-to", "between", "never", "unknown"]
    from_size: int | None = None
    to_size: int | None = None
    largest: int | None = None
    too_large: int | None = None


def of_family(rows: Iterable[Row], family: str) -> tuple[Row, ...]:
    """The rows of a family in ascending order of size."""
    return tuple(sorted((row for row in rows if row.family == family), key=lambda row: row.size))


def knee(rows: Sequence[Row]) -> int | None:
    """The smallest size that gives 95 % of the best speed; None where nothing ran."""
    best = max((row.items_per_second or 0.0 for row in rows), default=0.0)
    return next((row.size for row in rows if best and (row.items_per_second or 0.0) >= KNEE_SHARE * best), None)


def largest(rows: Sequence[Row]) -> int | None:
    return max((row.size for row in rows if row.ran), default=None)


def too_large(rows: Sequence[Row]) -> Row | None:
    """The smallest size that did not fit, or ended the device, above one that ran."""
    ran = largest(rows)
    if ran is None:
        return None
    above = [row for row in rows if not row.ran and row.outcome in _TOO_LARGE and row.size > ran]
    return above[0] if above else None


def knee_neighbours(rows: Sequence[Row]) -> tuple[int, ...]:
    """The sizes half way (as ratios) to the neighbours of the knee that were tried, and twice the knee where it is the
    largest of all: one of these may be better."""
    own = knee(rows)
    if own is None:
        return ()
    sizes = [row.size for row in rows]
    at = sizes.index(own)
    beside = [sizes[near] for near in (at - 1, at + 1) if 0 <= near < len(sizes)]
    middles = {round(math.sqrt(own * other)) for other in beside if max(own, other) > 2 * min(own, other)}
    above = {2 * own} if own == sizes[-1] else set()
    return tuple(sorted((middles | above) - set(sizes)))


def log_speeds(rows: Iterable[Row], other: Iterable[Row]) -> dict[int, float]:
    """log(speed of the first / speed of the second) at every size that both ran."""
    speeds = {row.size: row.items_per_second for row in other if row.items_per_second}
    return {
        row.size: math.log(row.items_per_second / speeds[row.size])
        for row in rows
        if row.items_per_second and row.size in speeds
    }


def crossover(rows: Sequence[Row], cpu: Sequence[Row]) -> Crossover:
    """From where on the device of `rows` is ahead of the CPU: the longest stretch of sizes, the largest of equals."""
    ahead = log_speeds(rows, cpu)
    refused = too_large(rows)
    limit = refused.size if refused is not None else None
    if not ahead:
        return Crossover("unknown", too_large=limit)
    sizes = sorted(ahead)
    stretch = _longest(sizes, ahead)
    if not stretch:
        return Crossover("never", largest=sizes[-1], too_large=limit)
    first, last = stretch[0], stretch[-1]
    words: Mapping[tuple[bool, bool], Literal["always", "from", "up-to", "between"]] = {
        (True, True): "always",
        (False, True): "from",
        (True, False): "up-to",
        (False, False): "between",
    }
    return Crossover(words[first == sizes[0], last == sizes[-1]], first, last, sizes[-1], limit)


def _longest(sizes: Sequence[int], ahead: Mapping[int, float]) -> list[int]:
    best: list[int] = []
    now: list[int] = []
    for size in sizes:
        now = [*now, size] if ahead[size] > AHEAD else []
        if now and len(now) >= len(best):
            best = now
    return best


class Accumulated(msgspec.Struct, frozen=True, omit_defaults=True):
    """A batch that does not fit, made up of several smaller ones: `batch` is `of` x `steps`. `items_per_second` is None
    where it failed, or was not measured; `detail` then says why."""

    family: str
    batch: int
    of: int
    steps: int
    items_per_second: float | None = None
    detail: str = ""


def to_accumulate(rows: Sequence[Row], wanted: int | None = None) -> tuple[int, int, int] | None:
    """(batch, largest that runs, steps) for the size that does not fit: the one that was wanted, else the smallest that
    was refused. None where everything fits."""
    refused, ran = too_large(rows), largest(rows)
    if refused is None or ran is None or ran < 1:
        return None
    batch = wanted if wanted is not None and wanted >= refused.size else refused.size
    steps = -(-batch // ran)
    return ran * steps, ran, steps
