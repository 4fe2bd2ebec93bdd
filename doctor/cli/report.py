"""`amd-doctor report`: a judged machine in a form that can be shown to others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from doctor.cli.check import judged
from doctor.cli.inputs import Given, TargetSearch, from_file, from_this_machine
from doctor.cli.language import speaks
from doctor.cli.report_tune import is_of, kept_tune_result
from doctor.knowledge.catalog import ENGLISH
from doctor.machine.model import Intent
from doctor.present.text import clean

if TYPE_CHECKING:
    from doctor.diagnosis.rules import RuleSet
    from doctor.present.reported import Reported
    from doctor.tune.result import SavedResult

_EPILOG = """\b
Examples:
  amd-doctor report --copy                         then paste it into the issue
  amd-doctor report -o report.md                   the same as a file
  amd-doctor report --format text                  for a field of a form, or a mail
  amd-doctor report --format html --open           a page to look at
  amd-doctor report --from machine.json.gz         for somebody else's machine
  amd-doctor check --from report.md                what a maintainer runs on it
\b
Exit status:
  0  the report was made, whatever stands in it
  2  wrong usage, an input that cannot be read, a FILE that cannot be written: the report is printed then
  70 the doctor itself failed      130 Ctrl-C
"""

FORMATS = ("markdown", "text", "json", "html")

#: What the report calls a machine that was read from a file.
_SAVED = "a saved machine"
#: Areas of a document in which a report keeps nothing but what it knows.
_REDUCED = ("packages", "sources")


@click.command(epilog=_EPILOG)
@click.option(
    "--from",
    "from_paths",
    metavar="FILE",
    multiple=True,
    help="Report a saved machine: a document, a recording, or text that somebody pasted; - reads stdin. May be "
    "repeated: the texts are put together to one machine.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of printing it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="markdown for an issue, text for a form, json for a script, html for a page. Default: by the name of FILE, "
    "else markdown.",
)
@click.option("--force", is_flag=True, help="Replace FILE whatever it is. An older report is replaced anyway.")
@click.option("--copy", is_flag=True, help="Put the report on the clipboard as well.")
@click.option("--open", "open_page", is_flag=True, help="Show the report in the browser: the same as --format html.")
@click.option("--show-removed", is_flag=True, help="List on the terminal what was removed, and by what it is replaced.")
@click.option("--python", metavar="PATH", help="The Python to inspect. Default: that of the active environment.")
@click.option("--no-exercise", is_flag=True, help="Do not import and try PyTorch; read its files only.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1, max=3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long PyTorch may take to be imported and tried.",
)
@speaks
def report(
    from_paths: tuple[str, ...],
    output: str | None,
    form: str | None,
    force: bool,
    copy: bool,
    open_page: bool,
    show_removed: bool,
    python: str | None,
    no_exercise: bool,
    timeout: float,
) -> int:
    """Make a report for an issue: a summary, the findings, the facts, and the data to check it again elsewhere.

    Home folders, names, addresses, serial numbers and secrets are removed, and the report says how many of each.
    Nothing is sent: you decide where you paste it.
    """
    form = form or _form_of(output, open_page)
    if open_page and form != "html":
        raise click.UsageError(f"--open shows a page: it goes with --format html, not {form}.")
    read = _begun(from_paths, python, exercises=not no_exercise, timeout_seconds=timeout)
    render = _renderer(form)
    from doctor.cli.report_places import put
    from doctor.diagnosis.rules import load_rules
    from doctor.present.language import language, speaking

    rule_set = load_rules()
    kept = None if from_paths else kept_tune_result()
    given = read()
    with speaking(ENGLISH if form == "json" else language()):
        text = render(reported(given, rule_set, kept))
    status = put(text, form=form, output=output, copy=copy, open_page=open_page, force=force)
    if show_removed:
        _show_removed(given)
    return status


def _form_of(output: str | None, open_page: bool) -> str:
    """The form that a file's name asks for."""
    if open_page:
        return "html"
    ending = Path(output or "").suffix.lower()
    return {".html": "html", ".htm": "html", ".json": "json", ".txt": "text"}.get(ending, "markdown")


def _begun(
    from_paths: Sequence[str], python: str | None, *, exercises: bool, timeout_seconds: float
) -> Callable[[], Given]:
    """Begin to read the machine in the background where that takes long; the result waits for it and gives it."""
    if not from_paths:
        search = TargetSearch(python)
        return lambda: from_this_machine(search, exercises=exercises, timeout_seconds=timeout_seconds)
    for name, given in (("--python", python is not None), ("--no-exercise", not exercises)):
        if given:
            raise click.UsageError(f"{name} speaks of this machine, and --from looks at nothing of it.")
    return lambda: from_file(*from_paths)


def _renderer(form: str) -> Callable[[Reported], str]:
    """What writes a form; imported while the machine is still being read."""
    if form == "text":
        from doctor.present.report_text import report_text

        return report_text
    if form == "json":
        from doctor.present.check_json import json_text
        from doctor.present.report_json import report_document

        return lambda made: json_text(report_document(made))
    if form == "html":
        from doctor.cli.report_places import page

        return page
    from doctor.present.report_markdown import markdown

    return markdown


def reported(given: Given, rule_set: RuleSet, kept: SavedResult | None = None) -> Reported:
    """What the rules say of the machine as a report carries it, and what `tune` found where that is this machine."""
    from doctor.machine.document import Document
    from doctor.present.report_machine import reduced
    from doctor.present.reported import Reported

    short = reduced(given.collected.machine)
    collected = msgspec.structs.replace(given.collected, machine=short.machine, origins={}, seconds={})
    newer = {name: value for name, value in given.document.read_from.items() if name not in _REDUCED}
    # A file may be named after a person, or after a machine.
    less = Given(collected, Document(short.machine, newer), _SAVED if given.name is not None else None)
    checked = judged(less, Intent(), rule_set)
    return Reported(
        checked=checked,
        today=date.today().isoformat(),
        packages_left_out=short.packages,
        kernel_parameters_left_out=short.kernel_parameters,
        removed=given.removed.counts,
        tune=kept if kept is not None and is_of(kept, checked.machine) else None,
    )


def _show_removed(given: Given) -> None:
    """What was removed goes to a terminal only: a list of it in a file would be what the report was to avoid."""
    from doctor.present.language import say

    if not sys.stderr.isatty():
        text = say("--show-removed lists it on a terminal only, and stderr is none.")
        click.echo(f"amd-doctor: {text}", err=True)
        return
    rows = given.removed.rows
    text = say("Removed, and what stands in the report instead:") if rows else say("Nothing was removed.")
    click.echo(text, err=True)
    for shown, value in rows:
        click.echo(f"  {clean(shown)}: {clean(value)}", err=True)
