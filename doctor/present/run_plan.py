"""What `amd-doctor run --dry-run` prints: the start of a command as lines for a shell, or as one document."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from doctor.envfile.cmd import assign as cmd_assign
from doctor.envfile.cmd import unset as cmd_unset
from doctor.envfile.content import CannotWrite
from doctor.envfile.posix import assign as sh_assign
from doctor.envfile.posix import unset as sh_unset
from doctor.envfile.start import Start
from doctor.machine.cpulist import parse_cpulist

SCHEMA = "amd-doctor/run/1"


def dry_run_lines(start: Start, argv: Sequence[str], *, windows: bool) -> list[str]:
    """Lines that do the same by hand: for cmd on Windows, else for a POSIX shell."""
    return _cmd_lines(start, argv) if windows else _sh_lines(start, argv)


def _sh_lines(start: Start, argv: Sequence[str]) -> list[str]:
    lines = [sh_unset(name) for name in start.removed]
    lines += [sh_assign(name, value) for name, value in sorted(start.variables.items())]
    command = shlex.join(argv)
    if start.cpus is None:
        return [*lines, command]
    return [*lines, f"taskset -c {start.cpus} {command}", f"# or: numactl --physcpubind={start.cpus} {command}"]


def _cmd_lines(start: Start, argv: Sequence[str]) -> list[str]:
    lines = [cmd_unset(name).removeprefix("@") for name in start.removed]
    for name, value in sorted(start.variables.items()):
        try:
            lines.append(cmd_assign(name, value).removeprefix("@"))
        except CannotWrite as error:
            lines.append(f"rem {error}")
    command = _windows_line(argv)
    mask = _hex_mask(start.cpus)
    return [*lines, command if mask is None else f'start "" /b /wait /affinity {mask} {command}']


def _windows_line(argv: Sequence[str]) -> str:
    """Words quoted as Windows programs take them apart: backslashes count only before a quote."""
    return " ".join(_windows_word(word) for word in argv)


def _windows_word(word: str) -> str:
    if word and not re.search(r'[\s"&|<>^()%!]', word):
        return word
    inner = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", inner) + '"'


def _hex_mask(cpus: str | None) -> str | None:
    """`FF` for the CPUs 0-7: what `start /affinity` takes."""
    return None if cpus is None else f"{sum(1 << cpu for cpu in parse_cpulist(cpus)):X}"


def dry_run_document(
    start: Start, argv: Sequence[str], program: str, env_file: str | None, *, windows: bool
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "command": list(argv),
        "program": program,
        "env_file": env_file,
        "variables": dict(sorted(start.variables.items())),
        "removed": list(start.removed),
        "cpus": start.cpus,
        "notes": list(start.notes),
        "lines": dry_run_lines(start, argv, windows=windows),
    }
