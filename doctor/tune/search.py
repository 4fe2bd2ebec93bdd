"""The search: it chooses, and never claims.

Rounds. In each, the default and every live arm run once, in random order. An arm's score is the median over the
rounds of log(time) minus the round's median, so a slow minute does not count against whoever ran in it. After every
second round the best third stays. What an arm scored here is never claimed as a gain: the best of many noisy numbers
is mostly the luckiest.

Twelve arms are a coarse grid of thread counts. After each cut, the counts halfway between the leader and its
neighbours join. What can only be judged on top of a placement (a wait policy, an allocator) is searched in rounds of
its own, after the placement is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from doctor.measure.schedule import shuffled
from doctor.measure.units import DEFAULT, UnitResult, log_seconds
from doctor.measure.verdict import FASTER_MARGIN
from doctor.tune.arms import Arm, between
from doctor.tune.budget import FIRST_ROUNDS, best_third
from doctor.tune.meter import DEFAULT_ARM, Meter, Step

#: A rounding error of the clock must not cost a round.
_SLACK = 1e-9


class ArmReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the search saw of one arm. `log_ratio` is against the default of the same rounds, an estimate only.

    `fate`: `chosen`, one of the arms and at most one of the additions; `left`, live to the end but not the best; `out`,
    thrown out after `rounds`; `failed`, with its `detail`; `not-tried`, where the budget was too small for it.
    """

    name: str
    fate: str
    rounds: int = 0
    log_ratio: float | None = None
    detail: str = ""


class Searched(msgspec.Struct, frozen=True):
    """`chosen` is None where every arm failed. `rounds`: how many there have been in the run by now. `noise`: by how
    much the runs of one arm scattered, as the standard deviation of log(time); None where no arm ran twice."""

    chosen: Arm | None
    reports: tuple[ArmReport, ...]
    rounds: int
    noise: float | None = None


#: log(time) of each arm by round.
_Times = dict[str, dict[int, float]]


class _Ran(NamedTuple):
    """What some rounds gave: every arm that ran, the live ones best first, and the number of the next round."""

    arms: list[Arm]
    times: _Times
    live: list[Arm]
    failed: dict[str, str]
    number: int


def search(
    meter: Meter, arms: Sequence[Arm], until_seconds: float, *, first_round: int = 0
) -> Generator[Step, UnitResult, Searched]:
    """Search among `arms`, at least one round, until one is left or the next round would end after `until_seconds`
    of the run. The arms stand in their order of priority, which also breaks ties."""
    ran = yield from _rounds(meter, arms, until_seconds, first_round=first_round)
    reports = _reports(ran, ran.arms, ran.live)
    return Searched(ran.live[0] if ran.live else None, reports, ran.number, noise_of(ran.times))


def search_additions(
    meter: Meter, base: Arm, additions: Sequence[Arm], until_seconds: float, *, first_round: int
) -> Generator[Step, UnitResult, Searched]:
    """Search among arms that each add something to `base`, which runs in every round too. One of them is chosen only
    if it beat `base` by the margin of *faster* in the median, and lost at most one round in five; else `base` is."""
    ran = yield from _rounds(meter, [base, *additions], until_seconds, first_round=first_round, keep=base)
    if base.name in ran.failed:
        return Searched(None, _reports(ran, ran.arms, []), ran.number)
    best = next((arm for arm in ran.live if arm is not base), base)
    own, others = ran.times[best.name], ran.times[base.name]
    ahead = [own[number] - others[number] for number in own.keys() & others.keys()]
    lost = sum(each >= 0 for each in ahead)
    chosen = best if ahead and median(ahead) < -FASTER_MARGIN and lost <= len(ahead) // 5 else base
    order = [chosen, *(arm for arm in ran.live if arm is not chosen)]
    return Searched(chosen, _reports(ran, additions, order), ran.number, noise_of(ran.times))


