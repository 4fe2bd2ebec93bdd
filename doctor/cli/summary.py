"""Many machines at once, for `amd-doctor check --summary`: each is read, judged, reduced to a row, and forgotten."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.cli.inputs import Unusable, from_file, progress
from doctor.machine.model import Intent
from doctor.pasted.folder import inputs_in
from doctor.present.language import say
from doctor.present.summary_rows import MachineRow, exit_status, machine_row
from doctor.sources.redaction import redacted_error

if TYPE_CHECKING:
    from doctor.diagnosis.rules import RuleSet


def summarise(
    paths: Sequence[str],
    wanted: Intent,
    rule_set: RuleSet,
    only: Sequence[str] = (),
    *,
    form: str = "screen",
    strict: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    ascii_only: bool = False,
) -> int:
    """Judge every input in the folders (a file is one input) and print one table. `form`: screen, json or csv.

    The exit status is 1 where a machine has an error. Raises Unusable where there is nothing to read.
    """
    with progress(say("Looking at the machines ...")):
        rows = list(machine_rows(paths, wanted, rule_set, only))
    if not rows:
        raise Unusable(f"there is no input in {', '.join(paths)}")
    looked_at = ", ".join("this folder" if path in (".", "./") else path for path in paths)
    _print(rows, looked_at, form, verbose=verbose, quiet=quiet, ascii_only=ascii_only)
    return exit_status(rows, strict=strict)


def machine_rows(
    paths: Sequence[str], wanted: Intent, rule_set: RuleSet, only: Sequence[str] = ()
) -> Iterator[MachineRow]:
    """A row for every input, in order. An input that cannot be read is a row too."""
    from doctor.cli.check import judged

    for name, path in _inputs(paths):
        try:
            yield machine_row(name, judged(from_file(path), wanted, rule_set, only))
        except Unusable as error:
            reason = error.english.removeprefix("cannot read ").removeprefix(f"{path}: ")
            yield MachineRow(name, "unread", "it may not be listed by you" if Path(path).is_dir() else reason)
        except Exception as error:  # one machine on which the doctor fails does not cost the others
            yield MachineRow(name, "crashed", redacted_error(error))


def _inputs(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What each input is called in the table, and its path: below the folder, with its name where there are several."""
    for given in paths:
        folder = Path(given)
        if given == "-" or not folder.is_dir():
            yield "standard input" if given == "-" else folder.name, given
            continue
        try:
            for path in inputs_in(folder):
                below = path.relative_to(folder).as_posix() if path != folder else folder.resolve().name
                yield f"{folder.name}/{below}" if len(paths) > 1 and path != folder else below, str(path)
        except OSError as error:
            raise Unusable(f"cannot read {given}: {error.strerror or error}") from error


def _print(
    rows: Sequence[MachineRow], given: str, form: str, *, verbose: bool, quiet: bool, ascii_only: bool
) -> None:
    from doctor.present.terminal import line, look_of, write, write_text

    if form == "json":
        from doctor.present.check_json import json_text
        from doctor.present.summary_json import summary_document

        write_text(json_text(summary_document(rows)), sys.stdout)
        return
    if form == "csv":
        from doctor.present.summary_csv import summary_csv

        write_text(summary_csv(rows), sys.stdout)
        return
    from doctor.present.summary_table import last_line, summary_screen

    look = look_of(sys.stdout, ascii_only=ascii_only)
    write([line(last_line(rows))] if quiet else summary_screen(rows, given, look, verbose=verbose), look)
