"""The format of `docker run --env-file`: `NAME=value` to the end of the line, as it stands (docker/cli pkg/kvfile).

Nothing is quoted or replaced. Newer clients take away one pair of quotes around a value and older ones do not, so a
value of that kind is refused. Lines are at most 64 KiB long and UTF-8.
"""

from __future__ import annotations

from doctor.envfile.content import NAME, CannotWrite
from doctor.envfile.dotenv import shown
from doctor.envfile.line_format import LineFormat
from doctor.envfile.reading import Assigned, Parsed, Problem


def assign(name: str, value: str) -> str:
    if _quoted(value):
        raise CannotWrite(f"the value of {name} begins and ends with a quote, which not every docker keeps")
    return f"{name}={value}"


def parse(text: str) -> Parsed:
    assigned, problems = [], []
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.removesuffix("\r").lstrip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not NAME.fullmatch(name):
            problems.append(Problem(number, f"{shown(name)} is no name of a variable" if equals else "no assignment"))
        elif not equals:
            problems.append(Problem(number, f"{name} is given no value: docker takes it from its own environment"))
        else:
            assigned.append(Assigned(name, value, number))
            if _quoted(value):
                wrong = f"docker may take the quotes around {name} as part of its value"
                problems.append(Problem(number, wrong, stops=False))
    return Parsed(tuple(assigned), tuple(problems))


def _quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "'\""


DOCKER = LineFormat(
    name="docker",
    title="docker --env-file",
    file_name="amd-doctor.docker.env",
    use="docker run --env-file FILE IMAGE",
    assign=assign,
    parse=parse,
    any_line_end=True,
)
