"""The command prompt of Windows: `@set "NAME=value"`, by `help set` and the rules of batch files.

Between the quotes only a percent sign has a meaning; it is doubled. A quote within the value would end the quotation
for everything behind it, so it is refused; so is an empty value, which takes the variable out, and whatever is not
ASCII: a batch file is read in the code page of the console. Comments hold no percent sign and no operators.
"""

from __future__ import annotations

import re

from doctor.envfile.content import NAME, CannotWrite
from doctor.envfile.line_format import LineFormat
from doctor.envfile.reading import Assigned, Parsed, Problem

_SET = re.compile(r"@?[ \t]*set[ \t]+(.*)", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"@?[ \t]*(?:rem(?:[ \t]|$)|::)", re.IGNORECASE)
_HARMLESS = re.compile(r"@?[ \t]*echo[ \t]+(?:off|on)[ \t]*", re.IGNORECASE)
_OPERATORS = "&|<>"

_PLAIN = str.maketrans("<>&|^!", "()+/'.")

_NOT_RUN = "this is no set command, and amd-doctor runs nothing"
_REPLACES = "cmd would replace what stands between percent signs, and amd-doctor runs no shell"


def assign(name: str, value: str) -> str:
    if not value:
        raise CannotWrite(f"the value of {name} is empty, and cmd takes such a variable out")
    if '"' in value:
        raise CannotWrite(f"the value of {name} holds a quote, which cmd cannot keep")
    if not value.isascii():
        raise CannotWrite(f"the value of {name} is not ASCII, and cmd reads files in the code page of its console")
    return f'@set "{name}={value.replace("%", "%%")}"'


def unset(name: str) -> str:
    return f'@set "{name}="'


def plain(text: str) -> str:
    """Text for a comment: what cmd looks at even there is said in words."""
    text = text.replace(" %", " percent").replace("%", " percent")
    return text.translate(_PLAIN)


def parse(text: str) -> Parsed:
    assigned, problems = [], []
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.removesuffix("\r").lstrip(" \t")
        if not line.strip() or _COMMENT.match(line) or _HARMLESS.fullmatch(line):
            continue
        command = _SET.fullmatch(line)
        said, wrong = _said(command[1]) if command is not None else (None, _NOT_RUN)
        if said is not None and not wrong:
            assigned.append(Assigned(said[0], said[1] or None, number))
        else:
            problems.append(Problem(number, wrong))
    return Parsed(tuple(assigned), tuple(problems))


def _said(text: str) -> tuple[tuple[str, str] | None, str]:
    """Name and value of what stands behind `set`, or a sentence."""
    if text.startswith('"'):
        # Everything up to the last quote of the line; what stands behind it is dropped.
        end = text.rfind('"')
        inner, behind = (text[1:end], text[end + 1 :]) if end > 0 else (text[1:], "")
        if any(char in behind for char in _OPERATORS):
            return None, _NOT_RUN
    elif any(char in re.sub(r"\^.", "", text) for char in _OPERATORS):
        return None, _NOT_RUN
    else:
        inner = re.sub(r"\^(.)", r"\1", text)
    name, equals, value = inner.partition("=")
    if not NAME.fullmatch(name) or not equals:
        return None, f"{name[:40]!r} is no name of a variable" if equals else _NOT_RUN
    if "%" in value.replace("%%", ""):
        return None, _REPLACES
    return (name, value.replace("%%", "%")), ""


CMD = LineFormat(
    name="cmd",
    title="cmd",
    file_name="amd-doctor.cmd",
    use="call FILE",
    assign=assign,
    parse=parse,
    unset=unset,
    suffixes=(".cmd", ".bat"),
    comment="@rem ",
    line_end="\r\n",
    any_line_end=False,
    plain=plain,
)
