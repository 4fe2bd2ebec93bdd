"""The sizes at which devices are compared: a ladder of batch sizes for a network, of points for the function fit, of
sides for matrix products. A workload that has no size is a ladder of one rung."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from doctor.measure.units import Variant
from doctor.measure.workloads import COMMAND, WORKLOADS

#: Four times more work from rung to rung; what lies between is looked at where it matters.
_BATCHES = (4, 16, 64, 256, 1024, 4096)
_POINTS = (1_000, 10_000, 100_000, 1_000_000)

#: Looked at beside the workloads that the run is about; nothing is claimed of them.
_EXTRAS = {"train": ("fit",), "infer": ("gemm-512", "gemm-1024", "gemm-4096")}

#: Nothing of these asks a GPU: bandwidth of the memory, what starting an operation costs, NumPy.
_CPU_ONLY = ("triad", "small-ops", "numpy-gemm", COMMAND)

_SQUARE = re.compile(r"(gemm(?:-bf16)?)-(\d+)")

Unit = Literal["batch", "points", "side", ""]


class Rung(msgspec.Struct, frozen=True, omit_defaults=True):
    """One size of a family, as the worker is told to run it. `size` is 0 where there is none."""

    family: str
    size: int
    workload: str
    options: dict[str, str] = {}

    @property
    def name(self) -> str:
        return f"{self.family} at {self.size}" if self.size else self.family

    def variant(self, **more: str) -> Variant:
        words = "".join(f", {option} {value}" for option, value in more.items())
        return Variant(self.name + words, {**self.options, **more}, (self.workload,))


class Family(msgspec.Struct, frozen=True, omit_defaults=True):
    """One workload at several sizes, in ascending order. `unit` names the size. `counts`: the run is about it.
    `own_size`: the size that it has by itself; what is confirmed where no other one is better."""

    name: str
    unit: Unit
    rungs: tuple[Rung, ...]
    counts: bool = True
    trains: bool = False

    def at(self, size: int) -> Rung:
        """The rung of a size, also of one between those of the ladder. Raises KeyError where a family has no other."""
        for rung in self.rungs:
            if rung.size == size:
                return rung
        if self.unit not in ("batch", "points"):
            raise KeyError(size)
        return _batched(self.name, size)


def families(workloads: Iterable[str], mode: str | None = None) -> tuple[Family, ...]:
    """What is compared: the run's own workloads that a GPU can do, then what its mode adds to look at."""
    own = tuple(name for name in workloads if name in WORKLOADS and name not in _CPU_ONLY)
    if not own:
        return ()
    found = _families(own, counts=True)
    there = {rung.workload for family in found for rung in family.rungs}
    extras = [name for name in _EXTRAS.get(mode or "", ()) if name not in there]
    return (*found, *_families(extras, counts=False))


def _families(workloads: Sequence[str], *, counts: bool) -> tuple[Family, ...]:
    squares: dict[str, list[Rung]] = {}
    found: dict[str, Family] = {}
    for name in workloads:
        workload = WORKLOADS[name]
        square = _SQUARE.fullmatch(name)
        if workload.batched:
            unit: Unit = "points" if name == "fit" else "batch"
            sizes = _POINTS if unit == "points" else _BATCHES
            rungs = tuple(_batched(name, size) for size in sizes)
            found[name] = Family(name, unit, rungs, counts, workload.trains)
        elif square is not None:
            squares.setdefault(square[1], []).append(Rung(square[1], int(square[2]), name))
            ordered = tuple(sorted(squares[square[1]], key=lambda rung: rung.size))
            found[square[1]] = Family(square[1], "side", ordered, counts)
        else:
            found[name] = Family(name, "", (Rung(name, 0, name),), counts)
    return tuple(found.values())


def _batched(workload: str, size: int) -> Rung:
    return Rung(workload, size, workload, {"batch": str(size)})


def for_backend(found: Iterable[Family], backend: str) -> tuple[Family, ...]:
    """Without what ends every process there: bfloat16 on DirectML (dml_util.cc: "Invalid or unsupported data type")."""
    if backend != "directml":
        return tuple(found)
    return tuple(family for family in found if "bf16" not in family.name)
