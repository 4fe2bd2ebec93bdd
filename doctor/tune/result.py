"""What a run of `tune` found: the values behind its table, its JSON and the env file."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doctor.measure.repeatability import Repeatability
from doctor.tune.confirm import Confirmation
from doctor.tune.plan import Plan
from doctor.tune.search import ArmReport

SCHEMA = "amd-doctor/tune/1"

#: `confirmed`: a candidate was measured against the default, whatever the verdict. The others ended before that.
Ending = Literal["confirmed", "budget-too-small", "default-failed", "nothing-to-try"]


class TuneResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """`candidates`: the chosen setting first, then its variables alone where it carries a mask. `export` is the
    candidate that `amd-doctor run` should use, `export_variables` the one whose variables a sourced file should set;
    None: nothing was shown to be faster, keep the default.

    `needed_seconds` stands beside `budget-too-small`. `disturbances` are sentences for the screen; `disturbed` says
    whether the run as a whole is marked. `recommendations` is for what no variable sets.
    """

    plan: Plan
    ending: Ending
    units: int
    spent_seconds: float
    unit_seconds: float | None = None
    arms: tuple[ArmReport, ...] = ()
    rounds: int = 0
    candidates: tuple[Confirmation, ...] = ()
    pairs: int = 0
    pairs_left_out: int = 0
    repeatability: Repeatability | None = None
    disturbances: tuple[str, ...] = ()
    detail: str = ""
    needed_seconds: float | None = None
    recommendations: tuple[dict[str, Any], ...] = ()
    schema: str = SCHEMA

    @property
    def disturbed(self) -> bool:
        return bool(self.disturbances) or (self.repeatability is not None and self.repeatability.disturbed)

    @property
    def export(self) -> Confirmation | None:
        """The first candidate that may be exported: with its mask, if that was faster."""
        return next((candidate for candidate in self.candidates if candidate.exportable), None)

    @property
    def export_variables(self) -> Confirmation | None:
        """The candidate without a mask that may be exported."""
        return next((each for each in self.candidates if each.exportable and each.setting.cpus is None), None)
