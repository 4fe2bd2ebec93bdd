"""Where two texts say different things: what was believed, and what was not."""

from __future__ import annotations

from doctor.present.checked import Checked
from doctor.present.findings import block
from doctor.present.language import say, told
from doctor.present.status import WARNING
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import wrap

_MOST = 6


def contradictions_lines(checked: Checked, look: Look, *, verbose: bool) -> list[Line]:
    """`! torch.version is 2.9.1+cpu (collect_env, line 3), not 2.6.0 (pip-list, line 60).`"""
    rows = checked.machine.contradictions or ()
    if not rows:
        return []
    says = say("What was given contradicts itself. The later, or the more direct, source is believed:")
    lines: list[Line] = [line(), *block(says, look, 0)]
    for row in rows if verbose else rows[:_MOST]:
        text = say(
            "{fact} is {kept} ({kept_from}), not {dropped} ({dropped_from}).",
            fact=row.fact,
            kept=told(str(row.kept)),
            kept_from=told(str(row.kept_from)),
            dropped=told(str(row.dropped)),
            dropped_from=told(str(row.dropped_from)),
        )
        first, *more = wrap(f"{WARNING.symbol} {text}", look.columns, hang=2)
        lines.append((Span(WARNING.symbol, WARNING.style), Span(first.removeprefix(WARNING.symbol))))
        lines += [line(part) for part in more]
    hidden = 0 if verbose else len(rows) - _MOST
    if hidden > 0:
        lines += block(say("And {count} more; -v lists them.", count=hidden), look, 0)
    return lines
