"""How far a run of `tune` is, folded from its events: a line when a stage begins, and a small picture while it runs.

Pure: the clock is passed in. What it says of gains are estimates of the search; a claim comes at the end only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec

from doctor.measure.units import DEFAULT, Measured, Stage, log_seconds
from doctor.measure.verdict import gain_of
from doctor.present.language import counted, phrase, say
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import columns, listed, padded, plural, shortened
from doctor.present.tune_words import seconds_words, setting_words, signed_percent, workloads_words
from doctor.tune.meter import Step

_BAR_COLUMNS = 24
_LABEL_COLUMNS = 8
_MOST_NAMES = 6

#: Stages that are not the search and not the confirmation.
_STAGES: Mapping[Stage, str] = {
    "cost": phrase("what one process costs"),
    "recommend": phrase("what your own code can set"),
    "roofline": phrase("how far it is to the peak of the chip"),
    "devices": phrase("the devices, on the same work"),
}

#: log(time) of each arm by round of the search.
_Times = Mapping[str, Mapping[int, float]]


class Progress(msgspec.Struct, frozen=True):
    """`began_seconds`: the clock when the unit that runs now began. `words`: what each arm that ran is called."""

    workloads: tuple[str, ...]
    step: Step | None = None
    began_seconds: float = 0.0
    words: dict[str, str] = {}
    times: dict[str, dict[int, float]] = {}
    measured: int = 0
    resumed: int = 0  # units that a saved run had measured before

    @property
    def stage(self) -> Stage | None:
        return None if self.step is None else self.step.unit.stage

    @property
    def round(self) -> int:
        return 0 if self.step is None else self.step.unit.round

    def left_seconds(self, now_seconds: float) -> float:
        """At most this much of the budget is left."""
        if self.step is None:
            return 0.0
        running = max(now_seconds - self.began_seconds, 0.0)
        return max(self.step.budget_seconds - self.step.spent_seconds - running, 0.0)


def followed(progress: Progress, event: Step | Measured, now_seconds: float) -> Progress:
    """The progress after one more event."""
    if isinstance(event, Step):
        words = progress.words
        if event.unit.arm not in words:
            words = {**words, event.unit.arm: setting_words(event.unit.setting)}
        return msgspec.structs.replace(progress, step=event, began_seconds=now_seconds, words=words)
    times, unit = progress.times, event.unit
    if unit.stage == "search" and event.result.outcome == "ok":
        try:
            took = log_seconds(event.result, progress.workloads)
        except (KeyError, ValueError):  # a rubbish answer, which the run itself will judge
            took = None
        if took is not None:
            times = {**times, unit.arm: {**times.get(unit.arm, {}), unit.round: took}}
    return msgspec.structs.replace(progress, times=times, measured=progress.measured + 1)


def stage_words(before: Progress, after: Progress) -> str | None:
    """One line for a place where nothing can be redrawn: when a stage begins, or settings were thrown out."""
    step = after.step
    if step is None or step is before.step:
        return None
    if after.stage == "cost":
        words = phrase("measuring what one process costs; at most {left} in all")
        return None if before.stage == "cost" else say(words, left=_left(step))
    if after.stage == "search" and before.stage != "search":
        one = "search: {count} setting against the default; at most {left} left"
        many = phrase("search: {count} settings against the default; at most {left} left")
        return counted(one, many, step.live, left=_left(step))
    if after.stage == "confirm" and before.stage != "confirm":
        return say("confirming {setting}; at most {left} left", setting=leader_words(after), left=_left(step))
    if after.stage in ("recommend", "roofline", "devices"):
        if before.stage == after.stage:
            return None
        return say("measuring {what}; at most {left} left", what=say(_STAGES[after.stage]), left=_left(step))
    fewer = before.step is not None and step.live < before.step.live
    if after.stage == "search" and fewer and after.round != before.round:
        one = "round {round}: {count} setting in the race, {leader} leads"
        many = phrase("round {round}: {count} settings in the race, {leader} leads")
        return counted(one, many, step.live, round=after.round + 1, leader=leader_words(after))
    return None


def _left(step: Step) -> str:
    return seconds_words(max(step.budget_seconds - step.spent_seconds, 0.0))


def leader_words(progress: Progress) -> str:
    """The arm that leads, in words."""
    leader = None if progress.step is None else progress.step.leader
    return say("nothing yet") if leader is None else progress.words.get(leader, leader)


def progress_lines(progress: Progress, now_seconds: float, look: Look) -> list[Line]:
    """The picture: time and stage; who leads; what is still in the race; what runs now."""
    step = progress.step
    if step is None:
        return [line(say("Starting ..."))]
    return [_cut(row, look) for row in (_first(progress, step, now_seconds), *_stage_lines(progress, step))]


def _first(progress: Progress, step: Step, now_seconds: float) -> Line:
    left = progress.left_seconds(now_seconds)
    done = 1 - left / step.budget_seconds if step.budget_seconds > 0 else 1.0
    filled = min(max(round(done * _BAR_COLUMNS), 0), _BAR_COLUMNS)
    bar = "━" * filled + "─" * (_BAR_COLUMNS - filled)
    # What a verdict needs at least is measured also where the machine became slower than it was.
    rest = say("the budget is over, only the least goes on")
    if left > 0:
        rest = say("at most {left} left", left=seconds_words(left))
    return (Span(bar, "cyan"), Span("  " + say("; ").join((_stage(progress, step), rest))))


def _stage(progress: Progress, step: Step) -> str:
    if step.unit.stage in _STAGES:
        return say(_STAGES[step.unit.stage])
    if step.unit.stage == "search":
        return say("search, round {number}", number=step.unit.round + 1)
    return say("confirmation, pair {number}", number=step.unit.round + 1)


def _stage_lines(progress: Progress, step: Step) -> Iterable[Line]:
    running = progress.words.get(step.unit.arm, step.unit.arm)
    if step.unit.variants:
        running = _named([variant.name for variant in step.unit.variants])
    if step.unit.stage == "search":
        yield _labelled(say("leads:"), _leads(progress))
        live = say("{what}: {reason}", what=plural(step.live, "setting"), reason=_live(progress))
        yield _labelled(say("live:"), live)
    elif step.unit.stage == "confirm":
        words = phrase("{setting} against the default, a coin says which goes first")
        yield _labelled(say("pairs:"), say(words, setting=leader_words(progress)))
    now = {"setting": running, "work": workloads_words(progress.workloads)}
    yield _labelled(say("now:"), say("{setting}, on {work}", **now), "dim")


def _labelled(label: str, text: str, style: str = "") -> Line:
    return line(padded(label, _LABEL_COLUMNS) + text, style)


def _leads(progress: Progress) -> str:
    leader = None if progress.step is None else progress.step.leader
    if leader is None:
        return say("nothing yet")
    estimate = _estimate(progress.times, leader)
    if estimate is None:
        return leader_words(progress)
    words = phrase("{setting}, about {gain} so far (an estimate)")
    return say(words, setting=leader_words(progress), gain=signed_percent(estimate))


def _estimate(times: _Times, arm: str) -> float | None:
    """The gain of an arm over the default, by the median of the rounds that both ran in."""
    own, default = times.get(arm, {}), times.get(DEFAULT, {})
    both = [own[number] - default[number] for number in own.keys() & default.keys()]
    return gain_of(median(both)) if both else None


def _live(progress: Progress) -> str:
    """Those that ran in this round; while it has hardly begun, its beginning."""
    number = progress.round
    ran = [arm for arm, rounds in progress.times.items() if number in rounds and arm != DEFAULT]
    ran.sort(key=lambda arm: progress.times[arm][number])
    names = [progress.words.get(arm, arm) for arm in ran]
    return _named(names) if names else say("the round begins")


def _named(names: Sequence[str]) -> str:
    return listed(list(names), at_most=_MOST_NAMES)


def _cut(row: Line, look: Look) -> Line:
    """One line of the picture stays one line: what does not fit is left out."""
    room, spans = look.columns - 1, []
    for span in row:
        text = shortened(span.text, room)
        spans.append(Span(text, span.style))
        room -= columns(text)
        if room <= 0:
            break
    return tuple(spans)
