"""A report in Markdown, for the issue trackers of GitHub, GitLab and Gitea."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.diagnosis.model import Finding
from doctor.present.language import say, told
from doctor.present.markdown import block, code, folded, prose
from doctor.present.report_length import fitted
from doctor.present.report_parts import (
    BEGINS,
    Cuts,
    crashed_lines,
    cuts_sentence,
    facts_lines,
    left_out_sentences,
    machine_data,
    tune_lines_of,
)
from doctor.present.report_summary import summary_lines
from doctor.present.reported import Reported


def markdown(reported: Reported) -> str:
    """The whole report, no longer than a tracker takes."""
    return fitted(lambda cuts: _markdown(reported, cuts))


def _markdown(reported: Reported, cuts: Cuts) -> str:
    lines = [
        *block(summary_lines(reported), "text"),
        "",
        f"**{say('What did you run, what did you expect, and what happened instead?')}**",
        "",
        "- ",
        "",
        f"<!-- {BEGINS} -->",
    ]
    findings = reported.checked.diagnosis.findings
    if findings:
        title = say("Findings ({count})", count=len(findings))
        lines += ["", *folded(title, _findings(reported, cuts))]
    crashed = crashed_lines(reported)
    if crashed:
        lines += ["", *block(crashed, "text")]
    facts = facts_lines(reported, cuts)
    if facts:
        lines += ["", *folded(say("Facts"), block(facts, "text"))]
    tuned = tune_lines_of(reported, cuts)
    if tuned:
        lines += ["", *folded(say("What amd-doctor tune measured here"), block(tuned, "text"))]
    if not cuts.data:
        title = say("Machine data, for amd-doctor check --from")
        lines += ["", *folded(title, block(machine_data(reported, cuts).split("\n"), "json"))]
    ends = [*([cuts_sentence(cuts)] if cuts != Cuts() else []), *left_out_sentences(reported)]
    return "\n".join([*lines, "", *(f"{end}  " for end in ends[:-1]), ends[-1], ""])


def _findings(reported: Reported, cuts: Cuts) -> list[str]:
    findings = reported.checked.diagnosis.findings
    lines: list[str] = []
    for number, finding in enumerate(findings[: cuts.findings], start=1):
        lines += ["", *_finding(number, finding, cuts)]
    more = len(findings) - cuts.findings
    return [*lines[1:], *(["", say("{count} more.", count=more)] if more > 0 else [])]


def _finding(number: int, finding: Finding, cuts: Cuts) -> list[str]:
    says = say("{what}: {reason}", what=told(finding.severity), reason=prose(finding.title))
    head = f"**{number}. {says}** · `{finding.rule}`"
    head += f" · {code(finding.subject)}" if finding.subject else ""
    lines = [head, "", code(finding.evidence)] if finding.evidence else [head]
    if finding.caused_by:
        lines += ["", say("Explained by {rule}.", rule=f"`{finding.caused_by}`")]
    if finding.why and not cuts.reasons:
        lines += ["", prose(finding.why)]
    if finding.fix.text:
        lines += ["", say("Fix: {text}", text=prose(finding.fix.text))]
    if finding.fix.commands:
        lines += ["", *block([line for command in finding.fix.commands for line in command.splitlines()])]
    if not cuts.reasons:
        lines += _links(finding.references)
    return lines


def _links(addresses: Sequence[str]) -> list[str]:
    """Links to click on: the rules' own, so nothing of a machine is in them."""
    return ["", " ".join(f"<{address}>" for address in addresses)] if addresses else []
