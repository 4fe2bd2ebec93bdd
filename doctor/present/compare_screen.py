"""The screen of `compare`: rules that began or stopped firing, then what changed, likeliest cause first."""

from __future__ import annotations

from collections.abc import Sequence

from doctor import __version__
from doctor.derive.difference import Change, OneSided
from doctor.diagnosis.model import Finding
from doctor.diagnosis.shift import Moved, Severity, State, got_worse
from doctor.present.change_words import change_pieces, change_words, one_sided_words
from doctor.present.checked import Checked
from doctor.present.compared import Compared
from doctor.present.findings import block, commands_lines, titled
from doctor.present.language import counted, phrase, say
from doctor.present.status import CRASHED, OF_SEVERITY
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import clean, columns, english_plural, listed, wrap

#: What the classes of facts are called.
HEADS = {
    "pytorch": "PyTorch",
    "python": "Python",
    "gpu": phrase("GPU, its driver and its access"),
    "environment": phrase("Environment"),
    "libraries": phrase("Libraries near PyTorch"),
    "limits": phrase("Limits of this process"),
    "power": phrase("Power, clocks and memory speed"),
    "system": phrase("System"),
    "hardware": phrase("Hardware"),
    "effects": phrase("What PyTorch did"),
    "packages": phrase("Other packages"),
    "intent": phrase("What was wanted"),
}

_STEP = 2
_DEEP = 6
_MOST_ROWS = 10
_MOST_SINCE = 3
_MOST_ONE_SIDED = 6
_WIDEST_FACT = 40

_OTHER = {
    "other-subject": phrase("it fires on something else"),
    "passed": phrase("its condition does not hold"),
    "not-applicable": phrase("it does not apply"),
    "crashed": phrase("the doctor failed in it"),
    "absent": phrase("it was not asked"),
}


def compare_screen(compared: Compared, look: Look, *, verbose: bool = False) -> list[Line]:
    """Every line. The last one always has the same form."""
    shift = compared.shift
    lines = [line(part, "bold") for part in wrap(_head(compared), look.columns)]
    lines += _section(say("Began to fire:"), [_began(moved, compared, look) for moved in shift.began])
    lines += _section(say("Another severity:"), [_severity(moved, compared, look) for moved in shift.severity])
    lines += _section(say("Stopped firing:"), [_stopped(moved, compared, look) for moved in shift.stopped])
    lines += _changes(compared.difference.changes, look, verbose)
    lines += _one_sided(phrase("Known before, not now: {facts}."), compared.difference.unknown_now, look, verbose)
    lines += _one_sided(phrase("Known now, not before: {facts}."), compared.difference.known_now, look, verbose)
    lines += _crashed(compared, look)
    if not compared.differs:
        lines += [line(), *block(say("Nothing that both machines tell has changed."), look, 0)]
    return [*lines, line(), line(last_line(compared), "bold")]


def last_line(compared: Compared) -> str:
    """`amd-doctor: 5 changes, 1 rule began, 0 stopped; first: torch.version`, always in this form."""
    changes, shift = compared.difference.changes, compared.shift
    first = clean(changes[0].fact).replace(" ", "-") if changes else "none"
    changed, began = english_plural(len(changes), "change"), english_plural(len(shift.began), "rule")
    return f"amd-doctor: {changed}, {began} began, {len(shift.stopped)} stopped; first: {first}"


def _head(compared: Compared) -> str:
    machines = {"old": _named(compared.old), "new": _named(compared.new)}
    return say("amd-doctor {version} compared {old} with {new}.", version=__version__, **machines)


def _named(checked: Checked) -> str:
    """`old.json.gz (2026-11-30)`."""
    if checked.given is None:
        return say("this machine")
    taken = next((row.taken_at[:10] for row in checked.machine.sources or () if row.taken_at), "")
    name = clean(checked.given)
    return say("{name} ({about})", name=name, about=clean(taken)) if taken else name


def _section(title: str, parts: Sequence[Sequence[Line]]) -> list[Line]:
    return [line(), line(title, "bold"), *(row for part in parts for row in part)] if parts else []


def _began(moved: Moved, compared: Compared, look: Look) -> list[Line]:
    finding = moved.finding
    lines = [*_finding_head(finding, look), *block(finding.evidence, look, _DEEP)]
    if moved.other.word in ("undecided", "silenced", "other-subject", "crashed", "absent"):
        lines += block(say("Before: {state}.", state=_state_words(moved.other)), look, _DEEP)
    lines += _since(moved.reads, compared, look)
    lines += block(say("Fix: {text}", text=finding.fix.text), look, _DEEP) if finding.fix.text else []
    return [*lines, *commands_lines(finding.fix.commands, _DEEP + 4)]


def _stopped(moved: Moved, compared: Compared, look: Look) -> list[Line]:
    lines = _finding_head(moved.finding, look)
    lines += block(say("Now: {state}.", state=_state_words(moved.other)), look, _DEEP)
    return [*lines, *_since(moved.reads, compared, look)]