def noise_of(times: Mapping[str, Mapping[int, float]]) -> float | None:
    """The pooled standard deviation of each arm's log(time) about its own mean, the mean of each round taken out."""
    rounds = sorted({number for own in times.values() for number in own})
    arms = [own for own in times.values() if len(own) == len(rounds)]
    if len(rounds) < 2 or len(arms) < 2:
        return None
    by_round = {number: fmean(own[number] for own in arms) for number in rounds}
    squares = 0.0
    for own in arms:
        left = [own[number] - by_round[number] for number in rounds]
        squares += sum((each - fmean(left)) ** 2 for each in left)
    return math.sqrt(squares / ((len(arms) - 1) * (len(rounds) - 1)))


def _rounds(
    meter: Meter, arms: Sequence[Arm], until_seconds: float, *, first_round: int, keep: Arm | None = None
) -> Generator[Step, UnitResult, _Ran]:
    """With `keep`, that arm is never thrown out. Without, what lies between the leader and its neighbours joins after
    each cut, where two rounds of all that is live then still fit."""
    ran = _Ran(list(arms), {arm.name: {} for arm in (DEFAULT_ARM, *arms)}, list(arms), {}, first_round)
    while ran.live and (ran.number == first_round or (len(ran.live) > 1 and _fits(meter, ran.live, until_seconds))):
        meter.live = len(ran.live)
        for arm in shuffled(meter.plan.seed, "search", ran.number, [DEFAULT_ARM, *ran.live]):
            booked = yield from meter.measure(arm, "search", ran.number)
            if booked.ok:
                ran.times[arm.name][ran.number] = log_seconds(booked.result, meter.plan.workloads)
            elif arm.name != DEFAULT:
                ran.failed[arm.name] = booked.failure
        done = ran.number + 1 - first_round
        left = [arm for arm in ran.live if arm.name not in ran.failed]
        live = _ranked(left, ran.times, range(first_round, ran.number + 1))
        if live and done % FIRST_ROUNDS == 0:
            stay = best_third([arm for arm in live if arm is not keep])
            live = [arm for arm in live if arm is keep or arm in stay]
            joining = between(live[0], ran.arms, meter.default_threads) if keep is None else ()
            if joining and _fits(meter, [*live, *joining], until_seconds, rounds=FIRST_ROUNDS):
                live += joining
                ran.arms.extend(joining)
                ran.times.update((arm.name, {}) for arm in joining)
        meter.leader = live[0].name if live else None
        ran = ran._replace(live=live, number=ran.number + 1)
    return ran


def _fits(meter: Meter, live: Sequence[Arm], until_seconds: float, rounds: int = 1) -> bool:
    seconds = meter.cost_of(DEFAULT) + sum(meter.cost_of(arm.name) for arm in live)
    return meter.spent_seconds + rounds * seconds <= until_seconds * (1 + _SLACK)


def _ranked(live: Sequence[Arm], times: _Times, rounds: Sequence[int]) -> list[Arm]:
    """Best first. The median of a round is taken over the live arms that ran in every round, so that the scores of an
    arm that joined later can be compared with theirs. Where only the leader did, it is a comparison with the leader."""
    common = [arm.name for arm in live if len(times[arm.name]) == len(rounds)]
    centers = {number: median(times[name][number] for name in common) for number in rounds} if common else {}
    scores = {
        arm.name: median(seconds - centers.get(number, 0.0) for number, seconds in times[arm.name].items())
        for arm in live
    }
    return sorted(live, key=lambda arm: scores[arm.name])


def _reports(ran: _Ran, arms: Sequence[Arm], order: Sequence[Arm]) -> tuple[ArmReport, ...]:
    """One row per arm; `order` holds those that are live, the chosen one first."""
    rows, left, default = [], [arm.name for arm in order], ran.times[DEFAULT]
    for name in (arm.name for arm in arms):
        own = ran.times[name]
        both = [own[number] - default[number] for number in own.keys() & default.keys()]
        fate = "out"
        if name in ran.failed:
            fate = "failed"
        elif name in left:
            fate = "chosen" if name == left[0] else "left"
        rows.append(ArmReport(name, fate, len(own), median(both) if both else None, ran.failed.get(name, "")))
    return tuple(rows)
