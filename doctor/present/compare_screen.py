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
from doctor.present.findings import block, commands_lines
from doctor.present.status import CRASHED, OF_SEVERITY
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import clean, columns, listed, plural, wrap

#: What the classes of facts are called.
HEADS = {
    "pytorch": "PyTorch",
    "python": "Python",
    "gpu": "GPU, its driver and its access",
    "environment": "Environment",
    "libraries": "Libraries near PyTorch",
    "limits": "Limits of this process",
    "power": "Power, clocks and memory speed",
    "system": "System",
    "hardware": "Hardware",
    "effects": "What PyTorch did",
    "packages": "Other packages",
    "intent": "What was wanted",
}

_STEP = 2
_DEEP = 6
_MOST_ROWS = 10
_MOST_SINCE = 3
_MOST_ONE_SIDED = 6
_WIDEST_FACT = 40

_OTHER = {
    "other-subject": "it fires on something else",
    "passed": "its condition does not hold",
    "not-applicable": "it does not apply",
    "crashed": "the doctor failed in it",
    "absent": "it was not asked",
}


def compare_screen(compared: Compared, look: Look, *, verbose: bool = False) -> list[Line]:
    """Every line. The last one always has the same form."""
    shift = compared.shift
    lines = [line(part, "bold") for part in wrap(_head(compared), look.columns)]
    lines += _section("Began to fire:", [_began(moved, compared, look) for moved in shift.began])
    lines += _section("Another severity:", [_severity(moved, compared, look) for moved in shift.severity])
    lines += _section("Stopped firing:", [_stopped(moved, compared, look) for moved in shift.stopped])
    lines += _changes(compared.difference.changes, look, verbose)
    lines += _one_sided("Known before, not now", compared.difference.unknown_now, look, verbose)
    lines += _one_sided("Known now, not before", compared.difference.known_now, look, verbose)
    lines += _crashed(compared, look)
    if not compared.differs:
        lines += [line(), *block("Nothing that both machines tell has changed.", look, 0)]
    return [*lines, line(), line(last_line(compared), "bold")]


def last_line(compared: Compared) -> str:
    """`amd-doctor: 5 changes, 1 rule began, 0 stopped; first: torch.version`, always in this form."""
    changes, shift = compared.difference.changes, compared.shift
    first = clean(changes[0].fact).replace(" ", "-") if changes else "none"
    began = plural(len(shift.began), "rule")
    return f"amd-doctor: {plural(len(changes), 'change')}, {began} began, {len(shift.stopped)} stopped; first: {first}"


def _head(compared: Compared) -> str:
    return f"amd-doctor {__version__} compared {_named(compared.old)} with {_named(compared.new)}."


def _named(checked: Checked) -> str:
    """`old.json.gz (2026-11-30)`."""
    if checked.given is None:
        return "this machine"
    taken = next((row.taken_at[:10] for row in checked.machine.sources or () if row.taken_at), "")
    return f"{clean(checked.given)} ({clean(taken)})" if taken else clean(checked.given)


def _section(title: str, parts: Sequence[Sequence[Line]]) -> list[Line]:
    return [line(), line(title, "bold"), *(row for part in parts for row in part)] if parts else []


def _began(moved: Moved, compared: Compared, look: Look) -> list[Line]:
    finding = moved.finding
    lines = [*_finding_head(finding, look), *block(finding.evidence, look, _DEEP)]
    if moved.other.word in ("undecided", "silenced", "other-subject", "crashed", "absent"):
        lines += block(f"Before: {_state_words(moved.other)}.", look, _DEEP)
    lines += _since(moved.reads, compared, look)
    lines += block(f"Fix: {finding.fix.text}", look, _DEEP) if finding.fix.text else []
    return [*lines, *commands_lines(finding.fix.commands, _DEEP + 4)]


def _stopped(moved: Moved, compared: Compared, look: Look) -> list[Line]:
    lines = _finding_head(moved.finding, look)
    lines += block(f"Now: {_state_words(moved.other)}.", look, _DEEP)
    return [*lines, *_since(moved.reads, compared, look)]


