"""Finds the Python that is inspected: the one the user works with, which is rarely the doctor's own."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.processes.run import Child
from doctor.sources.base import Json, Missing
from doctor.sources.inside import INTERPRETER_TIMEOUT_SECONDS, cleaned_environment, read_interpreter, start_inside

#: Set by `scripts/start.py`: the interpreter that started it.
CALLER = "AMD_DOCTOR_CALLER"

#: How many interpreters are asked whether they hold torch, and how long each may take, all at the same time.
MOST_ASKED = 8
ASKED_TIMEOUT_SECONDS = 3.0

_WINDOWS = os.name == "nt"

#: Version managers put small programs into a folder of this name. Which Python they stand for depends on the current
#: folder.
_SHIMS = "shims"


class BadTarget(Exception):
    """The interpreter cannot be inspected. The message is one sentence that names it and says why."""


class Target(msgspec.Struct, frozen=True):
    """The Python that is inspected. `path` is absolute; a virtual environment's link is left as it is, because the
    environment is found through it."""

    path: str
    chosen_by: str  # in words
    identity: Json  # what doctor/inside/interpreter.py printed
    others: tuple[str, ...] = ()  # other interpreters that hold torch
    passed_over: tuple[str, ...] = ()  # sentences on what came first and does not work


class _Choice(msgspec.Struct, frozen=True):
    path: Path
    words: str


def find_target(
    python: str | None = None, *, environ: Mapping[str, str] | None = None, own: str = sys.executable
) -> Target:
    """The target, asked what it is. `python` is the value of `--python`. Raises BadTarget: only where `python` was
    given, or where nothing at all answers."""
    variables = os.environ if environ is None else environ
    named = _Choice(_named_by_user(python, variables), "--python") if python is not None else None
    active, on_path = _active(variables), _on_path(variables)
    with _Search(cleaned_environment(variables).variables) as search:
        search.ask([*(choice.path for choice in active), Path(own).absolute(), *on_path])
        if named is not None:
            identity = search.identity(named.path)
            if isinstance(identity, Missing):
                raise BadTarget(f"--python {python}: {identity.detail}")
            chosen, passed_over = named, tuple[str, ...]()
        else:
            chosen, identity, passed_over = search.first(active, on_path, Path(own).absolute())
        path = _stands_for(chosen.path, identity)
        return Target(str(path), chosen.words, identity, search.others(path, identity), passed_over)


def _named_by_user(python: str, variables: Mapping[str, str]) -> Path:
    """The absolute path of `--python`. A bare name is looked up on PATH. Raises BadTarget."""
    path = Path(python).expanduser().absolute()
    if Path(python).name == python and not path.exists():
        found = shutil.which(python, path=variables.get("PATH", ""))
        path = Path(found).absolute() if found else path
    if path.is_dir():
        inside = next((each for each in _pythons_in(path) if each.is_file()), None)
        hint = f"; did you mean {inside}?" if inside else ""
        raise BadTarget(f"--python {python}: it is a folder, not an interpreter{hint}")
    if not path.exists():
        why = "it is a link to nothing" if path.is_symlink() else "there is no such file"
        raise BadTarget(f"--python {python}: {why}")
    return path


class _Search:
    """Asks interpreters what they are. One fresh folder serves all of them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._folder = tempfile.TemporaryDirectory(prefix="amd-doctor-", ignore_cleanup_errors=True)
        self._asked: dict[str, tuple[Path, Child]] = {}

    def __enter__(self) -> _Search:
        return self

    def __exit__(self, *_: object) -> None:
        for _path, child in self._asked.values():
            child.kill()
        self._folder.cleanup()

    def ask(self, paths: Iterable[Path]) -> None:
        """Ask each of the interpreters, all at the same time, whether it holds torch. The answers are read later."""
        for path in paths:
            key = _same_python(path)
            if key not in self._asked and len(self._asked) < MOST_ASKED:
                self._asked[key] = (path, self._start(path, "--brief"))

    def identity(self, path: Path) -> Json | Missing:
        """All that an interpreter says of itself."""
        return read_interpreter(self._start(path).wait(INTERPRETER_TIMEOUT_SECONDS))

    def first(
        self, active: Sequence[_Choice], on_path: Sequence[Path], own: Path
    ) -> tuple[_Choice, Json, tuple[str, ...]]:
        """The first choice that answers, its answer, and why those before it do not count. Raises BadTarget."""
        passed_over: list[str] = []
        for choice in self._choices(active, on_path, own):
            identity = self.identity(choice.path)
            if not isinstance(identity, Missing):
                return choice, identity, tuple(passed_over)
            passed_over.append(f"{choice.path} ({choice.words}): {identity.detail}")
        raise BadTarget(f"no Python answers; name one with --python ({passed_over[-1]})")

    def _choices(self, active: Sequence[_Choice], on_path: Sequence[Path], own: Path) -> Iterable[_Choice]:
        yield from active
        holding = {_same_python(path) for path, _ in self._holding_torch()}
        for path in on_path:
            if _same_python(path) in holding:
                yield _Choice(path, "the first Python on PATH that holds torch")
        yield _Choice(own, "amd-doctor's own Python")

    def others(self, target: Path, identity: Json) -> tuple[str, ...]:
        """The other interpreters that hold torch, each environment once."""
        known, found = {_prefix(identity)}, []
        for path, told in self._holding_torch():
            if _prefix(told) not in known and path != target:
                known.add(_prefix(told))
                found.append(str(_stands_for(path, told)))
        return tuple(found)

    def _holding_torch(self) -> list[tuple[Path, Json]]:
        told = []
        for path, child in self._asked.values():
            answer = read_interpreter(child.wait(ASKED_TIMEOUT_SECONDS))
            if not isinstance(answer, Missing) and answer.get("torch") is True:
                told.append((path, answer))
        return told

    def _start(self, path: Path, *arguments: str) -> Child:
        # A shim is asked where the user stands; what it stands for runs in the empty folder like any other.
        folder = str(Path.cwd()) if _is_shim(path) else self._folder.name
        return start_inside(str(path), "interpreter.py", arguments, environ=self._environ, folder=folder)


