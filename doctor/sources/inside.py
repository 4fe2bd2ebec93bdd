"""Starts a script of `doctor/inside/` in another Python, and asks an interpreter what it is.

The script runs by absolute path in a fresh empty folder, with the user's environment less what would make Python
import from the current folder or behave unlike it does for the user's own scripts.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.processes.run import Child, Ended
from doctor.sources.base import Json, Missing

SCRIPTS = Path(__file__).resolve().parents[1] / "inside"

INTERPRETER_TIMEOUT_SECONDS = 10.0
OLDEST = (3, 8)

_ANSWER = "amd-doctor/interpreter/1"

#: Variables that change how Python starts but say nothing of the machine.
_NOT_PASSED_ON = (
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONVERBOSE",
    "PYTHONDEBUG",
    "PYTHONPROFILEIMPORTTIME",
    # They name the doctor's own interpreter, and would be taken for the target's.
    "PYTHONEXECUTABLE",
    "__PYVENV_LAUNCHER__",
)


class CleanedEnvironment(msgspec.Struct, frozen=True):
    """What a child gets, and the entries of PYTHONPATH that it does not get."""

    variables: dict[str, str]
    dropped_pythonpath: tuple[str, ...]


def cleaned_environment(environ: Mapping[str, str]) -> CleanedEnvironment:
    """The environment for a child: an empty or relative entry of PYTHONPATH means the current folder, or one below."""
    variables = {name: value for name, value in environ.items() if name.upper() not in _NOT_PASSED_ON}
    if "PYTHONPATH" not in variables:
        return CleanedEnvironment(variables, ())
    entries = variables.pop("PYTHONPATH").split(os.pathsep)
    kept = [entry for entry in entries if Path(entry).is_absolute()]
    if kept:
        variables["PYTHONPATH"] = os.pathsep.join(kept)
    return CleanedEnvironment(variables, tuple(entry for entry in entries if not Path(entry).is_absolute()))


def start_inside(
    python: str,
    script: str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: str,
    on_line: Callable[[bytes], None] | None = None,
    affinity: Collection[int] | None = None,
) -> Child:
    """A child in which the interpreter at the absolute path `python` runs `doctor/inside/<script>`."""
    # As root, compiled files would be left that the owner of the target could not remove with its packages.
    flags = ["-B"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    argv = [python, *flags, str(SCRIPTS / script), *arguments]
    return Child(argv, env=environ, cwd=folder, on_line=on_line, affinity=affinity)


def read_interpreter(ended: Ended) -> Json | Missing:
    """What `interpreter.py` answered, or in a few words why that was no Python that can be inspected."""
    told = None
    for line in ended.stdout.splitlines():
        if _ANSWER.encode() in line:
            told = _decoded(line) or told
    if told is None:
        return Missing("timed-out" if ended.outcome == "timeout" else "probe-failed", _why_no_answer(ended))
    version = str(told.get("version", ""))
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})\.", version)
    if numbers is None:
        return Missing("probe-failed", "it is not a working Python: it names no version")
    if (int(numbers[1]), int(numbers[2])) < OLDEST:
        return Missing("probe-failed", f"Python {version} is too old: 3.8 is the oldest that can be inspected")
    return told


def _decoded(line: bytes) -> dict[str, Json] | None:
    try:
        told = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return told if isinstance(told, dict) and told.get("answer") == _ANSWER else None


def _why_no_answer(ended: Ended) -> str:
    if ended.outcome == "not-started":
        return f"it does not start: {ended.name}"
    if ended.outcome == "timeout":
        return f"it did not answer ({ended.name})"
    if ended.outcome == "signal":
        return f"it died of {ended.name}"
    last = telling_line(ended.stderr)
    return f"it is not a working Python: {ended.name} without an answer" + (f" ({last})" if last else "")


_TELLING = re.compile(r"error|fatal|abort|failed|cannot|not found", re.IGNORECASE)


def telling_line(stderr: bytes) -> str:
    """The line that most likely says why, cut to a length that a sentence can hold: the last one of a traceback, else
    the first one that speaks of a failure, else the last one."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        return ""
    first_telling = next((line for line in lines if _TELLING.search(line)), lines[-1])
    line = lines[-1] if any(line.startswith("Traceback") for line in lines) else first_telling
    return "".join(letter for letter in line if letter.isprintable())[:200]


def signal_of_status(status: int | None) -> str | None:
    """A shell between us and the interpreter tells of a signal as status 128 + n."""
    try:
        return signal.Signals(status - 128).name if status is not None and 128 < status < 192 else None
    except ValueError:
        return None
