"""`amd-doctor plan`: the install for a machine, step by step, with the way back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from doctor.cli.inputs import Given, TargetSearch, Unusable, from_file, from_this_machine
from doctor.cli.language import speaks
from doctor.machine.model import Intent, Machine, merged
from doctor.present.language import say
from doctor.present.text import clean

if TYPE_CHECKING:
    from doctor.derive.facts import Derived
    from doctor.derive.plan_model import Plan
    from doctor.derive.plan_verify import Verification

_EPILOG = """\b
Examples:
  amd-doctor plan                                what to install here, and how
  amd-doctor plan --backend cpu                  the same for the CPU alone
  amd-doctor plan --from ticket.txt              for somebody else's machine
  amd-doctor plan --verify                       afterwards: does it compute right?
  amd-doctor plan --constraints constraints.txt  keep what works from being replaced
\b
Exit status:
  0  a plan was made; with --verify: all is right
  1  what --backend asks for cannot work here; with --verify: something is not right, or was not seen
  2  wrong usage, unreadable input, or a constraints file that cannot be written
"""

#: What a file of ours begins with.
_OWN = "# Constraints of amd-doctor"


@click.command(epilog=_EPILOG)
@click.option(
    "--from",
    "from_paths",
    metavar="FILE",
    multiple=True,
    help="Plan for a saved machine: a document, a recording, or text that somebody pasted; - reads stdin. May be "
    "repeated: the texts are put together to one machine.",
)
@click.option(
    "--backend",
    type=click.Choice(["auto", "cpu", "rocm", "directml", "cuda"]),
    help="Plan for this one, or say why it cannot work.",
)
@click.option("--python", metavar="PATH", help="The Python to install into. Default: that of the active environment.")
@click.option(
    "--constraints",
    "constraints_path",
    metavar="FILE",
    help="Write a constraints file that keeps the torch that works: pip install -c FILE PACKAGE.",
)
@click.option("--force", is_flag=True, help="Replace the constraints FILE whatever it is.")
@click.option("--verify", "verifying", is_flag=True, help="Run the exercises in the target, and say if all is right.")
@click.option("--no-exercise", is_flag=True, help="Do not import and try PyTorch; read its files only.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1, max=3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long PyTorch may take to be imported and tried.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")
@speaks
def plan(
    from_paths: tuple[str, ...],
    backend: str | None,
    python: str | None,
    constraints_path: str | None,
    force: bool,
    verifying: bool,
    no_exercise: bool,
    timeout: float,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say which PyTorch belongs on this machine, and every step to it, with the way back.

    Installs nothing and changes nothing: it prints commands for you to run. What its tables do not know it does not
    invent; it names the official page instead.
    """
    target = Path(constraints_path) if constraints_path is not None else None
    _refuse_combinations(from_paths, python, verifying=verifying, no_exercise=no_exercise, force=force, target=target)
    if target is not None:
        _refuse_target(target, force)
    read = _begun(from_paths, python, exercises=not no_exercise, timeout_seconds=timeout)
    given = read()
    machine, made, derived = planned(given, Intent(backend=backend))
    verification = None
    if verifying:
        from doctor.derive.plan_verify import verify

        verification = verify(machine, made, derived)
    _present(machine, made, verification, given.name, as_json=as_json, ascii_only=ascii_only)
    if target is not None:
        _write_constraints(target, made)
    failed = made.action == "refused" or (verification is not None and not verification.right)
    return 1 if failed else 0


def planned(given: Given, wanted: Intent) -> tuple[Machine, Plan, Derived]:
    """The completed machine and its plan. What failed on the way is said on stderr; the rest goes on."""
    from doctor.derive.plan import plan as plan_of
    from doctor.diagnosis.examine import derived_from

    machine = given.collected.machine
    if wanted != Intent():
        machine = msgspec.structs.replace(machine, intent=merged(machine.intent, wanted))
    machine, derived, crashed = derived_from(machine, date.today())
    for crash in (*given.collected.crashed, *crashed):
        click.echo(f"amd-doctor: {crash.part} failed: {clean(crash.detail)}", err=True)
    return machine, plan_of(machine, machine.intent, derived), derived


