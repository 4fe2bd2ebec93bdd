"""The screen of `check --summary`: a line for each machine with its verdicts and first fix, then counts by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from doctor import __version__
from doctor.diagnosis.model import SEVERITIES
from doctor.present.language import counted, joined, phrase, say, told
from doctor.present.status import CRASHED, ERROR, OF_SEVERITY, OK, UNKNOWN, WARNING, Status
from doctor.present.summary_rows import MachineRow, RuleCount, counts_by_rule
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import clean, columns, english_plural, listed, padded, plural, wrap

_STATUS = {"error": ERROR, "warning": WARNING, "ok": OK, "crashed": CRASHED, "unread": UNKNOWN, "unknown": UNKNOWN}
_COUNTED = {
    "error": ("{count} error", phrase("{count} errors")),
    "warning": ("{count} warning", phrase("{count} warnings")),
    "info": ("{count} info", phrase("{count} infos")),
    "hint": ("{count} hint", phrase("{count} hints")),
}
_WIDEST_NAME = 48
_OPEN_COLUMNS = 3  # how many rules are undecided
_NOT_JUDGED = ("unread", "crashed")
_INDENT = 4
_MOST_UNDECIDED = 4


def summary_screen(rows: Sequence[MachineRow], given: str, look: Look, *, verbose: bool = False) -> list[Line]:
    """Every line. The last one always has the same form."""
    lines = [line(part, "bold") for part in wrap(_head(rows, given), look.columns)]
    lines += [line(), *_table(rows, look, verbose)]
    counts = counts_by_rule(rows)
    lines += _rules([count for count in counts if count.machines], look)
    lines += _undecided(rows, counts, look, verbose)
    return [*lines, line(), line(last_line(rows), "bold")]


def last_line(rows: Sequence[MachineRow]) -> str:
    """`amd-doctor: 44 machines, 3 with errors, 5 with warnings, 1 not read; first: wrong-torch-build`, always so."""
    states = Counter(row.status for row in rows)
    warned = sum(row.count("warning") > 0 and row.status != "error" for row in rows)
    crashed = f", {states['crashed']} crashed" if states["crashed"] else ""
    first = next((count.rule for count in counts_by_rule(rows) if count.machines), "none")
    return (
        f"amd-doctor: {english_plural(len(rows), 'machine')}, {states['error']} with errors, {warned} with warnings, "
        f"{states['unread']} not read{crashed}; first: {first}"
    )


def _head(rows: Sequence[MachineRow], given: str) -> str:
    what = {"machines": plural(len(rows), "machine"), "folder": told(clean(given))}
    return say("amd-doctor {version} looked at {machines} in {folder}.", version=__version__, **what)


def _table(rows: Sequence[MachineRow], look: Look, verbose: bool) -> list[Line]:
    """One row each: what it is called, what was found, what to do first."""
    names = (columns(clean(row.machine)) for row in rows)
    machine, verdicts = say("Machine"), say("Verdicts")
    widest = max([columns(machine), *(name for name in names if name <= _WIDEST_NAME)])
    second = max([columns(verdicts), *(columns(_verdicts(row)) for row in rows)])
    head = f"  {padded(machine, widest)}  {padded(verdicts, second)}  {UNKNOWN.symbol:>{_OPEN_COLUMNS}}"
    lines = [line(f"{head}  {say('First fix')}", "bold")]
    for row in rows:
        lines += _row(row, widest, second, look, verbose)
        for crash in row.crashed:
            lines += _wrapped(f"{CRASHED.symbol} {CRASHED.said}: {crash}", look)
        if verbose:
            lines += _details(row, look)
    return lines


def _row(row: MachineRow, widest: int, second: int, look: Look, verbose: bool) -> list[Line]:
    """A fix that does not fit behind the verdicts stands beneath them."""
    status, name, verdicts = _STATUS[row.status], clean(row.machine), _verdicts(row)
    undecided = "" if row.status in _NOT_JUDGED else str(len(row.undecided))
    head = (
        Span(status.symbol, status.style),
        Span(f" {padded(name, widest)}  "),
        Span(verdicts, status.style),
        Span(" " * (second - columns(verdicts)) + f"  {undecided:>{_OPEN_COLUMNS}}"),
    )
    fix = _fix(row)
    if not fix:
        return [head]
    if sum(columns(span.text) for span in head) + 2 + columns(fix) <= look.columns:
        return [(*head, Span("  " + fix))]
    return [head, *_below(row, fix, look, verbose)]


def _fix(row: MachineRow) -> str:
    """`wrong-torch-build: pip install …`, or why there is no verdict."""
    if row.reason is not None:
        return told(clean(row.reason))
    if row.fix is None:
        return ""
    return f"{row.fix.rule}: {row.fix.line}" if row.fix.rule else row.fix.line


def _below(row: MachineRow, fix: str, look: Look, verbose: bool) -> list[Line]:
    """A command stays whole, so that it can be copied; of a sentence its first line stands for it, without `-v`."""
    if row.fix is None or not row.fix.commands:
        parts = wrap(fix, look.columns - _INDENT - 1)
        cut = row.fix is not None and len(parts) > 1 and not verbose
        return [line(f"{' ' * _INDENT}{parts[0]}…")] if cut else _wrapped(fix, look)
    if _INDENT + columns(fix) <= look.columns or row.fix.rule is None:
        return [line(" " * _INDENT + fix)]
    return [line(f"{' ' * _INDENT}{row.fix.rule}:"), line(" " * (_INDENT + 2) + row.fix.line)]


def _wrapped(text: str, look: Look) -> list[Line]:
    return [line(" " * _INDENT + part) for part in wrap(text, look.columns - _INDENT, hang=2)]


def _verdicts(row: MachineRow) -> str:
    """`2 errors, 1 warning`, `ok`, `not read`."""
    if row.status in _NOT_JUDGED:
        return say("not read") if row.status == "unread" else CRASHED.said
    counts = [(row.count(word), word) for word in SEVERITIES]
    return joined(counted(*_COUNTED[word], count) for count, word in counts if count) or _STATUS[row.status].said


def _details(row: MachineRow, look: Look) -> list[Line]:
    """With `-v`: what the machine is, and every rule that fired."""
    about = [row.cpu, *(row.gpus or ()), f"torch {row.torch}" if row.torch else None]
    lines = [joined(part for part in about if part)]
    for verdict in row.verdicts:
        text = verdict.rule
        text = say("{what} ({subject})", what=text, subject=verdict.subject) if verdict.subject else text
        text = say("{what}, explained by {rule}", what=text, rule=verdict.caused_by) if verdict.caused_by else text
        lines.append(say("{what}: {reason}", what=OF_SEVERITY[verdict.severity].said, reason=text))
    lines += [say("not decided: {rules}", rules=listed(row.undecided))] if row.undecided else []
    return [part for text in lines if text for part in _wrapped(text, look)]


def _rules(counts: Sequence[RuleCount], look: Look) -> list[Line]:
    """On how many machines each rule fired. One rule may end in several severities."""
    if not counts:
        return []
    rows = [
        (number, OF_SEVERITY[severity], count.rule)
        for at, severity in enumerate(SEVERITIES)
        for count in counts
        if (number := count.severities[at])
    ]
    rows.sort(key=lambda row: (SEVERITIES.index(row[1].word), -row[0], row[2]))
    width = len(str(max(number for number, _, _ in rows)))
    title = [line(), line(say("Machines by rule (amd-doctor rules RULE explains one):"), "bold")]
    return [*title, *(_rule(number, status, rule, width) for number, status, rule in rows)]


def _rule(number: int, status: Status, rule: str, width: int) -> Line:
    return (Span(f"  {number:>{width}}  "), Span(f"{status.symbol} {padded(status.said, 8)}", status.style), Span(rule))


def _undecided(
    rows: Sequence[MachineRow], counts: Sequence[RuleCount], look: Look, verbose: bool
) -> list[Line]:
    """The rules that could not be decided, those of most machines first."""
    open_rules = sorted((count for count in counts if count.undecided), key=lambda each: (-each.undecided, each.rule))
    if not open_rules:
        return []
    words = [say("{what} ({count})", what=count.rule, count=count.undecided) for count in open_rules]
    rules = listed(words, at_most=0 if verbose else _MOST_UNDECIDED)
    texts = [say("Not decided, by machines: {rules}.", rules=rules)]
    if any(row.status == "unknown" for row in rows):
        means = say("unknown: nothing was found, but most rules that may apply lack a fact.")
        texts.append(f"{UNKNOWN.symbol} {means}")
    return [line(), *(line(part) for text in texts for part in wrap(text, look.columns))]
