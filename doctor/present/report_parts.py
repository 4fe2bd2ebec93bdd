"""What the Markdown and the plain text of a report have in common: facts, the tune run, what was left out, the JSON.

Each part is lines of text that hold no control characters. `Cuts` says what of it is left out to keep the report short.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from doctor import __version__
from doctor.present.areas import areas_of
from doctor.present.language import counted, phrase, say
from doctor.present.report_machine import short_document
from doctor.present.reported import Reported
from doctor.present.screen import area_lines
from doctor.present.status import NOT_APPLICABLE, OK
from doctor.present.terminal import Look, plain
from doctor.present.text import listed, plural

SCHEMA = "amd-doctor/report/1"

#: From this line on to the end of the machine data everything is the report's own: a reader of texts passes over it.
BEGINS = "amd-doctor report, from here to the end of its machine data"

#: What `removed` counts, in words: one, and many.
_REMOVED = {
    "home": ("{count} home folder", phrase("{count} home folders")),
    "user": ("{count} user name", phrase("{count} user names")),
    "host": ("{count} host or domain name", phrase("{count} host or domain names")),
    "email": ("{count} e-mail address", phrase("{count} e-mail addresses")),
    "ip": ("{count} IP address", phrase("{count} IP addresses")),
    "mac": ("{count} MAC address", phrase("{count} MAC addresses")),
    "serial": ("{count} serial number", phrase("{count} serial numbers")),
    "uuid": ("{count} UUID", phrase("{count} UUIDs")),
    "sid": ("{count} Windows SID", phrase("{count} Windows SIDs")),
    "label": ("{count} volume name", phrase("{count} volume names")),
    "secret": ("{count} secret", phrase("{count} secrets")),
}

_LOOK = Look(columns=96)
_MOST_CRASHES = 10

#: Areas of the document in the order in which a report that is still too long loses them, the least telling first.
LAST_RESORT = ("libraries", "nodes", "rocm", "measurements", "exercises", "unknowns", "log", "contradictions")


class Cuts(msgspec.Struct, frozen=True):
    """What is left out. Nothing by default."""

    reasons: bool = False  # why a rule matters, and its links
    flags: bool = False  # the list of CPU flags
    healthy: bool = False  # facts of areas that are well
    tune_table: bool = False  # the settings that a tune run tried
    facts: bool = False  # all facts in words: the machine data hold them too
    newer: bool = False  # areas of the document that this version does not know
    areas: bool = False  # `LAST_RESORT`
    data: bool = False  # the machine data as a whole
    findings: int = 100  # how many findings are told at most


def facts_lines(reported: Reported, cuts: Cuts) -> list[str]:
    """The areas of the screen, as `check` shows them."""
    checked = reported.checked
    if cuts.facts:
        return []
    areas = areas_of(checked.machine, checked.diagnosis, checked.only)
    shown = [area for area in areas if not (cuts.healthy and area.status in (OK, NOT_APPLICABLE))]
    return plain([line for area in shown for line in area_lines(area, _LOOK)], _LOOK).splitlines()


def tune_lines_of(reported: Reported, cuts: Cuts) -> list[str]:
    """What was tried and what was proven, as `tune` shows it."""
    if reported.tune is None:
        return []
    from doctor.present.tune_elsewhere import measured_elsewhere
    from doctor.present.tune_ending import Around
    from doctor.present.tune_screen import tune_lines

    result = reported.tune.result
    lines = plain(tune_lines(result, _LOOK, Around(), verbose=not cuts.tune_table), _LOOK).splitlines()
    elsewhere = measured_elsewhere(reported.checked.machine, result)
    return [elsewhere, "", *lines] if elsewhere else lines


def crashed_lines(reported: Reported) -> list[str]:
    """Parts of the doctor that failed, which a maintainer of the doctor wants to know."""
    rows = reported.checked.diagnosis.crashed[:_MOST_CRASHES]
    return [say("The doctor failed in {part}: {detail}", part=row.part, detail=row.detail) for row in rows]


def machine_data(reported: Reported, cuts: Cuts) -> str:
    """The JSON that `check --from` reads back, an area to a line, in ASCII."""
    document = short_document(reported.checked.document)
    if cuts.flags:
        document = _without_flags(document)
    if cuts.newer:
        known = set(reported.checked.machine.__struct_fields__)
        document = {name: value for name, value in document.items() if name in known}
    if cuts.areas:
        document = {name: value for name, value in document.items() if name not in LAST_RESORT}
    rows = ",\n".join(f"{_json(name)}:{_json(value)}" for name, value in document.items())
    return f'{{"schema":{_json(SCHEMA)},"version":{_json(__version__)},"machine":{{\n{rows}}}}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def _without_flags(document: Mapping[str, Any]) -> dict[str, Any]:
    """Of the CPU flags, what follows from them stays: `cpu.isa`, `cpu.runs_code_for`."""
    cpu = document.get("cpu")
    if not isinstance(cpu, Mapping):
        return dict(document)
    return {**document, "cpu": {name: value for name, value in cpu.items() if name != "flags"}}


def left_out_sentences(reported: Reported) -> list[str]:
    """What was removed, kind by kind, and what no one asked for."""
    removed = [_counted(kind, count) for kind, count in reported.removed.items() if count]
    sentences = [
        say("Removed when this was read: {what}.", what=listed(removed))
        if removed
        else say("Nothing personal was found in what was read.")
    ]
    others = []
    if reported.packages_left_out:
        others.append(plural(reported.packages_left_out, "other package"))
    if reported.kernel_parameters_left_out:
        others.append(plural(reported.kernel_parameters_left_out, "other kernel parameter"))
    return [*sentences, say("Left out: {what}.", what=listed(others))] if others else sentences


def _counted(kind: str, count: int) -> str:
    return counted(*_REMOVED[kind], count) if kind in _REMOVED else f"{count} {kind}"


def cuts_sentence(cuts: Cuts) -> str:
    """What was left out to keep the report short, in the order in which it was; empty where nothing was."""
    words = [
        (cuts.reasons, say("the reasons behind findings (amd-doctor rules RULE tells them)")),
        (cuts.flags, say("the list of CPU flags")),
        (cuts.healthy and not cuts.facts, say("facts in words of areas that are well")),
        (cuts.tune_table, say("the settings that tune tried")),
        (cuts.facts, say("all facts in words")),
        (cuts.newer, say("what a newer version added")),
        (cuts.areas, say("some machine data ({areas})", areas=", ".join(LAST_RESORT))),
        (cuts.data, say("all machine data")),
        (cuts.findings < Cuts().findings, say("findings behind the first {count}", count=cuts.findings)),
    ]
    said = [text for is_cut, text in words if is_cut]
    if not said:
        return ""
    return say(
        "Left out to keep this short: {what}. amd-doctor report --format json -o report.json writes all of it.",
        what=listed(said),
    )
