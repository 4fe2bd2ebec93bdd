"""What one area of the screen has to say: the facts one would ask for, or why there are none."""

from __future__ import annotations

import msgspec

from doctor.machine.model import Machine
from doctor.present.language import phrase, say, told

#: How a reason of the machine document reads in a sentence.
REASON_WORDS = {
    "needs-root": phrase("not readable without root"),
    "not-on-this-platform": phrase("this machine does not tell"),
    "not-in-source": phrase("not in what was given"),
    "probe-failed": phrase("could not be read"),
    "timed-out": phrase("took too long to read"),
    "not-installed": phrase("the program that tells it is not installed"),
}

#: Reasons whose detail says more than they do; that of the others stands at the end of the screen.
_TOLD_BY_DETAIL = ("not-in-source", "not-on-this-platform")


#: Where the document does not say why.
NO_REASON = phrase("not known")


class Says(msgspec.Struct, frozen=True):
    """`facts` are lines; `missing` are sentences about the main facts that are unknown."""

    facts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    not_applicable: str | None = None


def not_known(machine: Machine, *facts: str, what: str) -> str:
    """`module speed and channels: not readable without root`. The first of `facts` that has a reason gives it."""
    return say("{what}: {reason}", what=what, reason=reason_of(machine, *facts))


def reason_of(machine: Machine, *facts: str) -> str:
    """Why the first of `facts` that has a row is unknown, in words; rows of a fact's fields count for it too."""
    for fact in facts:
        for row in machine.unknowns or ():
            if row.fact == fact or row.fact.startswith(f"{fact}."):
                telling = row.detail if row.reason in _TOLD_BY_DETAIL else None
                return told(telling) if telling else say(REASON_WORDS.get(row.reason, row.reason))
    return say(NO_REASON)
