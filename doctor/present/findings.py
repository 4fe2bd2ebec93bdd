"""Findings as lines: what is, what it means, what to do; commands on lines of their own, never broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.diagnosis.model import Finding
from doctor.present.language import say
from doctor.present.status import OF_SEVERITY
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import wrap

_STEP = 4


def findings_lines(findings: Sequence[Finding], look: Look, *, verbose: bool) -> list[Line]:
    """Each finding, numbered, and what it explains indented beneath it. The order is that of the diagnosis."""
    below = below_of(findings)
    lines: list[Line] = []
    for number, at in enumerate(below.get(None, ()), start=1):
        lines.append(line())
        lines += _tree(at, findings, below, look, f"{number}. ", 0, verbose)
    return lines


def below_of(findings: Sequence[Finding]) -> dict[int | None, list[int]]:
    """Which findings stand beneath which, by index; None holds those that stand for themselves.

    A cause that fired on several subjects takes what it explains beneath the one of the same subject, else beneath
    its first. A cause that is not there, or stands further down, takes nothing.
    """
    below: dict[int | None, list[int]] = {}
    for at, finding in enumerate(findings):
        causes = [up for up in range(at) if findings[up].rule == finding.caused_by]
        same = [up for up in causes if findings[up].subject == finding.subject]
        cause = next(iter(same or causes), None)
        below.setdefault(cause, []).append(at)
    return below


def _tree(
    at: int,
    findings: Sequence[Finding],
    below: Mapping[int | None, list[int]],
    look: Look,
    mark: str,
    indent: int,
    verbose: bool,
) -> list[Line]:
    lines = _finding(findings[at], look, mark, indent, verbose)
    for number, under in enumerate(below.get(at, ())):
        if number == 0:
            lines.append(line(" " * (indent + _STEP) + say("This explains:")))
        lines += _tree(under, findings, below, look, "", indent + _STEP, verbose)
    return lines


def _finding(finding: Finding, look: Look, mark: str, indent: int, verbose: bool) -> list[Line]:
    status = OF_SEVERITY.get(finding.severity, OF_SEVERITY["info"])
    head = f"{mark}{status.symbol} {status.said}{say(': ')}"
    wrapped = wrap(f"{head}{titled(finding)} [{finding.rule}]", look.columns - indent, hang=_STEP)
    pad, inner = " " * indent, indent + _STEP
    first = wrapped[0].removeprefix(head.rstrip())
    lines: list[Line] = [(Span(pad + mark), Span(head[len(mark) :].rstrip(), status.style), Span(first, "bold"))]
    lines += [(Span(pad + text, "bold"),) for text in wrapped[1:]]
    lines += block(finding.evidence, look, inner)
    if verbose and finding.why:
        lines += block(say("Why: {text}", text=finding.why), look, inner)
    lines += block(say("Fix: {text}", text=finding.fix.text), look, inner) if finding.fix.text else []
    lines += commands_lines(finding.fix.commands, inner + _STEP)
    if verbose:
        lines += [line(" " * inner + say("See: {address}", address=address)) for address in finding.references]
    return lines


def titled(finding: Finding) -> str:
    """The title, and what it is about: `No override is set (AMD Radeon RX 6600)`."""
    if not finding.subject:
        return finding.title
    return say("{title} ({subject})", title=finding.title, subject=finding.subject)


def block(text: str, look: Look, indent: int) -> list[Line]:
    """A paragraph, broken at spaces and indented."""
    return [line(" " * indent + part) for part in wrap(text, look.columns - indent, hang=0)] if text.strip() else []


def commands_lines(commands: Sequence[str], indent: int) -> list[Line]:
    """Command lines to copy. Each stays whole, however long it is."""
    return [line(" " * indent + part, "bold cyan") for command in commands for part in command.splitlines()]
