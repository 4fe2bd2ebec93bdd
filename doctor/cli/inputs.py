"""One way to a machine for every command: this one, or one that was saved or pasted."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import msgspec

from doctor.machine.document import Document
from doctor.present.language import say, told
from doctor.present.text import clean
from doctor.probes.collect import PROBES, Collected, collect
from doctor.sources.redaction import Removals

if TYPE_CHECKING:
    from doctor.sources.redacted import RedactedSource
    from doctor.sources.target import Target

#: The probes that the topology needs; none of them asks the target interpreter.
_TOPOLOGY_PROBES = ("system", "cpu", "topology", "limits")
_PLAIN_PATH = re.compile(r"[\w./~+-]+")


class Unusable(click.ClickException):
    """A file or an interpreter that was named and cannot be used: exit status 2, one sentence, no usage lines."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(told(message))
        self.english = message

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"amd-doctor: {clean(self.message)}", err=True)


class Given(msgspec.Struct, frozen=True):
    """A machine as it was read. `document` is what it was read from, empty for a source.

    `name` is that of the file, None for this machine. `with_root` is the command line that runs the same check as
    root, None where there is no such thing. `removed` is what was taken out of the facts when they were read.
    """

    collected: Collected
    document: Document
    name: str | None = None
    with_root: str | None = None
    removed: Removals = Removals()


class TargetSearch:
    """The search for the Python to inspect. It begins at once, in the background: it mostly waits for interpreters
    to say what they are, and meanwhile the command reads its own modules and rules.
    """

    def __init__(self, python: str | None) -> None:
        self._python = python
        self._found: Target | BaseException | None = None
        self._thread = threading.Thread(target=self._search, daemon=True)
        self._thread.start()

    def _search(self) -> None:
        from doctor.sources.target import find_target

        try:
            self._found = find_target(self._python)
        except BaseException as error:
            self._found = error

    def target(self) -> Target:
        """The Python to inspect, as soon as it is found. Raises Unusable where there is none."""
        from doctor.sources.target import BadTarget

        self._thread.join()
        if isinstance(self._found, BadTarget):
            raise Unusable(str(self._found)) from self._found
        if isinstance(self._found, BaseException):
            raise self._found
        assert self._found is not None
        return self._found


def from_this_machine(search: TargetSearch, *, exercises: bool, timeout_seconds: float) -> Given:
    """This machine and the Python that is inspected. Raises Unusable for a Python that cannot be."""
    with progress(say("Looking at this machine and its PyTorch ...")), live_source(
        search, exercises=exercises, timeout_seconds=timeout_seconds
    ) as (source, target):
        collected = collect(source)
        removed = source.removals
    return Given(collected, Document(collected.machine), with_root=_with_root(target), removed=removed)


def topology_of_this_machine() -> Given:
    """This machine as far as its topology goes: no interpreter is looked for, no child is started."""
    from doctor.sources.live import LiveSource

    collected = collect(LiveSource(), tuple(row for row in PROBES if row[0] in _TOPOLOGY_PROBES))
    return Given(collected, Document(collected.machine))


@contextlib.contextmanager
def live_source(
    search: TargetSearch, *, exercises: bool, timeout_seconds: float
) -> Iterator[tuple[RedactedSource, str]]:
    """This machine as a source, and the path of the inspected Python. The exercises begin at once, in the background.

    Raises Unusable for a Python that cannot be inspected.
    """
    from doctor.sources.exercises import Exercises
    from doctor.sources.live import LiveSource

    target = search.target()
    for sentence in target.passed_over:
        click.echo(f"amd-doctor: {say('passed over {what}', what=clean(told(sentence)))}", err=True)
    with Exercises(target, timeout_seconds=timeout_seconds, enabled=exercises) as running:
        yield LiveSource(running), target.path


def from_file(*paths: str) -> Given:
    """A saved or pasted machine, from one file or several; `-` is stdin. Raises Unusable for what cannot be read."""
    from doctor.cli.files import from_files

    return from_files(paths)


def _with_root(target: str) -> str | None:
    """The same check as root. sudo forgets the environment, so it is told which program and which Python."""
    if sys.platform == "win32" or os.geteuid() == 0:
        return None
    own = str(Path(sys.argv[0]).absolute()) if _is_our_program() else sys.executable
    module = [] if _is_our_program() else ["-m", "doctor"]
    return " ".join(["sudo", _nameless(own), *module, "check", "--python", _nameless(target)])


def _nameless(path: str) -> str:
    """A path as one types it. Where somebody's name is in it, the shell is told how to find it, if it can."""
    from shutil import which

    from doctor.sources.personal_names import redactor_of_this_machine

    shown = shown_path(path)
    safe = redactor_of_this_machine().text(shown, keyed=False)
    if safe == shown:
        return shown
    name = Path(path).name
    if which(name) == path:
        return f'"$(command -v {name})"'
    in_venv = path == str(Path(os.environ.get("VIRTUAL_ENV", "")) / "bin" / name)
    return f'"$VIRTUAL_ENV/bin/{name}"' if in_venv else safe


def _is_our_program() -> bool:
    return Path(sys.argv[0]).name == "amd-doctor" and os.access(sys.argv[0], os.X_OK)


def shown_path(path: str) -> str:
    """A path as one types it, with `~` for the home folder, which is nobody else's business."""
    home = str(Path("~").expanduser()).rstrip("/")
    short = f"~{path[len(home) :]}" if home and path.startswith(home + "/") else path
    return short if _PLAIN_PATH.fullmatch(short) else shlex.quote(path)


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """A moving sign on stderr while something takes its time; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    from rich.console import Console

    console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    spinner = "dots" if (console.encoding or "").startswith("utf") else "line"
    with console.status(text, spinner=spinner):
        yield
