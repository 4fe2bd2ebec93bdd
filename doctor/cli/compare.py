"""`amd-doctor compare`: what changed since it worked."""

from __future__ import annotations

import sys

import click

from doctor.cli.inputs import TargetSearch, Unusable, from_file, from_this_machine
from doctor.cli.language import speaks
from doctor.machine.model import Intent
from doctor.present.compared import Compared

_EPILOG = """\b
Examples:
  amd-doctor record -o works.json.gz            while it works
  amd-doctor compare works.json.gz              when it works no more: what changed since
  amd-doctor compare works.json.gz ticket.txt   two machines, or two times
  amd-doctor compare a.json b.json --exit-code  for a script
\b
Exit status:
  0  always, but for the following
  1  something differs, with --exit-code   70  the doctor itself failed
  2  wrong usage, unreadable input         130 Ctrl-C
"""


@click.command(epilog=_EPILOG)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--exit-code", is_flag=True, help="End with status 1 when something differs.")
@click.option("--python", metavar="PATH", help="Without NEW: the Python to inspect. Default: as for check.")
@click.option("--no-exercise", is_flag=True, help="Without NEW: do not import and try PyTorch; read its files only.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1, max=3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Without NEW: how long PyTorch may take to be imported and tried.",
)
@click.option("-v", "--verbose", is_flag=True, help="Leave nothing out of long lists.")
@click.option("-q", "--quiet", is_flag=True, help="Print the last line only.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")
@speaks
def compare(
    old: str,
    new: str | None,
    as_json: bool,
    exit_code: bool,
    python: str | None,
    no_exercise: bool,
    timeout: float,
    verbose: bool,
    quiet: bool,
    ascii_only: bool,
) -> int:
    """Print what changed between OLD and NEW, likeliest cause first, with the rules that began or stopped firing.

    OLD and NEW are what check --from takes: recordings, documents, texts that somebody pasted; - reads stdin. Without
    NEW it is this machine. Both are judged by the rules of today. A fact that only one of them knows is told apart:
    it is no difference. What changes by itself, such as free memory, is left out.
    """
    compared = _compared(old, new, python, exercises=not no_exercise, timeout_seconds=timeout)
    _present(compared, as_json=as_json, quiet=quiet, verbose=verbose, ascii_only=ascii_only)
    return int(exit_code and compared.differs)


def _compared(old: str, new: str | None, python: str | None, *, exercises: bool, timeout_seconds: float) -> Compared:
    if new is not None and (python is not None or not exercises):
        raise click.UsageError("--python and --no-exercise speak of this machine, and NEW is another one.")
    if old == new == "-":
        raise Unusable("standard input can be read once only")
    search = TargetSearch(python) if new is None else None
    from doctor.cli.check import judged
    from doctor.derive.difference import difference
    from doctor.diagnosis.rules import load_rules
    from doctor.diagnosis.shift import shift

    rule_set = load_rules()
    before = judged(from_file(old), Intent(), rule_set)
    if search is None:
        assert new is not None
        after = judged(from_file(new), Intent(), rule_set)
    else:
        here = from_this_machine(search, exercises=exercises, timeout_seconds=timeout_seconds)
        # This machine was not told what it is for: it is judged for what the old one was.
        after = judged(here, before.machine.intent or Intent(), rule_set)
    return Compared(
        before,
        after,
        difference(before.machine, after.machine),
        shift(before.diagnosis, after.diagnosis, rule_set),
    )


def _present(compared: Compared, *, as_json: bool, quiet: bool, verbose: bool, ascii_only: bool) -> None:
    from doctor.present.terminal import line, look_of, write, write_text

    if as_json:
        from doctor.present.check_json import json_text
        from doctor.present.compare_json import compare_document

        write_text(json_text(compare_document(compared)), sys.stdout)
        return
    from doctor.present.compare_screen import compare_screen, last_line

    look = look_of(sys.stdout, ascii_only=ascii_only)
    write([line(last_line(compared))] if quiet else compare_screen(compared, look, verbose=verbose), look)
