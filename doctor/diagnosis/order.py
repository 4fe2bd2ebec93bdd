"""Root cause first: what is silenced goes, what is explained stands behind its cause, the worst tree comes first.

Of two rules that judge the same things, one explains or silences the other for the same subject only, or where nobody
knows the subject. A finding explains nothing that is worse than itself: a rule may end in an error or in a note, and a
note is no cause of an error. What a silenced finding explains or silences, its silencer does: it was true, only better
said by another. The tests refuse rules that explain or silence each other in a circle; here, such findings are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from doctor.diagnosis.model import AREAS, SEVERITIES, Finding, Silenced


class Links(msgspec.Struct, frozen=True):
    """What one rule says about others. `each` is its `for_each`."""

    explains: tuple[str, ...] = ()
    silences: tuple[str, ...] = ()
    each: str | None = None


def in_order(
    findings: Sequence[Finding], links: Mapping[str, Links]
) -> tuple[tuple[Finding, ...], tuple[Silenced, ...]]:
    """The findings as the screen shows them, with `caused_by` set, and those that were dropped."""
    silencers = _silencers(findings, links)
    causes = _causes(findings, links, silencers)
    below: dict[int | None, list[int]] = {}
    for at, cause in causes.items():
        below.setdefault(cause, []).append(at)

    def worst(at: int) -> int:
        return min([_rank(findings[at]), *(worst(child) for child in below.get(at, ()))])

    def place(at: int) -> tuple[int, int, int, int, str, int]:
        one = findings[at]
        return (worst(at), _rank(one), -len(below.get(at, ())), AREAS.index(one.area), one.rule, at)

    def tree(cause: int | None) -> list[Finding]:
        rule = None if cause is None else findings[cause].rule
        ordered = []
        for at in sorted(below.get(cause, ()), key=place):
            ordered += [msgspec.structs.replace(findings[at], caused_by=rule), *tree(at)]
        return ordered

    dropped = {(findings[at].rule, findings[by].rule) for at, by in silencers.items()}
    return tuple(tree(None)), tuple(Silenced(rule=rule, by=by) for rule, by in sorted(dropped))


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _speaks_of(one: Finding, other: Finding, links: Mapping[str, Links]) -> bool:
    """May `one` say something about `other`? Not where both judge the same things, and different ones of them."""
    if one is other:
        return False
    if None in (one.subject, other.subject) or not _of_one_kind(links[one.rule].each, links[other.rule].each):
        return True
    return one.subject == other.subject


def _of_one_kind(one: str | None, other: str | None) -> bool:
    """Do two rules judge the same list, or two lists of one part of the derived facts (`derived.gpu_code.gpus` and
    `derived.gpu_code.failed`)? Those call the same things by the same names."""
    if one is None or other is None:
        return False
    return one == other or (one.startswith("derived.") and one.rpartition(".")[0] == other.rpartition(".")[0])


def _silencers(findings: Sequence[Finding], links: Mapping[str, Links]) -> dict[int, int]:
    """For each silenced finding the visible one at the end of the chain that silences it."""
    direct: dict[int, int] = {}
    for at, finding in enumerate(findings):
        for by, other in enumerate(findings):
            if finding.rule in links[other.rule].silences and _speaks_of(other, finding, links):
                direct.setdefault(at, by)
    ends: dict[int, int] = {}
    for at in direct:
        seen, now = {at}, direct[at]
        while now in direct and now not in seen:
            seen.add(now)
            now = direct[now]
        if now not in direct:
            ends[at] = now
    return ends


def _causes(
    findings: Sequence[Finding], links: Mapping[str, Links], silencers: Mapping[int, int]
) -> dict[int, int | None]:
    """For each visible finding the worst one that explains it, and is not itself explained by it."""
    causes: dict[int, int | None] = {}
    for at, finding in enumerate(findings):
        if at in silencers:
            continue
        explaining = {
            silencers.get(other, other)
            for other, one in enumerate(findings)
            if finding.rule in links[one.rule].explains and _speaks_of(one, finding, links)
        }
        free = [
            other
            for other in explaining
            if _rank(findings[other]) <= _rank(finding) and at not in _chain(other, causes)
        ]
        causes[at] = min(free, key=lambda other: (_rank(findings[other]), other), default=None)
    return causes


def _chain(at: int, causes: Mapping[int, int | None]) -> list[int]:
    """A finding, its cause, the cause of that …"""
    chain = [at]
    while (cause := causes.get(chain[-1])) is not None:
        chain.append(cause)
    return chain
