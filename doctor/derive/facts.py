"""Everything that follows from the machine document, as one struct that the rules read under `derived`.

`complete` fills fields of the document itself that follow from others (generation from family and model, the CPU
budget from affinity and quota …) where the source did not know them. `derive` computes what only rules need.
"""

from __future__ import annotations

from doctor.machine.model import Fact, Machine


class Derived(Fact, frozen=True):
    """One sub-struct per area, each defined beside the functions that fill it."""


def complete(machine: Machine) -> Machine:
    """The document with every field filled in that follows from its others."""
    return machine


def derive(machine: Machine) -> Derived:
    """The derived facts of a completed document."""
    return Derived()
