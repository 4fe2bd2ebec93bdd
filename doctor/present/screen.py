"""The one screen of `check`: the areas with their facts, then what to do in order of cause, then the last two lines."""

from __future__ import annotations

from doctor import __version__
from doctor.present.areas import Area, areas_of
from doctor.present.checked import Checked
from doctor.present.contradictions import contradictions_lines
from doctor.present.details import area_details, timing_lines
from doctor.present.findings import block, findings_lines
from doctor.present.language import joined, phrase, say, told
from doctor.present.next_step import next_step
from doctor.present.status import CRASHED, OK
from doctor.present.summary import last_line
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import columns, listed, padded, wrap
from doctor.present.unknowns import undecided_lines, unknowns_lines

_TITLE_COLUMNS = 13  # the symbol, a blank and the longest title
_WORD_COLUMNS = 9
_FACTS_AT = _TITLE_COLUMNS + 1 + _WORD_COLUMNS


def screen(checked: Checked, look: Look, *, verbose: bool = False) -> list[Line]:
    """Every line of the screen. The last is the summary, the one before it the next command."""
    lines = [*_head(checked, look), line()]
    for area in areas_of(checked.machine, checked.diagnosis, checked.only):
        lines += area_lines(area, look)
        if verbose:
            lines += area_details(area.name, checked)
    lines += _crashed_lines(checked, look)
    lines += contradictions_lines(checked, look, verbose=verbose)
    lines += findings_lines(checked.diagnosis.findings, look, verbose=verbose)
    lines += _notes(checked, look, verbose=verbose)
    return [*lines, line(), *_end(checked, look)]


def _head(checked: Checked, look: Look) -> list[Line]:
    """What was looked at."""
    if checked.given is None:
        return [line(say("amd-doctor {version} looked at this machine.", version=__version__), "bold")]
    rows = checked.machine.sources or ()
    kinds = listed(tuple(dict.fromkeys(say(_KINDS.get(row.kind or "", row.kind or "")) for row in rows if row.kind)))
    taken = next((row.taken_at[:10] for row in rows if row.taken_at), "")
    about = joined(part for part in (kinds, taken) if part)
    what = say("{name} ({about})", name=told(checked.given), about=about) if about else told(checked.given)
    words = phrase("amd-doctor {version} looked at {what}. Nothing of this machine went in.")
    return [line(part, "bold") for part in wrap(say(words, version=__version__, what=what), look.columns)]


#: Kinds of sources whose name in the document does not read well. A live machine may have been saved as a document.
_KINDS = {
    "live": phrase("a saved check"),
    "document": phrase("a machine document"),
    "tree": phrase("proc and sys"),
    "report": phrase("a report"),
    "recording": phrase("recording"),
}


def area_lines(area: Area, look: Look) -> list[Line]:
    """`✓ CPU         ok       AMD Ryzen …`, further facts beneath the first."""
    says, status, word = area.says, area.status, area.status.said
    facts = [*says.facts, *says.missing]
    if says.not_applicable:
        facts = [*facts, says.not_applicable]
    if columns(word) >= _WORD_COLUMNS:
        facts = [say("{what}: {reason}", what=word, reason=facts[0]) if facts else word, *facts[1:]]
    title = (Span(status.symbol, status.style), Span(padded(f" {area.title}", _TITLE_COLUMNS)))
    lines: list[Line] = []
    for fact in facts or [""]:
        for part in wrap(fact, look.columns - _FACTS_AT, hang=2):
            lines.append(line(" " * _FACTS_AT + part))
    return [_first_line(lines[0], area, title), *lines[1:]]


def _first_line(first: Line, area: Area, title: Line) -> Line:
    text, word = first[0].text[_FACTS_AT:], area.status.said
    if columns(word) >= _WORD_COLUMNS:
        rest = text.removeprefix(word)
        return (*title, Span(word, area.status.style), Span(rest))
    return (*title, Span(padded(word, _WORD_COLUMNS), area.status.style), Span(text))


def _crashed_lines(checked: Checked, look: Look) -> list[Line]:
    """Parts of the doctor that failed: the rest is still true."""
    lines: list[Line] = []
    for crash in checked.diagnosis.crashed:
        text = f"{CRASHED.symbol} {CRASHED.said}: {crash.part}: {crash.detail}"
        lines += [line(part, CRASHED.style) for part in wrap(text, look.columns, hang=4)]
    if lines:
        says = say("The doctor failed there, not your machine; the rest went on. Please report it to the project.")
        lines = [line(), *lines, *block(says, look, 2)]
    return lines


def _notes(checked: Checked, look: Look, *, verbose: bool) -> list[Line]:
    """What is not known, once; with `-v` also what was silenced, and the times."""
    next_text = next_step(checked).text
    notes = unknowns_lines(checked, look, next_text=next_text)
    torch = checked.machine.torch
    if verbose or torch is None or torch.installed is not False:
        notes += undecided_lines(checked, look, next_text=next_text, verbose=verbose)
    if verbose:
        for row in checked.diagnosis.silenced:
            notes += block(say("Not shown: {rule}, pointless beside {other}.", rule=row.rule, other=row.by), look, 0)
        notes += timing_lines(checked, look)
    return [line(), *notes] if notes else []


def _end(checked: Checked, look: Look) -> list[Line]:
    """The next command and the summary. The command stays whole, so that it can be copied."""
    step = next_step(checked)
    last = line(last_line(checked.diagnosis), "bold")
    if not step.intro:
        return [line(step.text, OK.style), last]
    intro = [row for text in step.intro for row in block(text, look, 0)]
    return [*intro, line(" " * 4 + step.text, "bold cyan"), last]
