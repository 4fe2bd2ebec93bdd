"""conda: a script for `etc/conda/activate.d` of an environment, and its counterpart for `deactivate.d`.

Both are scripts of a POSIX shell. Activating keeps what a variable held before; deactivating gives it back.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from doctor.envfile.content import EnvContent, EnvLine
from doctor.envfile.line_format import LineFormat, comments_of
from doctor.envfile.posix import POSIX, quoted
from doctor.envfile.posix import parse as parse_sh
from doctor.envfile.reading import Parsed

SCRIPT = "amd-doctor.sh"
_OLD = "_AMD_DOCTOR_OLD_"
#: The lines that keep what was there and give it back; they assign nothing of their own.
_KEEPING = re.compile(rf'if \[ "\$\{{(?:{_OLD})?[A-Za-z0-9_]+\+set\}}" = set \]; then [^\n]*; fi')

_GIVING_BACK = re.compile(rf'if \[ "\$\{{{_OLD}[A-Za-z0-9_]+\+set\}}" = set \]; then [^\n]*; else ([^\n]*); fi')


def _keep(name: str) -> str:
    return f'if [ "${{{name}+set}}" = set ]; then export {_OLD}{name}="${name}"; else unset {_OLD}{name}; fi'


def _give_back(name: str) -> str:
    return (
        f'if [ "${{{_OLD}{name}+set}}" = set ]; then export {name}="${_OLD}{name}"; unset {_OLD}{name}; '
        f"else unset {name}; fi"
    )


def assign(name: str, value: str) -> str:
    return f"{_keep(name)}\nexport {name}={quoted(value)}"


def unset(name: str) -> str:
    return f"{_keep(name)}\nunset {name}"


def parse(text: str) -> Parsed:
    return parse_sh(_KEEPING.sub(":", text))


class CondaFormat(LineFormat, frozen=True):
    """The activation script; `deactivation` is the other one."""

    def deactivation(self, content: EnvContent) -> bytes:
        """The script that gives back what the activation replaced."""
        return _DEACTIVATE.write(_without_notes(content))

    def deactivation_merged(self, old: bytes, content: EnvContent) -> bytes:
        """As `merged`, for the script of `deactivate.d`."""
        return _DEACTIVATE.merged(old, _without_notes(content))


def _without_notes(content: EnvContent) -> EnvContent:
    lines = tuple(EnvLine(line.name, None) for line in content.lines if line.active)
    head = ("Gives back what the script of the same name in activate.d replaced.",)
    return msgspec.structs.replace(content, head=head, lines=lines, tail=())


class _Deactivation(LineFormat, frozen=True):
    def block_lines(self, content: EnvContent) -> list[str]:
        return [line for line in super().block_lines(content) if line not in _NOTES]


_NOTES = {POSIX.said(text) for text in comments_of(EnvLine("X", None), "", can_unset=True)}


def _parse_back(text: str) -> Parsed:
    """What the script of deactivate.d does: every variable that it gives back counts as taken out."""
    return parse_sh(_GIVING_BACK.sub(r"\1", text))


_DEACTIVATE = _Deactivation(
    name="conda",
    title="conda",
    file_name=SCRIPT,
    use="",
    assign=assign,
    parse=_parse_back,
    unset=_give_back,
)

CONDA = CondaFormat(
    name="conda",
    title="conda",
    file_name="",
    use="conda activate NAME",
    assign=assign,
    parse=parse,
    unset=unset,
)


def scripts_at(path: Path) -> tuple[Path, Path]:
    """Where the two scripts belong for a path that the user named: an environment, its activate.d, or a script."""
    if path.suffix == ".sh" and not path.is_dir():
        folder = path.parent
        other = folder.parent / "deactivate.d" if folder.name == "activate.d" else folder
        name = path.name if folder.name == "activate.d" else f"{path.stem}-deactivate.sh"
        return path, other / name
    folder = path if path.name == "activate.d" else path / "etc" / "conda" / "activate.d"
    return folder / SCRIPT, folder.parent / "deactivate.d" / SCRIPT
