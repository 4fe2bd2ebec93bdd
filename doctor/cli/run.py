"""`amd-doctor run`: a command with a tuned environment and its CPU mask."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doctor.cli.inputs import Unusable
from doctor.cli.language import speaks
from doctor.present.language import told
from doctor.present.text import clean

if TYPE_CHECKING:
    from doctor.envfile.start import Start

_EPILOG = """\b
Examples:
  amd-doctor run --env amd-doctor.env -- python train.py
  amd-doctor run --env amd-doctor.env --dry-run -- python train.py  what it would do, as lines for a shell
  amd-doctor run --env .env --allow WANDB_MODE -- python train.py   a variable that has nothing to do with tuning
\b
Exit status:
  that of the command; 128 + n where signal n ended it
  2    wrong usage, an env file that cannot be read, or a name in it that is not allowed: nothing was started
  126  the command cannot be executed
  127  there is no such command
"""


class NotExecutable(Unusable):
    """A command that cannot be executed; the status is the one that shells give."""

    exit_code = 126


class NotFound(Unusable):
    """A command that is not there; the status is the one that shells give."""

    exit_code = 127


@click.command(epilog=_EPILOG, options_metavar="[OPTIONS] --", context_settings={"allow_interspersed_args": False})
@click.option("--env", "env_file", metavar="FILE", help="The env file to load. Without it, no file is loaded.")
@click.option("--format", "form", metavar="FORMAT", help="The format of FILE, where its name and content do not tell.")
@click.option(
    "--allow",
    metavar="NAME",
    multiple=True,
    help="Let FILE set this variable too, although it is none for tuning, or binds threads. May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Start nothing: print what would be done, as lines for a shell.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print one JSON document and nothing else.")
@click.option("-q", "--quiet", is_flag=True, help="Do not say on stderr what differs from what FILE says.")
@click.argument("command", nargs=-1, required=True, metavar="COMMAND...", type=click.UNPROCESSED)
@speaks
def run(
    env_file: str | None,
    form: str | None,
    allow: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    command: tuple[str, ...],
) -> int:
    """Start COMMAND with the variables of an env file, on the CPUs that it names.

    The mask is in place before COMMAND begins, so that PyTorch counts its threads by it. Variables that bind threads
    are taken out: with them, import torch leaves the process and its children on one CPU. Input, output, signals and
    the exit status are those of COMMAND.
    """
    if as_json and not dry_run:
        raise click.UsageError("--json is a form of --dry-run: what COMMAND prints is its own.")
    start = _start(env_file, form, allow)
    environ = start.environment(os.environ)
    program = found(command[0], environ)
    for note in () if quiet else start.notes:
        click.echo(f"amd-doctor: {clean(told(note))}", err=True)
    if dry_run:
        _print(start, command, program, env_file, as_json=as_json)
        return 0
    from doctor.machine.cpulist import parse_cpulist
    from doctor.processes.replace import replace_this_process

    cpus = None if start.cpus is None else parse_cpulist(start.cpus)
    try:
        return replace_this_process(program, command, env=environ, cpus=cpus)
    except OSError as error:
        no_program = error.errno == errno.ENOEXEC
        why = "it is no program, and has no line #! at its top" if no_program else error.strerror or str(error)
        raise NotExecutable(f"{command[0]} cannot be executed: {why}") from error


def _start(env_file: str | None, form: str | None, allow: Sequence[str]) -> Start:
    """What is to be done. Raises Unusable, UsageError."""
    from doctor.envfile.content import CPUS
    from doctor.envfile.files import Unreadable, read_env
    from doctor.envfile.formats import FORMATS
    from doctor.envfile.start import Refused, start_of
    from doctor.processes.replace import own_cpus

    if form is not None and (form not in FORMATS or env_file is None):
        raise click.UsageError(f"--format: the format of --env FILE, one of {', '.join(FORMATS)}.")
    if allow and env_file is None and not all(name in os.environ for name in allow):
        raise click.UsageError("--allow is about what --env FILE sets.")
    try:
        read = None if env_file is None else read_env(Path(env_file), FORMATS[form] if form is not None else None)
        start = start_of(read, env_file or "", os.environ, own_cpus(), allow)
    except (Unreadable, Refused) as error:
        raise Unusable(str(error)) from error
    if env_file is None and CPUS not in os.environ:
        import msgspec

        note = "no env file is named, so the environment stays as it is; --env FILE loads one"
        return msgspec.structs.replace(start, notes=(note, *start.notes))
    return start


def found(name: str, environ: Mapping[str, str]) -> str:
    """The path of the program that a name stands for, as shells look for it. Raises NotFound, NotExecutable."""
    by_path = os.sep in name or (os.altsep is not None and os.altsep in name)
    places = environ.get("PATH", os.defpath)
    program = shutil.which(name, path=places) if name else None
    if program is not None:
        return program
    candidates = [Path(folder) / name for folder in ("." if by_path else places).split(os.pathsep)]
    there = next((path for path in candidates if path.exists() and (by_path or not path.is_dir())), None)
    if not name or there is None:
        where = "there is no such file" if by_path else "it is not on PATH"
        raise NotFound(f"{name or 'an empty name'} is not found: {where}")
    why = "it is a folder" if there.is_dir() else "you may not execute it"
    raise NotExecutable(f"{name if by_path else there} cannot be executed: {why}")


def _print(start: Start, command: Sequence[str], program: str, env_file: str | None, *, as_json: bool) -> None:
    from doctor.present.run_plan import dry_run_document, dry_run_lines
    from doctor.present.terminal import write_text

    windows = sys.platform == "win32"
    if as_json:
        from doctor.present.check_json import json_text

        write_text(json_text(dry_run_document(start, command, program, env_file, windows=windows)), sys.stdout)
        return
    write_text("".join(f"{line}\n" for line in dry_run_lines(start, command, windows=windows)), sys.stdout)