def _severity(moved: Severity, compared: Compared, look: Look) -> list[Line]:
    how = phrase("Before: {severity}; it is milder now.")
    how = phrase("Before: {severity}; it is worse now.") if got_worse(moved) else how
    lines = [*_finding_head(moved.finding, look), *block(moved.finding.evidence, look, _DEEP)]
    lines += block(say(how, severity=OF_SEVERITY[moved.before].said), look, _DEEP)
    return [*lines, *_since(moved.reads, compared, look)]


def _finding_head(finding: Finding, look: Look) -> list[Line]:
    status = OF_SEVERITY[finding.severity]
    head = f"{status.symbol} {status.said}{say(': ')}"
    first, *rest = wrap(f"{head}{titled(finding)} [{finding.rule}]", look.columns - _STEP, hang=4)
    pad = " " * _STEP
    return [
        (Span(pad), Span(head.rstrip(), status.style), Span(first.removeprefix(head.rstrip()), "bold")),
        *(line(pad + part, "bold") for part in rest),
    ]


def _state_words(state: State) -> str:
    """What a rule says on the other side."""
    if state.word == "undecided":
        facts = listed([need.fact for need in state.needs], at_most=3) or say("a fact")
        return say("not decided, for want of {facts}", facts=facts)
    if state.word == "silenced":
        return say("still so, but pointless beside {rule}", rule=state.by)
    return say(_OTHER[state.word])


def _since(reads: tuple[str, ...], compared: Compared, look: Look) -> list[Line]:
    """The changed facts that the rule reads."""
    words = [f"{clean(change.fact)} {change_words(change)}" for change in compared.changes_of(reads)]
    if not words:
        return []
    changes = say("; ").join(words[:_MOST_SINCE])
    if len(words) > _MOST_SINCE:
        changes = say("{changes}; and {count} more", changes=changes, count=len(words) - _MOST_SINCE)
    return block(say("Of what it reads, changed: {changes}.", changes=changes), look, _DEEP)


def _changes(changes: Sequence[Change], look: Look, verbose: bool) -> list[Line]:
    if not changes:
        return []
    lines = [line(), line(say("Changed, likeliest cause first:"), "bold")]
    for weight, head in HEADS.items():
        rows = [change for change in changes if change.weight == weight]
        if rows:
            lines += [line(" " * _STEP + say(head)), *_class(rows, look, verbose)]
    return lines


def _class(rows: Sequence[Change], look: Look, verbose: bool) -> list[Line]:
    """The changes of one class, the first of them where they are many."""
    shown = rows if verbose or len(rows) <= _MOST_ROWS + 1 else rows[:_MOST_ROWS]
    widest = min(_WIDEST_FACT, max(len(clean(row.fact)) for row in shown))
    lines = [part for row in shown for part in _change(row, widest, look, verbose)]
    more = len(rows) - len(shown)
    return [*lines, line(" " * _STEP * 2 + say("and {count} more; -v lists them", count=more))] if more else lines


def _change(change: Change, widest: int, look: Look, verbose: bool) -> list[Line]:
    """`torch.version   2.9.1 → 2.10.0 (newer)`, or the values below the fact where they are long."""
    pad = " " * _STEP * 2
    fact, pieces = clean(change.fact), change_pieces(change, whole=verbose)
    words = " ".join(pieces)
    if len(fact) <= widest and len(pad) + widest + 2 + columns(words) <= look.columns:
        return [(Span(pad + fact.ljust(widest + 2)), Span(words))]
    inner = pad + " " * _STEP
    parts = [part for piece in pieces for part in wrap(piece, look.columns - len(inner), hang=_STEP)]
    return [line(pad + fact), *(line(inner + part) for part in parts)]


def _one_sided(title: str, rows: Sequence[OneSided], look: Look, verbose: bool) -> list[Line]:
    """Facts that only one side knows. Names of one map are counted."""
    if not rows:
        return []
    many = {name: sum(row.fact.startswith(f"{name}.") for row in rows) for name in _NAMED_ROWS}
    words = [one_sided_words(row) for row in rows if verbose or row.fact.partition(".")[0] not in many]
    if not verbose:
        words += [counted(*_NAMED_ROWS[name], count) for name, count in many.items() if count]
        words += [row.fact for row in rows if row.fact in many]
    facts = listed(words, at_most=0 if verbose else _MOST_ONE_SIDED)
    return [line(), *block(say(title, facts=facts), look, 0)]


_NAMED_ROWS = {
    "packages": ("{count} package (packages)", phrase("{count} packages (packages)")),
    "env": ("{count} variable (env)", phrase("{count} variables (env)")),
}


def _crashed(compared: Compared, look: Look) -> list[Line]:
    """Parts of the doctor that failed, once where they failed on both sides."""
    old, new = compared.old.diagnosis.crashed, compared.new.diagnosis.crashed
    lines: list[Line] = []
    for crash in dict.fromkeys((*old, *new)):
        where = phrase("crashed on both") if crash in new else phrase("crashed on the old one")
        where = where if crash in old else phrase("crashed on the new one")
        text = say("{what}: {reason}", what=f"{CRASHED.symbol} {say(where)}", reason=f"{crash.part}: {crash.detail}")
        lines += block(text, look, 0)
    return [line(), *lines] if lines else []
