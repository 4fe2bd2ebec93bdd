"""`amd-doctor env`: what an env file says, whether it still fits, and the way back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doctor.cli.inputs import Given, TargetSearch, Unusable, from_file, from_this_machine
from doctor.cli.language import speaks

if TYPE_CHECKING:
    from doctor.envfile.reading import EnvRead
    from doctor.present.terminal import Line, Look

_EPILOG = """\b
Examples:
  amd-doctor env show amd-doctor.env     what it sets, and the evidence for it
  amd-doctor env check amd-doctor.env    whether hardware, driver or torch changed since
  amd-doctor env remove .env             take the block of amd-doctor out, leave the rest
"""

_CHECK_EPILOG = """\b
Exit status:
  0  nothing worse than a warning   2  wrong usage, or a file that cannot be read
  1  at least one error             3  warnings, with --strict
"""

_FORMAT = click.option(
    "--format", "form", metavar="FORMAT", help="The format of FILE, where its name and content do not tell."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
_ASCII = click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")


@click.group(epilog=_EPILOG)
def env() -> None:
    """Read an env file: what it sets, whether it still fits, and how to be rid of it.

    Files that were written by hand are read too. Nothing in a file is run.
    """


@env.command(short_help="What a file sets, and the evidence for it.")
@click.argument("file", metavar="FILE")
@_FORMAT
@_JSON
@_ASCII
@speaks
def show(file: str, form: str | None, as_json: bool, ascii_only: bool) -> int:
    """Print what FILE sets, and the evidence for it: gain, workloads, date, hardware."""
    read = _read(file, form)
    if as_json:
        from doctor.present.env_json import show_document

        return _print_json(show_document(file, read))
    from doctor.envfile.formats import FORMATS
    from doctor.present.env_screen import show_lines

    return _print(lambda look: show_lines(file, FORMATS[read.format].title, read, look), ascii_only)


@env.command(epilog=_CHECK_EPILOG, short_help="Whether a file still fits, and what cannot work.")
@click.argument("file", metavar="FILE")
@_FORMAT
@click.option(
    "--from",
    "from_paths",
    metavar="MACHINE",
    multiple=True,
    help="Compare with a saved machine instead of this one: a document, a recording, or text that somebody pasted.",
)
@click.option("--python", metavar="PATH", help="The Python to inspect. Default: that of the active environment.")
@click.option("--strict", is_flag=True, help="End with status 3 when there are warnings and no error.")
@_JSON
@_ASCII
@speaks
def check(
    file: str,
    form: str | None,
    from_paths: tuple[str, ...],
    python: str | None,
    strict: bool,
    as_json: bool,
    ascii_only: bool,
) -> int:
    """Say whether FILE still fits this machine, and what in it cannot work.

    Compares the hardware, the driver and the torch that it was measured with, and looks at every line: names that are
    none for tuning, values that cannot be, what pins import torch to one CPU, what this session has otherwise.
    """
    read = _read(file, form)
    given, environ = _machine(from_paths, python)
    from doctor.derive.facts import complete
    from doctor.envfile.check import findings_of

    findings = findings_of(read, complete(given.collected.machine), environ)
    if as_json:
        from doctor.present.env_json import check_document

        _print_json(check_document(file, read, findings))
    else:
        from doctor.present.env_screen import check_lines

        _print(lambda look: check_lines(file, findings, look), ascii_only)
    if any(finding.severity == "error" for finding in findings):
        return 1
    return 3 if strict and any(finding.severity == "warning" for finding in findings) else 0


@env.command(short_help="Take the block of amd-doctor out of a file.")
@click.argument("file", metavar="FILE")
@_JSON
@_ASCII
@speaks
def remove(file: str, as_json: bool, ascii_only: bool) -> int:
    """Take the managed block out of FILE, and leave the rest byte for byte.

    FILE stays, even when it is empty then: systemd and docker refuse to start without a file that they were told of.
    Of conda's two scripts, both are cleaned.
    """
    from doctor.envfile.files import NotWritten, Unreadable, counterpart, remove_block

    path = Path(file)
    try:
        other = counterpart(path)
        removed = [remove_block(each) for each in (path, other) if each is not None]
    except (Unreadable, NotWritten) as error:
        raise Unusable(str(error)) from error
    if as_json:
        from doctor.present.env_json import removed_document

        return _print_json(removed_document(removed))
    from doctor.present.env_screen import removed_lines

    return _print(lambda look: removed_lines(removed, look), ascii_only)


def _read(file: str, form: str | None) -> EnvRead:
    from doctor.envfile.files import Unreadable, read_env
    from doctor.envfile.formats import FORMATS

    if form is not None and form not in FORMATS:
        raise click.UsageError(f"--format: there is no format {form!r}; there are {', '.join(FORMATS)}.")
    try:
        return read_env(Path(file), FORMATS[form] if form is not None else None)
    except Unreadable as error:
        raise Unusable(str(error)) from error


def _machine(from_paths: tuple[str, ...], python: str | None) -> tuple[Given, Mapping[str, str] | None]:
    """The machine to compare with, and the session's environment where it is this one."""
    if not from_paths:
        return from_this_machine(TargetSearch(python), exercises=False, timeout_seconds=60.0), os.environ
    if python is not None:
        raise click.UsageError("--python speaks of this machine, and --from looks at nothing of it.")
    return from_file(*from_paths), None


def _print(lines: Callable[[Look], list[Line]], ascii_only: bool) -> int:
    from doctor.present.terminal import look_of, write

    look = look_of(sys.stdout, ascii_only=ascii_only)
    write(lines(look), look)
    return 0


def _print_json(document: Any) -> int:
    from doctor.present.check_json import json_text
    from doctor.present.terminal import write_text

    write_text(json_text(document), sys.stdout)
    return 0
