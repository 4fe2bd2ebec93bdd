"""Two checked machines side by side, as one value that the screen and the JSON of `compare` are made from."""

from __future__ import annotations

import msgspec

from doctor.derive.difference import Change, Difference
from doctor.diagnosis.shift import Shift, concerns
from doctor.present.checked import Checked


class Compared(msgspec.Struct, frozen=True):
    """What differs between two machines, and what the rules make of it."""

    old: Checked
    new: Checked
    difference: Difference
    shift: Shift

    @property
    def differs(self) -> bool:
        """A fact that both know is another, or a rule says something else. What only one of them knows is no
        difference: it may be the same."""
        return bool(self.difference.changes or self.shift.began or self.shift.stopped or self.shift.severity)

    def changes_of(self, reads: tuple[str, ...]) -> tuple[Change, ...]:
        """The changed facts that a rule reads."""
        return tuple(change for change in self.difference.changes if concerns(change.fact, reads))

    def rules_of(self, change: Change) -> tuple[str, ...]:
        """The rules that began, stopped or changed their severity, and read this fact."""
        moved = [(each.finding.rule, each.reads) for each in (*self.shift.began, *self.shift.stopped)]
        moved += [(each.finding.rule, each.reads) for each in self.shift.severity]
        return tuple(dict.fromkeys(rule for rule, reads in moved if concerns(change.fact, reads)))
