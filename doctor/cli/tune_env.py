"""The env file of `tune --write-env`: where it goes and in which format, told before the run; written behind it."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from doctor.present.text import clean, typed_path

if TYPE_CHECKING:
    from doctor.envfile.content import EnvContent
    from doctor.envfile.formats import Format
    from doctor.machine.model import Machine
    from doctor.tune.result import TuneResult

DEFAULT_NAME = "amd-doctor.env"

#: What a format says of its use is a line for these shells; the others are no shell at all.
_SHELLS_OF = {"dotenv": ("sh",), "sh": ("sh",), "fish": ("fish",), "powershell": ("powershell",), "cmd": ("cmd",)}


class EnvTarget(msgspec.Struct, frozen=True):
    """`named`: as the user typed it, or the format's own name."""

    named: str
    format: str

    @property
    def path(self) -> Path:
        return Path(self.named).expanduser()


class EnvWritten(msgspec.Struct, frozen=True):
    """`failure`: why it was not written, one sentence; `text` is then what would have stood in it.

    `use` takes the file into the user's shell, empty where it cannot; `run` starts a program with it. `empty`: it
    holds comments only.
    """

    named: str
    use: str = ""
    run: str = ""
    empty: bool = False
    failure: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()


def env_target(write_env: str | None, form: str | None) -> EnvTarget | None:
    """Where the env file goes; None where none is wanted. Raises UsageError, also for a place that cannot be written:
    before the run, not behind it."""
    if write_env is None and form is None:
        return None
    from doctor.envfile.formats import FORMATS

    if form is not None and form not in FORMATS:
        raise click.UsageError(f"--format: there is no format {form!r}; there are {', '.join(FORMATS)}.")
    named = write_env or (FORMATS[form].file_name if form is not None else DEFAULT_NAME)
    if not named:
        raise click.UsageError(f"--format {form}: say where, with --write-env FOLDER: the folder of the environment.")
    target = EnvTarget(named, form or _format_by_name(Path(named)))
    _refuse_place(target)
    return target


def _format_by_name(path: Path) -> str:
    """The format of a file that is there, else the one that its name tells, else dotenv."""
    from doctor.envfile.block import BadBlock
    from doctor.envfile.files import Unreadable, read_bytes
    from doctor.envfile.formats import format_of

    try:
        data = read_bytes(path)
    except Unreadable:
        data = b""
    try:
        return format_of(path, data).name
    except BadBlock as error:
        raise click.UsageError(f"--write-env {path}: {error}.") from error


def _refuse_place(target: EnvTarget) -> None:
    path, said = target.path, f"--write-env {target.named}"
    if target.format == "conda":
        if path.suffix != ".sh" and not path.is_dir():
            raise click.UsageError(f"{said}: there is no folder {path}.")
        return
    if path.is_dir():
        raise click.UsageError(f"{said}: it is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise click.UsageError(f"{said}: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise click.UsageError(f"{said}: it may not be written; name another file.")


def env_written(target: EnvTarget, result: TuneResult, machine: Machine, command: str) -> EnvWritten:
    """Write the file. What fails is told in the result, with the text, so that nothing is lost. `command` stands for
    what the user starts, `python train.py`."""
    from doctor.envfile.files import NotWritten, write_env
    from doctor.envfile.formats import FORMATS
    from doctor.envfile.from_result import content_of, provenance_of

    content = content_of(result, os.environ, provenance_of(machine, date.today().isoformat()))
    form = FORMATS[target.format]
    try:
        done = write_env(target.path, content, form)
    except NotWritten as error:
        return EnvWritten(target.named, failure=clean(str(error)), text=_text(content, form))
    return EnvWritten(
        target.named,
        use=_use(target, form) if content.variables else "",
        run=f"amd-doctor run --env {typed_path(target.named)} -- {command}",
        empty=not content.lines,
        notes=tuple(f"{name} is set again further down in {target.named}: that wins" for name in done.overridden),
    )


def _text(content: EnvContent, form: Format) -> str:
    from doctor.envfile.content import CannotWrite

    try:
        return form.write(content).decode("utf-8", "replace")
    except CannotWrite:  # that is the failure
        return ""


def _use(target: EnvTarget, form: Format) -> str:
    """The command that takes the file into the user's shell, or what the format itself says where it is for none."""
    shells = _SHELLS_OF.get(target.format)
    if shells is not None and own_shell() not in shells:
        return ""
    name = typed_path(target.named)
    return form.use.replace("./FILE", name if name.startswith(("/", "~", ".")) else f"./{name}").replace("FILE", name)


def own_shell() -> str:
    """The shell that the user types into: `sh` for all that take POSIX syntax, `fish`, `powershell`, `cmd`."""
    if sys.platform == "win32":
        from doctor.sources.shell import calling_shell

        return calling_shell() or "powershell"
    return "fish" if Path(os.environ.get("SHELL", "")).name == "fish" else "sh"