def _active(variables: Mapping[str, str]) -> tuple[_Choice, ...]:
    """The interpreters that the user's shell names, most telling first."""
    named = [
        (_environment_python(variables.get("VIRTUAL_ENV", "")), "the active virtual environment (VIRTUAL_ENV)"),
        (_environment_python(variables.get("CONDA_PREFIX", "")), "the active conda environment (CONDA_PREFIX)"),
        (Path(variables.get(CALLER, "")), "the Python that started amd-doctor"),
    ]
    return tuple(_Choice(path, words) for path, words in named if path.is_absolute())


def _environment_python(folder: str) -> Path:
    """The interpreter of an environment, whether it exists or not; a relative path where there is no environment."""
    paths = _pythons_in(Path(folder))
    # `is_file` alone raises where a folder may not be entered.
    return next((path for path in paths if os.access(path, os.F_OK) and path.is_file()), paths[0])


def _pythons_in(folder: Path) -> tuple[Path, ...]:
    """Where an environment keeps its interpreter. On Windows conda has it at the top, venv in Scripts."""
    names = ("Scripts/python.exe", "python.exe") if _WINDOWS else ("bin/python", "bin/python3")
    return tuple(folder / name for name in names)


def _on_path(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """One interpreter from each folder on PATH: those of one folder are nearly always the same."""
    names = ("python.exe",) if _WINDOWS else ("python3", "python")
    found = []
    for folder in map(Path, variables.get("PATH", "").split(os.pathsep)):
        pythons = (folder / name for name in names if folder.is_absolute())
        found += [path for path in pythons if os.access(path, os.X_OK) and path.is_file()][:1]
    return tuple(found)


def _same_python(path: Path) -> str:
    """One key for all names of an interpreter. Environments that link to the same interpreter stay apart."""
    if (path.parent.parent / "pyvenv.cfg").exists():
        return str(path.parent.resolve() / "python of this environment")
    return str(path.resolve())


def _prefix(told: Json) -> Path:
    return Path(str(told.get("prefix") or "")).resolve()


def _is_shim(path: Path) -> bool:
    return path.parent.name == _SHIMS


def _stands_for(path: Path, told: Json) -> Path:
    """The interpreter behind a shim; any other path as it is."""
    executable = Path(str(told.get("executable") or ""))
    return executable if _is_shim(path) and executable.is_absolute() else path
