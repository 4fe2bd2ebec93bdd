"""`amd-doctor check`: a source, its facts, what the rules say of them, one screen or one JSON document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

import click
import msgspec

from doctor.cli.inputs import Given, TargetSearch, from_file, from_this_machine
from doctor.cli.language import speaks
from doctor.machine.model import Intent, Machine, merged

if TYPE_CHECKING:
    from doctor.diagnosis.rules import RuleSet
    from doctor.present.checked import Checked

_EPILOG = """\b
Examples:
  amd-doctor check                             what is wrong here, and what fixes it
  amd-doctor check --python ~/venv/bin/python  look at the PyTorch of that Python
  amd-doctor check --from ticket.txt           judge what somebody pasted
  amd-doctor check --from ticket.txt --ask     a message that asks for what is missing
  amd-doctor check --from lab/ --summary       one table of many machines
  amd-doctor check --only memory               one area, or one rule
  amd-doctor check --json | jq .summary        for a script
\b
Exit status:
  0  nothing worse than a warning    3   warnings, with --strict
  1  at least one error              70  the doctor itself failed
  2  wrong usage, unreadable input   130 Ctrl-C
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--from",
    "from_paths",
    metavar="FILE",
    multiple=True,
    help="Judge a saved machine: a document, a recording, or text that somebody pasted; - reads stdin. May be "
    "repeated: the texts are put together to one machine. Nothing of this machine goes in, and nothing is run.",
)
@click.option("--ask", is_flag=True, help="With --from: print a message that asks for the facts that are missing.")
@click.option("--summary", is_flag=True, help="With --from DIR: one table of every machine in the folder.")
@click.option("--csv", "as_csv", is_flag=True, help="With --summary: print a line of CSV for each machine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--python", metavar="PATH", help="The Python to inspect. Default: that of the active environment.")
@click.option("--no-exercise", is_flag=True, help="Do not import and try PyTorch; read its files only.")
@click.option("--only", metavar="RULE|AREA", multiple=True, help="Judge one rule or one area. May be repeated.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1, max=3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long PyTorch may take to be imported and tried.",
)
@click.option(
    "--backend",
    type=click.Choice(["auto", "cpu", "rocm", "directml", "cuda"]),
    help="What you want PyTorch to compute on.",
)
@click.option("--dtype", type=click.Choice(["float32", "bfloat16", "float16"]), help="The number type you compute in.")
@click.option(
    "--workers", type=click.IntRange(0, 65535), metavar="COUNT", help="How many DataLoader workers you start."
)
@click.option("--strict", is_flag=True, help="End with status 3 when there are warnings and no error.")
@click.option("-v", "--verbose", is_flag=True, help="Add every fact and its origin, the reasons, links and times.")
@click.option("-q", "--quiet", is_flag=True, help="Print the last line only.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")
@speaks
def check(
    from_paths: tuple[str, ...],
    ask: bool,
    summary: bool,
    as_csv: bool,
    as_json: bool,
    python: str | None,
    no_exercise: bool,
    only: tuple[str, ...],
    timeout: float,
    backend: str | None,
    dtype: str | None,
    workers: int | None,
    strict: bool,
    verbose: bool,
    quiet: bool,
    ascii_only: bool,
) -> int:
    """Say what is wrong or slow, root cause first, and the command that fixes it.

    Looks at this machine and the Python you work with. Changes nothing, sends nothing, and needs no root.
    """
    if ask and not from_paths:
        raise click.UsageError("--ask is about a machine that --from reads.")
    _refuse_summary(summary=summary, as_csv=as_csv, as_json=as_json, ask=ask, from_paths=from_paths)
    read = _begun(from_paths, python, exercises=not no_exercise, timeout_seconds=timeout)
    from doctor.diagnosis.rules import load_rules

    rule_set = load_rules()
    _refuse_unknown_names(only, rule_set)
    wanted = Intent(backend=backend, dtype=dtype, workers=workers)
    if summary:
        from doctor.cli.summary import summarise

        form = "csv" if as_csv else "json" if as_json else "screen"
        shown = {"verbose": verbose, "quiet": quiet, "ascii_only": ascii_only}
        return summarise(from_paths, wanted, rule_set, only, form=form, strict=strict, **shown)
    given = read()
    checked = judged(given, wanted, rule_set, only)
    if ask and not as_json:
        _ask(checked, ascii_only=ascii_only)
    else:
        _present(checked, as_json=as_json, quiet=quiet, verbose=verbose, ascii_only=ascii_only)
    from doctor.present.summary import exit_status

    return exit_status(checked.diagnosis, strict=strict)


