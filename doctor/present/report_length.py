"""How long a report may be, and in which order it is cut: GitHub refuses a text of more than 65,536 characters."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from doctor.present.report_parts import Cuts

#: A report is cut to this length as long as only what stands elsewhere in it, or in the rules, is lost.
USUAL = 12_000

#: No report is longer, which leaves room for what its author writes around it.
MOST = 60_000

#: Cuts in their order. Those of the first row cost no finding and no fact that a rule reads.
_HARMLESS = ("reasons", "flags", "healthy")
_HARD = ("tune_table", "facts", "newer", "areas", "data")
_FEWER_FINDINGS = (20, 5, 0)


def fitted(render: Callable[[Cuts], str]) -> str:
    """The report, cut as far as it must be. `render` gives it with some cuts."""
    cuts = Cuts()
    text = render(cuts)
    for name in _HARMLESS:
        if len(text) <= USUAL:
            return text
        cuts = msgspec.structs.replace(cuts, **{name: True})
        text = render(cuts)
    for name in _HARD:
        if len(text) <= MOST:
            return text
        cuts = msgspec.structs.replace(cuts, **{name: True})
        text = render(cuts)
    for most in _FEWER_FINDINGS:
        if len(text) <= MOST:
            return text
        cuts = msgspec.structs.replace(cuts, findings=most)
        text = render(cuts)
    return text[:MOST]
