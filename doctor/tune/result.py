"""What a run of `tune` found: the values behind its table, its JSON and the env file."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from doctor.measure.repeatability import Repeatability
from doctor.measure.units import Measured
from doctor.tune.confirm import Confirmation
from doctor.tune.devices.memory import IgpuMemory
from doctor.tune.devices.result import DevicesResult
from doctor.tune.plan import Plan
from doctor.tune.recommendation import Recommendation, Roof, TuneFinding
from doctor.tune.search import ArmReport
from doctor.tune.skipped import Skipped

SCHEMA = "amd-doctor/tune/1"

#: `confirmed`: a candidate was measured against the default, whatever the verdict. The others ended before that.
Ending = Literal["confirmed", "budget-too-small", "default-failed", "nothing-to-try"]


class TuneResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """`candidates`: the chosen setting first, then its variables alone where it carries a mask. `export` is the
    candidate that `amd-doctor run` should use, `export_variables` the one whose variables a sourced file should set;
    None: nothing was shown to be faster, keep the default.

    `needed_seconds` stands beside `budget-too-small`. `disturbances` are sentences for the screen; `disturbed` says
    whether the run as a whole is marked. `recommendations` is for what no variable sets. `left_out`: what the budget
    was too small for, beside the arms and recommendations that say so themselves. `settings_seconds`: what was spent
    when the settings were confirmed. `devices`: how they compare with the CPU; `igpu_memory`: of the integrated
    one among them. None where no device was asked for.
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
    recommendations: tuple[Recommendation, ...] = ()
    roofline: tuple[Roof, ...] = ()
    findings: tuple[TuneFinding, ...] = ()
    left_out: tuple[Skipped, ...] = ()
    settings_seconds: float | None = None
    devices: DevicesResult | None = None
    igpu_memory: IgpuMemory | None = None
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


#: A result with every sample is far smaller.
_MOST_BYTES = 64 << 20
_FAMILY = SCHEMA.rsplit("/", 1)[0] + "/"

T = TypeVar("T")


class BadResult(Exception):
    """Bytes that are no saved result. The message is one sentence."""


class SavedResult(msgspec.Struct, frozen=True):
    """The whole document of a run: the result, every unit in the order of measuring, and the machine document (plain,
    as it was written; None where it was left out)."""

    result: TuneResult
    samples: tuple[Measured, ...] = ()
    machine: dict[str, Any] | None = None
    taken_at: str | None = None


class _Beside(msgspec.Struct, frozen=True):
    """What stands in the document beside the result's own fields."""

    samples: tuple[Measured, ...] = ()
    machine: dict[str, Any] | None = None
    taken_at: str | None = None


class _Head(msgspec.Struct, frozen=True):
    schema: str = ""


def read_result(data: bytes) -> TuneResult:
    """The result in the JSON document of a run. Raises BadResult."""
    return read_saved_result(data).result


def read_saved_result(data: bytes) -> SavedResult:
    """The whole JSON document of a run. Types are checked strictly; fields of a newer release are left out. Raises
    BadResult."""
    if len(data) > _MOST_BYTES:
        raise BadResult("not a saved result: it is larger than any")
    schema = _decoded(data, _Head).schema
    if not schema.startswith(_FAMILY):
        raise BadResult(f"not a saved result: its schema is {schema[:60]!r}")
    if schema != SCHEMA:
        raise BadResult(f"{schema[:60]} is newer than this version reads ({SCHEMA}): update amd-doctor")
    beside = _decoded(data, _Beside)
    return SavedResult(_decoded(data, TuneResult), beside.samples, beside.machine, beside.taken_at)


def _decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError as error:
        raise BadResult("not a saved result: nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadResult(f"not a saved result: {error}") from error
