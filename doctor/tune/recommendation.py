"""What is told beside the exported setting: recommendations with code, measured speeds against the peak, findings."""

from __future__ import annotations

from typing import Literal

import msgspec

from doctor.measure.verdict import Verdict

#: `measured`: pairs stand behind the verdict. `chosen`: nothing to claim, what the target does is right already.
#: `failed`: it did not run, or computed something else. `not-tried`: the budget was too small, or nothing was known.
Fate = Literal["measured", "chosen", "failed", "not-tried"]


class BatchPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the search saw of one batch size: an estimate. `failed`: it did not fit; its speed is then None."""

    batch: int
    items_per_second: float | None = None
    peak_resident_bytes: int | None = None
    failed: str = ""


class Recommendation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One axis that no env file can carry, measured under the setting that was chosen before.

    `code`: the lines that do it. `variables`: what a user may set by hand for it (never exported, but for
    `AMD_DOCTOR_BATCH_SIZE`, which his own code reads). `items_per_second` and `base_items_per_second`: medians, per
    workload in the order of `workloads`. `points` belong to the batch size.
    """

    axis: str
    title: str
    fate: Fate
    verdict: Verdict | None = None
    code: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    detail: str = ""
    workloads: tuple[str, ...] = ()
    by_workload: dict[str, Verdict] = {}
    items_per_second: tuple[float, ...] = ()
    base_items_per_second: tuple[float, ...] = ()
    points: tuple[BatchPoint, ...] = ()

    @property
    def slower_on(self) -> tuple[str, ...]:
        return tuple(name for name, verdict in self.by_workload.items() if verdict.word == "slower")

    @property
    def advised(self) -> bool:
        """Shown to be faster, with the right answers, and slower nowhere."""
        faster = self.verdict is not None and self.verdict.word == "faster"
        return self.fate == "measured" and faster and not self.slower_on


class Roof(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured speed beside the peak that the facts imply. `share` is None where the peak is not known; `detail`
    says how the peak was counted, or what is missing."""

    workload: str
    threads: int | None
    per_second: float
    unit: Literal["FLOP", "bytes"]
    peak_per_second: float | None = None
    share: float | None = None
    detail: str = ""


class TuneFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something about the machine that the run came upon. `kind` is stable, the rest is for people."""

    kind: Literal["above-peak", "far-below-peak", "import-pins"]
    title: str
    evidence: str
    advice: str = ""