def _severity(moved: Severity, compared: Compared, look: Look) -> list[Line]:
    how = "worse" if got_worse(moved) else "milder"
    lines = [*_finding_head(moved.finding, look), *block(moved.finding.evidence, look, _DEEP)]
    lines += block(f"Before: {OF_SEVERITY[moved.before].word}; it is {how} now.", look, _DEEP)
    return [*lines, *_since(moved.reads, compared, look)]


def _finding_head(finding: Finding, look: Look) -> list[Line]:
    status = OF_SEVERITY[finding.severity]
    about = f" ({finding.subject})" if finding.subject else ""
    head = f"{status.symbol} {status.word}:"
    first, *rest = wrap(f"{head} {finding.title}{about} [{finding.rule}]", look.columns - _STEP, hang=4)
    pad = " " * _STEP
    return [
        (Span(pad), Span(head, status.style), Span(first.removeprefix(head), "bold")),
        *(line(pad + part, "bold") for part in rest),
    ]


def _state_words(state: State) -> str:
    """What a rule says on the other side."""
    if state.word == "undecided":
        return f"not decided, for want of {listed([need.fact for need in state.needs], at_most=3) or 'a fact'}"
    if state.word == "silenced":
        return f"still so, but pointless beside {state.by}"
    return _OTHER[state.word]


def _since(reads: tuple[str, ...], compared: Compared, look: Look) -> list[Line]:
    """The changed facts that the rule reads."""
    words = [f"{clean(change.fact)} {change_words(change)}" for change in compared.changes_of(reads)]
    if not words:
        return []
    more = f"; and {len(words) - _MOST_SINCE} more" if len(words) > _MOST_SINCE else ""
    return block(f"Of what it reads, changed: {'; '.join(words[:_MOST_SINCE])}{more}.", look, _DEEP)


def _changes(changes: Sequence[Change], look: Look, verbose: bool) -> list[Line]:
    if not changes:
        return []
    lines = [line(), line("Changed, likeliest cause first:", "bold")]
    for weight, head in HEADS.items():
        rows = [change for change in changes if change.weight == weight]
        if rows:
            lines += [line(" " * _STEP + head), *_class(rows, look, verbose)]
    return lines


def _class(rows: Sequence[Change], look: Look, verbose: bool) -> list[Line]:
    """The changes of one class, the first of them where they are many."""
    shown = rows if verbose or len(rows) <= _MOST_ROWS + 1 else rows[:_MOST_ROWS]
    widest = min(_WIDEST_FACT, max(len(clean(row.fact)) for row in shown))
    lines = [part for row in shown for part in _change(row, widest, look, verbose)]
    more = len(rows) - len(shown)
    return [*lines, line(f"{' ' * _STEP * 2}and {more} more; -v lists them")] if more else lines


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
    counted = {name: sum(row.fact.startswith(f"{name}.") for row in rows) for name in ("packages", "env")}
    words = [one_sided_words(row) for row in rows if verbose or row.fact.partition(".")[0] not in counted]
    if not verbose:
        nouns = {"packages": "package", "env": "variable"}
        words += [f"{plural(count, nouns[name])} ({name})" for name, count in counted.items() if count]
        words += [row.fact for row in rows if row.fact in counted]
    text = f"{title}: {listed(words, at_most=0 if verbose else _MOST_ONE_SIDED)}."
    return [line(), *block(text, look, 0)]


def _crashed(compared: Compared, look: Look) -> list[Line]:
    """Parts of the doctor that failed, once where they failed on both sides."""
    old, new = compared.old.diagnosis.crashed, compared.new.diagnosis.crashed
    lines: list[Line] = []
    for crash in dict.fromkeys((*old, *new)):
        where = "on both" if crash in old and crash in new else "on the old one" if crash in old else "on the new one"
        lines += block(f"{CRASHED.symbol} {CRASHED.word} {where}: {crash.part}: {crash.detail}", look, 0)
    return [line(), *lines] if lines else []