def _present(
    machine: Machine,
    made: Plan,
    verification: Verification | None,
    given: str | None,
    *,
    as_json: bool,
    ascii_only: bool,
) -> None:
    from doctor.present.terminal import look_of, write, write_text

    if as_json:
        from doctor.present.check_json import json_text
        from doctor.present.plan_json import plan_document

        write_text(json_text(plan_document(made, verification)), sys.stdout)
        return
    from doctor.sources.shell import calling_shell

    look = look_of(sys.stdout, ascii_only=ascii_only)
    shell = calling_shell() if given is None else None
    if verification is not None:
        from doctor.present.plan_verified import verification_lines

        write(verification_lines(machine, made, verification, look, shell), look)
        return
    from doctor.present.plan_screen import plan_lines

    write(plan_lines(machine, made, look, given, shell), look)


def _begun(
    from_paths: Sequence[str], python: str | None, *, exercises: bool, timeout_seconds: float
) -> Callable[[], Given]:
    """Begin to read the machine in the background where that takes long; the result waits for it and gives it."""
    if from_paths:
        return lambda: from_file(*from_paths)
    search = TargetSearch(python)
    return lambda: from_this_machine(search, exercises=exercises, timeout_seconds=timeout_seconds)


def _refuse_combinations(
    from_paths: Sequence[str],
    python: str | None,
    *,
    verifying: bool,
    no_exercise: bool,
    force: bool,
    target: Path | None,
) -> None:
    """Options that speak of this machine have no meaning for a saved one, and some exclude each other."""
    if from_paths:
        named = (("--python", python is not None), ("--no-exercise", no_exercise), ("--verify", verifying))
        for name, is_given in named:
            if is_given:
                raise click.UsageError(f"{name} speaks of this machine, and --from looks at nothing of it.")
    if verifying and no_exercise:
        raise click.UsageError("--verify runs the exercises, and --no-exercise forbids them.")
    if force and target is None:
        raise click.UsageError("--force says what may become of the constraints FILE: name it with --constraints.")


# The constraints file


def _refuse_target(target: Path, force: bool) -> None:
    """Say before the work what cannot be written after it."""
    if not target.parent.is_dir():
        raise click.UsageError(f"--constraints {target}: there is no folder {target.parent}.")
    if not target.exists():
        return
    if not target.is_file():
        raise click.UsageError(f"--constraints {target}: it is {'a folder' if target.is_dir() else 'no regular file'}.")
    if not force and not _is_ours(target):
        raise click.UsageError(
            f"--constraints {target}: there is such a file, and amd-doctor did not write it. --force replaces it."
        )


def _is_ours(target: Path) -> bool:
    """True for a constraints file of ours, and for an empty file."""
    try:
        with target.open("rb") as opened:
            head = opened.read(len(_OWN))
    except OSError:
        return False
    return not head or head == _OWN.encode()


def _write_constraints(target: Path, made: Plan) -> None:
    """Raises Unusable where there is nothing to keep, or where the file cannot be written."""
    from doctor.sources.whole_file import write_whole

    if not made.constraints:
        raise Unusable(
            f"--constraints {target}: nothing was written: there is no torch yet that works and could be kept. Do the "
            "steps of the plan first."
        )
    lines = [
        f"{_OWN}, {date.today().isoformat()}: they keep this torch from being replaced.",
        "# Use them with every later install: python -m pip install -c FILE PACKAGE",
        *made.constraints,
    ]
    try:
        write_whole(target, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise Unusable(f"--constraints {target}: not written: {error.strerror or error}.") from error
    click.echo(say("Wrote {path}: {what}.", path=target, what=", ".join(made.constraints)), err=True)