def judged(given: Given, wanted: Intent, rule_set: RuleSet, only: Sequence[str] = ()) -> Checked:
    """What the rules say of a machine, in the language that is spoken.

    What the command line wants beats what a document says was wanted.
    """
    from doctor.cli.planning import plan_if_next
    from doctor.diagnosis.examine import examine
    from doctor.present.checked import Checked
    from doctor.present.language import language

    machine = given.collected.machine
    if wanted != Intent():
        machine = msgspec.structs.replace(machine, intent=merged(machine.intent, wanted))
    machine, diagnosis = examine(machine, only, date.today(), rule_set, language())
    plan, failed = plan_if_next(machine, diagnosis, date.today())
    crashed = (*given.collected.crashed, *failed)
    return Checked(
        machine=machine,
        document=given.document.to_builtins(machine),
        diagnosis=msgspec.structs.replace(diagnosis, crashed=(*crashed, *diagnosis.crashed)),
        given=given.name,
        only=_areas_of(only, rule_set),
        origins=given.collected.origins,
        seconds=given.collected.seconds,
        with_root=given.with_root if _root_helps(machine) else None,
        severities={rule.id: rule.severities[0] for rule in rule_set.rules},
        plan=plan,
    )


def _root_helps(machine: Machine) -> bool:
    return any(row.reason == "needs-root" for row in machine.unknowns or ())


def _present(checked: Checked, *, as_json: bool, quiet: bool, verbose: bool, ascii_only: bool) -> None:
    from doctor.present.terminal import line, look_of, write, write_text

    if as_json:
        from doctor.present.check_json import check_document, json_text

        write_text(json_text(check_document(checked)), sys.stdout)
        return
    look = look_of(sys.stdout, ascii_only=ascii_only)
    if quiet:
        from doctor.present.summary import last_line

        write([line(last_line(checked.diagnosis))], look)
        return
    from doctor.present.screen import screen

    write(screen(checked, look, verbose=verbose), look)


def _ask(checked: Checked, *, ascii_only: bool) -> None:
    from doctor.present.ask import message
    from doctor.present.terminal import look_of, write

    write(message(checked), look_of(sys.stdout, ascii_only=ascii_only))


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


def _refuse_summary(*, summary: bool, as_csv: bool, as_json: bool, ask: bool, from_paths: Sequence[str]) -> None:
    """What does not go together with `--summary`, or without it."""
    if as_csv and not summary:
        raise click.UsageError("--csv is a form of --summary.")
    if as_csv and as_json:
        raise click.UsageError("--csv and --json are two forms of one result: give one of them.")
    if summary and not from_paths:
        raise click.UsageError("--summary is about a folder of machines: --from DIR --summary.")
    if summary and ask:
        raise click.UsageError("--ask is about one machine, and --summary about many.")


def _refuse_unknown_names(only: Sequence[str], rule_set: RuleSet) -> None:
    """A misspelt rule would look like a clean bill of health."""
    from doctor.diagnosis.model import AREAS

    broken = [crash.part.removeprefix("rule:") for crash in rule_set.broken]
    known = [*AREAS, *(rule.id for rule in rule_set.rules), *broken]
    for name in only:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            raise click.UsageError(f"--only: there is no rule or area {name!r}.{hint}")


def _areas_of(only: Sequence[str], rule_set: RuleSet) -> frozenset[str]:
    """The areas that the screen shows: those named, and those of the rules named. None named: all."""
    from doctor.diagnosis.model import AREAS

    named = {name for name in only if name in AREAS}
    return frozenset(named | {rule.area for rule in rule_set.rules if rule.id in only})
