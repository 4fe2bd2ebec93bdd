"""A report as plain text, for the fields of a form, a chat or a mail."""

from __future__ import annotations

from doctor.present.findings import findings_lines
from doctor.present.language import say
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
from doctor.present.terminal import Look, plain
from doctor.present.text import columns

_LOOK = Look(columns=96)


def report_text(reported: Reported) -> str:
    """The whole report, no longer than a tracker takes."""
    return fitted(lambda cuts: _text(reported, cuts))


def _text(reported: Reported, cuts: Cuts) -> str:
    findings = reported.checked.diagnosis.findings
    shown = findings_lines(findings[: cuts.findings], _LOOK, verbose=not cuts.reasons)
    told = plain(shown, _LOOK).strip("\n").splitlines()
    more = len(findings) - cuts.findings
    told += ["", say("{count} more.", count=more)] if more > 0 else []
    parts = [
        (say("Findings ({count})", count=len(findings)), told),
        ("", crashed_lines(reported)),
        (say("Facts"), facts_lines(reported, cuts)),
        (say("What amd-doctor tune measured here"), tune_lines_of(reported, cuts)),
        (
            say("Machine data, for amd-doctor check --from"),
            [] if cuts.data else machine_data(reported, cuts).split("\n"),
        ),
    ]
    lines = [*summary_lines(reported), "", f"-- {BEGINS} --"]
    for title, rows in parts:
        if rows:
            lines += ["", *([title, "-" * columns(title)] if title else []), *rows]
    cut = [cuts_sentence(cuts)] if cuts != Cuts() else []
    return "\n".join([*lines, "", *cut, *left_out_sentences(reported), ""])
