"""The commands of a plan, written for the shells of the machine.

Text of the machine enters a command in two places only: the path of the inspected Python, and versions of packages. A
path is quoted for each shell, or, where that is not safe, not written at all; a version must look like one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

import msgspec

from doctor.derive.plan_model import SHELLS, Install, Lines, PythonChoice
from doctor.machine.model import Machine

#: The folder, or the conda environment, that a plan makes.
ENVIRONMENT = "torch-env"
#: Where the present versions are written before anything is replaced.
SAVED_VERSIONS = "packages-before.txt"

_LONGEST_PATH = 400
_PLAIN_POSIX = re.compile(r"~?/[A-Za-z0-9_./+-]*")
_PLAIN_WINDOWS = re.compile(r"[A-Za-z]:\\[A-Za-z0-9_.\\+-]*")
#: Letters of any script, and signs that neither cmd nor PowerShell reads inside double quotes.
_SAFE_ON_WINDOWS = re.compile(r"([A-Za-z]:\\|\\\\|~\\)[\w .:\\+@,()~-]*")
_HOME_OF = {"cmd": "%USERPROFILE%", "powershell": "$env:USERPROFILE"}

_VERSION = re.compile(r"\d[0-9A-Za-z.]{0,40}(\+[0-9A-Za-z.]{1,40})?")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.=+-]+")


class Tools(msgspec.Struct, frozen=True):
    """How to call the Python that is installed into, and its pip.

    `program` starts it and `argument` names it, for each shell. `uv`: it is uv that installs. `named`: False where its
    path is not known, or cannot be written safely, so that the commands take the `python` of the active environment.
    """

    program: dict[str, str]
    argument: dict[str, str]
    uv: bool = False
    named: bool = True

    def pip(self, verb: str, rest: str = "") -> Lines:
        """`… -m pip VERB REST`, or the same with uv."""
        tail = f" {rest}" if rest else ""
        if self.uv:
            return _each(self.program, lambda shell: f"uv pip {verb} --python {self.argument[shell]}{tail}")
        yes = " -y" if verb == "uninstall" else ""
        return _each(self.program, lambda shell: f"{self.program[shell]} -m pip {verb}{yes}{tail}")

    def install(self, what: Install) -> Lines:
        index = f" --index-url {what.index_url}" if what.index_url else ""
        return self.pip("install", " ".join(map(word, what.requirements)) + index)

    def freeze(self) -> Lines:
        return self.pip("freeze", f"> {SAVED_VERSIONS}")


def shells_of(machine: Machine) -> tuple[str, ...]:
    """The shells to write for; none where the system is unknown."""
    return SHELLS.get(machine.os.kind or "", ()) if machine.os else ()


def same(machine: Machine, *lines: str) -> Lines:
    """Lines that every shell of the machine takes alike."""
    return dict.fromkeys(shells_of(machine), lines)


def tools_here(machine: Machine) -> Tools:
    """The inspected Python, as one types it."""
    shells = shells_of(machine)
    path = machine.python.executable if machine.python else None
    uv = machine.python is not None and machine.python.manager == "uv"
    written = {shell: _written(path, shell) for shell in shells}
    if path is None or any(text is None for text in written.values()):
        name = {shell: "python3" if shell == "sh" else "python" for shell in shells}
        return Tools(name, name, uv=uv, named=False)
    argument = {shell: text for shell, text in written.items() if text is not None}
    return Tools({shell: _as_program(text, shell) for shell, text in argument.items()}, argument, uv=uv)


def tools_of_new(machine: Machine, python: PythonChoice) -> tuple[Tools, Lines]:
    """A new environment, and the commands that make it."""
    here, manager = tools_here(machine), machine.python.manager if machine.python else None
    version = python.take
    if manager == "conda":
        wanted = version or python.present
        active = dict.fromkeys(shells_of(machine), "python")
        made = f"conda create -n {ENVIRONMENT} python" + (f"={wanted}" if wanted else "")
        lines = (made, f"conda activate {ENVIRONMENT}")
        return Tools(active, active, named=False), same(machine, *lines)
    inside = {shell: _in_environment(shell) for shell in shells_of(machine)}
    if here.uv or (version is not None and "sh" in inside):
        asked = {shell: version or here.argument[shell] for shell in inside}
        return Tools(inside, inside, uv=True), _each(
            inside, lambda shell: f"uv venv --python {asked[shell]} {ENVIRONMENT}"
        )
    if version is not None:
        get = f"winget install -e --id Python.Python.{version}"
        return Tools(inside, inside), same(machine, get, f"py -{version} -m venv {ENVIRONMENT}")
    return Tools(inside, inside), _each(inside, lambda shell: f"{here.program[shell]} -m venv {ENVIRONMENT}")


def word(requirement: str) -> str:
    """A requirement as one word for every shell: brackets mean something to some of them."""
    return requirement if _PLAIN_WORD.fullmatch(requirement) else f'"{requirement}"'


def pin(name: str, version: str | None) -> str | None:
    """`torch==2.9.1+rocm6.4`; None for a version that does not look like one."""
    if version is None or not _VERSION.fullmatch(version) or not version.isascii():
        return None
    return f"{name}=={version}"


def joined(parts: Sequence[Lines]) -> Lines:
    """The lines of several commands, one after the other."""
    shells = dict.fromkeys(shell for part in parts for shell in part)
    return {shell: tuple(line for part in parts for line in part.get(shell, ())) for shell in shells}


def own_command(machine: Machine, options: str, tools: Tools | None = None) -> Lines:
    """`amd-doctor plan OPTIONS`, about the Python of `tools` where one is named."""
    if tools is None or not tools.named:
        return same(machine, f"amd-doctor plan {options}")
    return _each(tools.argument, lambda shell: f"amd-doctor plan {options} --python {tools.argument[shell]}")


def _each(shells: dict[str, str], write: Callable[[str], str]) -> Lines:
    return {shell: (write(shell),) for shell in shells}


def _in_environment(shell: str) -> str:
    return f"{ENVIRONMENT}/bin/python" if shell == "sh" else rf"{ENVIRONMENT}\Scripts\python.exe"


def _written(path: str | None, shell: str) -> str | None:
    """A path as one argument of a command; None where it is none, or could mean something else to the shell."""
    if path is None or not path.isprintable() or len(path) > _LONGEST_PATH:
        return None
    return _posix(path) if shell == "sh" else _windows(path.replace("/", "\\"), shell)


def _posix(path: str) -> str | None:
    if not path.startswith(("/", "~/")):
        return None
    if _PLAIN_POSIX.fullmatch(path):
        return path
    # Between quotes the shell would not take ~ for the home folder.
    return "~/" + shlex.quote(path[2:]) if path.startswith("~/") else shlex.quote(path)


def _windows(path: str, shell: str) -> str | None:
    if not _SAFE_ON_WINDOWS.fullmatch(path):
        return None
    if _PLAIN_WINDOWS.fullmatch(path):
        return path
    return f'"{_HOME_OF[shell]}{path[1:]}"' if path.startswith("~") else f'"{path}"'


def _as_program(written: str, shell: str) -> str:
    """PowerShell takes a quoted word for a text, unless it is told to run it."""
    return f"& {written}" if shell == "powershell" and written.startswith('"') else written
