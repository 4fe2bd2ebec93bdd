"""The screens of `amd-doctor env`: what a file sets and why, what is to be said of it, what was taken out."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.envfile.check import EnvFinding
from doctor.envfile.content import Evidence
from doctor.envfile.files import Removed
from doctor.envfile.reading import Assigned, EnvRead
from doctor.envfile.said import gain_text
from doctor.present.language import counted, joined, phrase, row, say, told
from doctor.present.status import ERROR, INFO, OK, WARNING, Status
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import english_plural, padded, wrap

_STATUS = {"error": ERROR, "warning": WARNING, "info": INFO}
_AT = 3  # where the text behind a symbol begins
_SUBJECT = {
    "cpu": "CPU",
    "cpus": "CPUs",
    "hardware": phrase("Hardware"),
    "torch": "torch",
    "python": "Python",
    "driver": phrase("Driver"),
}
_TITLE_AT = 12


def show_lines(name: str, title: str, read: EnvRead, look: Look) -> list[Line]:
    """What a file sets, line by line, and the evidence for it."""
    one, many = "{name}: {title}, {count} variable.", phrase("{name}: {title}, {count} variables.")
    head = counted(one, many, len(read.variables), name=name, title=told(title))
    lines = [line(part, "bold") for part in wrap(head, look.columns)]
    lines += [line(), *_variables(read, look)]
    lines += _evidence(read.evidence, look) if read.evidence is not None else _no_evidence(read, look)
    for problem in read.problems:
        lines += _marked(WARNING, _at_line(problem.line, problem.text), look)
    return lines


def _at_line(number: int, text: str) -> str:
    return say("line {number}: {text}", number=number, text=told(text))


def _variables(read: EnvRead, look: Look) -> list[Line]:
    lines: list[Line] = []
    last = {each.name: each for each in read.assigned}
    for each in read.assigned:
        value = f"{each.name}={each.value}" if each.value is not None else say("{name} is taken out", name=each.name)
        notes = [_origin(each, read.evidence)]
        notes += [say("line {number} counts", number=last[each.name].line)] if last[each.name] is not each else []
        text = say("{value}  ({notes})", value=value, notes=row(notes))
        lines += _indented(text, look)
    for name, wanted in (read.evidence.run_variables if read.evidence else {}).items():
        note = say("as a comment: amd-doctor run sets it, together with the mask")
        text = say("{value}  ({notes})", value=f"{name}={wanted}", notes=note)
        lines += _indented(text, look)
    return lines or [line("  " + say("It sets nothing."))]


def _indented(text: str, look: Look) -> list[Line]:
    return [line(f"  {part}") for part in wrap(text, look.columns - 2, hang=2)]


def _origin(assigned: Assigned, evidence: Evidence | None) -> str:
    if not assigned.ours:
        return say("by hand")
    if evidence is None or evidence.variables.get(assigned.name, assigned.value) != assigned.value:
        return say("changed by hand") if evidence is not None else say("without evidence")
    return say("confirmed") if assigned.name in evidence.confirmed else say("not confirmed by itself")


def _evidence(evidence: Evidence, look: Look) -> list[Line]:
    disturbed = [say("in a disturbed run")] if evidence.disturbed else []
    measured = joined((evidence.date, f"amd-doctor {evidence.version}", *disturbed))
    rows = [(say("Measured"), measured)]
    if evidence.file is not None:
        text = say("{gain}: the variables alone, sourced", gain=told(gain_text(evidence.file)))
        rows.append((say("As a file"), text))
    if evidence.run is not None:
        text = say("{gain}: variables and CPU mask", gain=told(gain_text(evidence.run)))
        rows.append((say("With run"), text))
    if evidence.file is None and evidence.run is None:
        rows.append((say("Gain"), say("none was shown: keep the settings of that session")))
    rows.append((say("Workloads"), row(evidence.workloads)))
    rows += [(say(words), evidence.subject[key]) for key, words in _SUBJECT.items() if evidence.subject.get(key)]
    rows += [(say("Replaces"), f"{name}={value}") for name, value in evidence.replaces.items()]
    lines = [line()]
    for title, text in rows:
        parts = wrap(text, look.columns - _TITLE_AT)
        lines.append((Span(padded(title, _TITLE_AT)), Span(parts[0])))
        lines += [line(" " * _TITLE_AT + part) for part in parts[1:]]
    return lines


def _no_evidence(read: EnvRead, look: Look) -> list[Line]:
    text = say("No managed block of amd-doctor stands in it: nothing tells what these values gain.")
    return [line(), *(line(part) for part in wrap(text, look.columns))] if not read.blocks else []


def check_lines(name: str, findings: Sequence[EnvFinding], look: Look) -> list[Line]:
    """What is to be said of a file; the last line is the summary."""
    lines: list[Line] = []
    for finding in findings:
        text = _at_line(finding.line, finding.text) if finding.line else told(finding.text)
        lines += _marked(_STATUS[finding.severity], text, look)
    if not findings:
        lines += _marked(OK, say("the file fits this machine, and everything in it can work"), look)
    if any(finding.kind.startswith("changed-") for finding in findings):
        again = say("Measure again: amd-doctor tune --write-env")
        lines += [line(), *(line(part) for part in wrap(again, look.columns))]
    return [*lines, line(check_summary(name, findings), "bold")]


def check_summary(name: str, findings: Sequence[EnvFinding]) -> str:
    """`amd-doctor: amd-doctor.env: 0 errors, 1 warning`, always in this form."""
    errors, warnings = (sum(each.severity == severity for each in findings) for severity in ("error", "warning"))
    return f"amd-doctor: {name}: {english_plural(errors, 'error')}, {english_plural(warnings, 'warning')}"


def removed_lines(removed: Sequence[Removed], look: Look) -> list[Line]:
    """What was taken out, and what is left."""
    lines: list[Line] = []
    for each in removed:
        if not each.blocks:
            text = say("{path}: there is no managed block in it; nothing was changed.", path=each.path)
        else:
            one = "{path}: took out the managed block. {left}"
            many = phrase("{path}: took out {count} managed blocks. {left}")
            text = counted(one, many, each.blocks, path=each.path, left=_left(each))
        lines += [line(part) for part in wrap(text, look.columns)]
    return lines


def _left(removed: Removed) -> str:
    if removed.empty:
        return say("The file is empty now; delete it if nothing loads it.")
    if not removed.left:
        return say("What else stands in it was left as it is.")
    one = "What else stands in it was left as it is ({count} variable)."
    return counted(one, "What else stands in it was left as it is ({count} variables).", removed.left)


def _marked(status: Status, text: str, look: Look) -> list[Line]:
    symbol = status.ascii if look.ascii else status.symbol
    parts = wrap(text, look.columns - _AT)
    return [(Span(symbol.ljust(_AT), status.style), Span(parts[0])), *(line(" " * _AT + part) for part in parts[1:])]
