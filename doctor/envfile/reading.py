"""What was read from an env file: assignments with their lines, what could not be read, and the evidence."""

from __future__ import annotations

import msgspec

from doctor.envfile.content import Evidence


class Assigned(msgspec.Struct, frozen=True, omit_defaults=True):
    """`value` None: the variable is taken out. `ours`: it stands in the managed block."""

    name: str
    value: str | None
    line: int
    ours: bool = False


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something at a line (from 1; 0: the whole file) that is not what its reader expects, in one sentence.

    `stops`: what the line says is not known, so nothing should be started with the file.
    """

    line: int
    text: str
    stops: bool = True


class Parsed(msgspec.Struct, frozen=True):
    """What a grammar made of a text. `open_end`: its end stands inside a quotation or a continued line."""

    assigned: tuple[Assigned, ...] = ()
    problems: tuple[Problem, ...] = ()
    open_end: bool = False


class EnvRead(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole file. `blocks` counts the managed blocks; `by_hand` says that something else stands in it too."""

    format: str
    assigned: tuple[Assigned, ...] = ()
    problems: tuple[Problem, ...] = ()
    evidence: Evidence | None = None
    blocks: int = 0
    by_hand: bool = False

    @property
    def variables(self) -> dict[str, str | None]:
        """The last word on each variable, as every reader of such files has it."""
        return {each.name: each.value for each in self.assigned}

    @property
    def rest(self) -> tuple[tuple[str, str | None], ...]:
        """What stands outside the managed block, in order."""
        return tuple((each.name, each.value) for each in self.assigned if not each.ours)

    @property
    def block(self) -> dict[str, str | None]:
        """What the managed block says."""
        return {each.name: each.value for each in self.assigned if each.ours}
