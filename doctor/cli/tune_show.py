"""Behind a run of `tune`: the result is kept, written where it was asked for, and shown."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click
import msgspec

from doctor.cli.tune_drive import Driven
from doctor.cli.tune_env import EnvTarget, EnvWritten, env_written
from doctor.cli.tune_kept import keep_last
from doctor.cli.tune_options import Asked
from doctor.cli.tune_prepare import Prepared
from doctor.measure.units import DEFAULT, Measured
from doctor.present.check_json import json_text
from doctor.present.language import told
from doctor.present.terminal import line, look_of, to_ascii, write, write_text
from doctor.present.text import clean
from doctor.present.tune_ending import Around, exit_status, last_line
from doctor.present.tune_json import tune_document
from doctor.sources.whole_file import write_whole
from doctor.tune.devices.findings import with_measured_devices

_CANNOT_WRITE = 2


class Output(msgspec.Struct, frozen=True):
    """Where the result goes."""

    env: EnvTarget | None = None
    document: Path | None = None
    shared: Path | None = None
    as_json: bool = False
    save: bool = True
    verbose: bool = False
    quiet: bool = False
    ascii_only: bool = False


def refuse_document(path: Path, option: str) -> None:
    """Say before the run what cannot be written behind it. An older result is replaced, nothing else."""
    if not path.parent.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {path.parent}.")
    if path.exists() and not path.is_file():
        raise click.UsageError(f"{option} {path}: it is {'a folder' if path.is_dir() else 'no regular file'}.")
    if not os.access(path.parent, os.W_OK):
        raise click.UsageError(f"{option} {path}: it may not be written; name another file.")
    if path.exists() and not _is_result(path):
        raise click.UsageError(f"{option} {path}: there is such a file, and it is no result of tune; name another one.")


def _is_result(path: Path) -> bool:
    try:
        with path.open("rb") as opened:
            head = opened.read(200)
    except OSError:
        return False
    return not head.strip() or b'"schema": "amd-doctor/tune/' in head


def shown(driven: Driven, ready: Prepared, asked: Asked, output: Output) -> int:
    """Keep, write and show a result. The exit status; 2 where a file could not be written."""
    plain = _document(driven, ready)
    document = json_text(plain)
    failures = [*_kept(document, output), *_document_written(document, output), *_shared(plain, output)]
    env = _env(driven, ready, asked, output)
    _show(driven, document, _around(driven, env, asked), output)
    failures += _env_notes(env, output)
    for failure in failures:
        _say(failure, output)
    return exit_status(driven.result) or (_CANNOT_WRITE if failures else 0)


def _document(driven: Driven, ready: Prepared) -> dict[str, Any]:
    machine = ready.given.document.to_builtins(with_measured_devices(ready.machine, driven.result.devices))
    return tune_document(driven.result, driven.samples, machine, datetime.now(timezone.utc))


def _kept(document: str, output: Output) -> list[str]:
    """Keep it as the last result. That it could not be kept is said, and no failure of what was asked for."""
    if output.save:
        try:
            keep_last(document.encode())
        except OSError as error:
            _say(f"this result is not kept for later: {error.strerror or error}", output)
    return []


def _document_written(document: str, output: Output) -> list[str]:
    if output.document is None:
        return []
    try:
        write_whole(output.document, document.encode())
    except OSError as error:
        return [f"-o {output.document}: not written: {error.strerror or error}"]
    if not output.quiet:
        _say(f"wrote {output.document}", output)
    return []


def _shared(document: dict[str, Any], output: Output) -> list[str]:
    if output.shared is None:
        return []
    from doctor.cli.tune_share import write_shared

    try:
        write_shared(output.shared, document)
    except OSError as error:
        return [f"--share {output.shared}: not written: {error.strerror or error}"]
    if not output.quiet:
        _say(f"wrote {output.shared}: it holds no names; look through it before you send it", output)
    return []


def _env(driven: Driven, ready: Prepared, asked: Asked, output: Output) -> EnvWritten | None:
    """The env file, where one is wanted and the run came to an end. Also one that gained nothing is written."""
    if output.env is None or driven.result.ending in ("budget-too-small", "default-failed"):
        return None
    command = shlex.join(asked.command) if asked.command else "python train.py"
    return env_written(output.env, driven.result, ready.machine, command)


def _around(driven: Driven, env: EnvWritten | None, asked: Asked) -> Around:
    said = Around(
        saved=driven.kept,
        repeated=asked.repeated,
        command=asked.command_text,
        default_failures=_default_failures(driven.samples),
    )
    if env is None or env.failure:
        return said
    return msgspec.structs.replace(said, env_file=env.named, use=env.use, run=env.run, env_empty=env.empty)


def _default_failures(samples: Iterable[Measured]) -> tuple[str, ...]:
    """How the default failed in the confirmation. Before it, a failure ends the run or costs a round."""
    found = [each.result for each in samples if (each.unit.stage, each.unit.arm) == ("confirm", DEFAULT)]
    failed = [each for each in found if each.outcome != "ok"]
    return tuple(f"{each.outcome}: {each.detail}" if each.detail else each.outcome for each in failed)


def _show(driven: Driven, document: str, around: Around, output: Output) -> None:
    if output.as_json:
        write_text(document, sys.stdout)
        return
    look = look_of(sys.stdout, ascii_only=output.ascii_only)
    if output.quiet:
        write([line(last_line(driven.result, around))], look)
        return
    from doctor.present.tune_screen import tune_lines

    write(tune_lines(driven.result, look, around, verbose=output.verbose), look)


def _env_notes(env: EnvWritten | None, output: Output) -> list[str]:
    """What is to be said of the env file. Where it could not be written, its text goes to stderr: nothing is lost."""
    if env is None:
        return []
    for note in env.notes:
        _say(note, output)
    if not env.failure:
        return []
    if env.text:
        write_text(env.text, sys.stderr)
    return [f"--write-env {env.named}: not written: {env.failure}" + ("; its text stands above" if env.text else "")]


def _say(text: str, output: Output) -> None:
    said = clean(f"amd-doctor: {told(text)}")
    click.echo(to_ascii(said) if output.ascii_only else said, err=True)
