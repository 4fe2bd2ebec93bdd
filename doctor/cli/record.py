"""`amd-doctor record`: the raw facts of this machine in one file, so that somebody else can run `check` on them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from doctor.cli.inputs import TargetSearch, live_source, progress
from doctor.probes.collect import Collected, collect
from doctor.sources.recorder import Recorder, encoded, write_recording
from doctor.sources.recording import BadRecording, decode_recording

_EPILOG = """\b
Examples:
  amd-doctor record -o machine.json.gz             then attach the file to a ticket
  amd-doctor check --from machine.json.gz          what a maintainer runs on it
  amd-doctor record -o - | gzip -dc | less         read it before you send it
"""

#: As much of an older file is read to see whether it is a recording.
_LOOK_BYTES = 16 * 1024 * 1024


@click.command(epilog=_EPILOG)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    help="Where to write; - is stdout. An older recording is replaced, any other file only with --force.",
)
@click.option("--force", is_flag=True, help="Replace FILE whatever it is.")
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
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON, beside the file.")
def record(
    output: str, force: bool, python: str | None, no_exercise: bool, timeout: float, as_json: bool
) -> int:
    """Save the raw facts of this machine in a file for someone else.

    The file is gzipped JSON, and holds what check reads here: texts of /proc and /sys, tuning variables, what PyTorch
    answered. Home folders, user and host names, serial numbers, UUIDs and addresses are replaced before they are kept.
    """
    target = None if output == "-" else Path(output)
    if as_json and target is None:
        raise click.UsageError("-o - and --json both want stdout: give a file.")
    _refuse_output(target, force)
    with (
        progress("Recording this machine and its PyTorch ..."),
        live_source(TargetSearch(python), exercises=not no_exercise, timeout_seconds=timeout) as (source, _),
    ):
        recorder = Recorder(source)
        collected = collect(recorder)
    recording = recorder.recording()
    size = _written(target, recording)
    removed = getattr(source, "removed", {})
    if as_json:
        _print_json(output, size, recording, removed, collected)
    else:
        _say(output, size, recording, removed, collected)
    return 0


def _refuse_output(target: Path | None, force: bool) -> None:
    """Say before the work what cannot be written after it."""
    if target is None:
        if sys.stdout.isatty():
            raise click.UsageError("-o -: a recording is not text; give a file, or pipe it somewhere.")
        return
    if not target.parent.is_dir():
        raise click.UsageError(f"-o {target}: there is no folder {target.parent}.")
    if not target.exists():
        return
    if not target.is_file():
        raise click.UsageError(f"-o {target}: it is {'a folder' if target.is_dir() else 'no regular file'}.")
    if not force and not _is_recording(target):
        raise click.UsageError(f"-o {target}: there is such a file, and it is no recording. --force replaces it.")


def _is_recording(target: Path) -> bool:
    """True for an older recording, and for an empty file."""
    try:
        with target.open("rb") as opened:
            head = opened.read(_LOOK_BYTES)
        return not head or str(decode_recording(head).get("schema", "")).startswith("amd-doctor/recording/")
    except (OSError, BadRecording):
        return False


def _written(target: Path | None, recording: Mapping[str, Any]) -> int:
    try:
        if target is not None:
            return write_recording(target, recording)
        content = encoded(recording)
        with contextlib.suppress(BrokenPipeError):  # a reader that has seen enough
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return len(content)
    except OSError as error:
        raise click.UsageError(f"-o {target or '-'}: not written: {error.strerror or error}.") from error


_PARTS = {"files": "files", "commands": "commands", "env": "variables", "exercises": "exercises"}


def _print_json(
    output: str, size: int, recording: Mapping[str, Any], removed: Mapping[str, int], collected: Collected
) -> None:
    from doctor.present.check_json import json_text
    from doctor.present.terminal import write_text

    told = {
        "schema": "amd-doctor/recorded/1",
        "output": output,
        "size_bytes": size,
        "holds": {part: len(recording.get(part, ())) for part in _PARTS},
        "removed": dict(removed),
        "crashed": [{"part": crash.part, "detail": crash.detail} for crash in collected.crashed],
    }
    write_text(json_text(told), sys.stdout)


def _say(
    output: str, size: int, recording: Mapping[str, Any], removed: Mapping[str, int], collected: Collected
) -> None:
    """What was written, and what is not in it, on stderr."""
    name = "stdout" if output == "-" else output
    parts = [f"{len(recording.get(part, ()))} {word}" for part, word in _PARTS.items()]
    lines = [
        f"Wrote {name}: {size / 1000:.1f} kB; {', '.join(parts)}.",
        "Not in it: user and host names, home folders, serial numbers, UUIDs, MAC and IP addresses, secrets in URLs,"
        " and variables outside the tuning list.",
    ]
    if removed:
        counted = ", ".join(f"{count} {kind}" for kind, count in removed.items())
        lines.append(f"Replaced by pseudonyms or removed: {counted}.")
    lines += [f"{crash.part} failed: {crash.detail}" for crash in collected.crashed]
    if output != "-":
        lines.append(f"Judge it anywhere: amd-doctor check --from {output}")
    for line in lines:
        click.echo(line, err=True)
