"""What an env file says, before any format: its variables, the evidence for them, and what stands as comments."""

from __future__ import annotations

import re

import msgspec

SCHEMA = "amd-doctor/env/1"

#: The CPU mask, as a CPU list. Only `amd-doctor run` reads it.
CPUS = "AMD_DOCTOR_CPUS"
#: The batch size that was recommended. The user's own code reads it.
BATCH_SIZE = "AMD_DOCTOR_BATCH_SIZE"

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
#: No tuning variable needs more; cmd takes lines of 8191 characters.
MAX_VALUE = 4096


class CannotWrite(Exception):
    """A format has no way to say a value. The message is one sentence that names the variable."""


class Gain(msgspec.Struct, frozen=True, omit_defaults=True):
    """A confirmed gain of throughput: 0.25 is a quarter more work in the same time. The bounds are those of 95 %."""

    gain: float
    low: float | None
    high: float | None
    pairs: int


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was measured, where and when. It stands in the file in one line, so that it can be checked later.

    `file`: the gain of the variables as a sourced file gives them. `run`: that of the variables and the CPU mask, as
    `amd-doctor run` gives them. None: not shown. `variables` are those that the file sets (None: takes out),
    `run_variables` those that stand as comments, because only together with the mask they were faster.
    `device`: that of AMD_DOCTOR_DEVICE against the tuned CPU. `subject` is that of the plan: cpu, hardware, torch and
    so on.
    """

    date: str
    system: str
    workloads: tuple[str, ...]
    subject: dict[str, str] = {}
    file: Gain | None = None
    run: Gain | None = None
    device: Gain | None = None
    variables: dict[str, str | None] = {}
    run_variables: dict[str, str | None] = {}
    confirmed: tuple[str, ...] = ()
    replaces: dict[str, str] = {}
    disturbed: bool = False
    version: str = ""
    schema: str = SCHEMA


class EnvLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One variable. `value` None takes it out. `confirmed`: the file with this line beat the file without it.

    `replaces` is what the session had. A line that is not `active` stands as a comment, and `amd-doctor run` sets it
    together with the mask. `note` tells who reads a variable of ours.
    """

    name: str
    value: str | None
    confirmed: bool = False
    replaces: str | None = None
    active: bool = True
    note: str = ""


class EnvContent(msgspec.Struct, frozen=True):
    """A whole block: comments at its head, the variables, comments at its end, and the evidence."""

    head: tuple[str, ...]
    lines: tuple[EnvLine, ...]
    tail: tuple[str, ...]
    evidence: Evidence

    @property
    def variables(self) -> dict[str, str | None]:
        """What the file sets and takes out."""
        return {line.name: line.value for line in self.lines if line.active}


def checked_value(name: str, value: str) -> str:
    """The value, where every format may write it. Raises CannotWrite for what none can, or what no variable holds."""
    if not NAME.fullmatch(name):
        raise CannotWrite(f"{name[:60]!r} is no name of a variable")
    if len(value) > MAX_VALUE:
        raise CannotWrite(f"the value of {name} is longer than {MAX_VALUE} characters")
    if any(_is_control(char) for char in value):
        raise CannotWrite(f"the value of {name} holds a line break or another control character")
    return value


def _is_control(char: str) -> bool:
    """Also a half of a surrogate pair, which no file of text can hold."""
    return ord(char) < 32 or 127 <= ord(char) < 160 or 0xD800 <= ord(char) < 0xE000
