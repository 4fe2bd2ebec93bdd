"""The search: it chooses, and never claims.

Rounds. In each, the default and every live arm run once, in random order. An arm's score is the median over the
rounds of log(time) minus the round's median, so a slow minute does not count against whoever ran in it. After every
second round the best third stays. What an arm scored here is never printed as a gain: the best of many noisy numbers
is mostly the luckiest.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from statistics import median

import msgspec

from doctor.measure.schedule import shuffled
from doctor.measure.units import DEFAULT, UnitResult, log_seconds
from doctor.tune.arms import Arm
from doctor.tune.budget import FIRST_ROUNDS, best_third
from doctor.tune.meter import DEFAULT_ARM, Meter, Step

#: A rounding error of the clock must not cost a round.
_SLACK = 1e-9


class ArmReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the search saw of one arm. `log_ratio` is against the default of the same rounds, an estimate only.

    `fate`: `chosen`; `left`, live to the end but not the best; `out`, thrown out after `rounds`; `failed`, with its
    `detail`; `not-tried`, where the budget was too small for it.
    """

    name: str
    fate: str
    rounds: int = 0
    log_ratio: float | None = None
    detail: str = ""


class Searched(msgspec.Struct, frozen=True):
    """`chosen` is None where every arm failed."""

    chosen: Arm | None
    reports: tuple[ArmReport, ...]
    rounds: int


def search(meter: Meter, arms: Sequence[Arm], until_seconds: float) -> Generator[Step, UnitResult, Searched]:
    """Search among `arms`, at least one round, until one is left or the next round would end after `until_seconds`
    of the run. The arms stand in their order of priority, which also breaks ties."""
    live = list(arms)
    times: dict[str, dict[int, float]] = {arm.name: {} for arm in (DEFAULT_ARM, *arms)}
    centers: dict[int, float] = {}
    failed: dict[str, str] = {}
    number = 0
    while live and (number == 0 or (len(live) > 1 and _fits(meter, live, until_seconds))):
        meter.live = len(live)
        round_times: dict[str, float] = {}
        for arm in shuffled(meter.plan.seed, "search", number, [DEFAULT_ARM, *live]):
            booked = yield from meter.measure(arm, "search", number)
            if booked.ok:
                round_times[arm.name] = log_seconds(booked.result, meter.plan.workloads)
            elif arm.name != DEFAULT:
                failed[arm.name] = booked.failure
        if round_times:
            centers[number] = median(round_times.values())
        for name, seconds in round_times.items():
            times[name][number] = seconds
        number += 1
        live = _ranked([arm for arm in live if arm.name not in failed], times, centers)
        if number % FIRST_ROUNDS == 0:
            live = list(best_third(live))
        meter.leader = live[0].name if live else None
    reports = tuple(_report(arm.name, times, live, failed) for arm in arms)
    return Searched(live[0] if live else None, reports, number)


def _fits(meter: Meter, live: Sequence[Arm], until_seconds: float) -> bool:
    seconds = meter.cost_of(DEFAULT) + sum(meter.cost_of(arm.name) for arm in live)
    return meter.spent_seconds + seconds <= until_seconds * (1 + _SLACK)


def _ranked(live: Sequence[Arm], times: Mapping[str, Mapping[int, float]], centers: Mapping[int, float]) -> list[Arm]:
    """Best first. All of `live` have run in the same rounds."""
    scores = {
        arm.name: median(seconds - centers[number] for number, seconds in times[arm.name].items()) for arm in live
    }
    return sorted(live, key=lambda arm: scores[arm.name])


def _report(
    name: str, times: Mapping[str, Mapping[int, float]], live: Sequence[Arm], failed: Mapping[str, str]
) -> ArmReport:
    own, default = times[name], times[DEFAULT]
    both = [own[number] - default[number] for number in own.keys() & default.keys()]
    names = [arm.name for arm in live]
    fate = "failed" if name in failed else "out" if name not in names else "chosen" if name == names[0] else "left"
    return ArmReport(name, fate, len(own), median(both) if both else None, failed.get(name, ""))

