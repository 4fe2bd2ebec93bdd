"""What is not known, said once at the end of the screen: what would add it, and what rules miss it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.machine.model import UnknownFact
from doctor.present.ask import COMMAND, told_little, wanted_lines
from doctor.present.checked import Checked
from doctor.present.findings import block
from doctor.present.says import REASON_WORDS
from doctor.present.terminal import Line, Look, line
from doctor.present.text import listed, plural

#: Facts in words; the fields of such a fact are named by it.
_WORDS = {
    "cpu.governor": "the clock governor",
    "cpu.isa": "the instruction sets of the CPU",
    "cpu.l3_groups": "which cores share a cache",
    "env": "the tuning variables that are set",
    "exercises": "whether PyTorch computes right",
    "gpus.gfx": "the target of the GPU",
    "gpus": "which GPUs there are",
    "libraries": "the libraries that PyTorch loads",
    "limits.cgroup": "the limits of the container",
    "memory.modules": "speed and slots of the memory modules",
    "nodes": "the device nodes of the GPU",
    "rocm.hsa_runtime": "which HSA runtime is loaded",
    "torch.arch_list": "which GPUs this PyTorch has code for",
    "torch.devices": "which GPUs PyTorch sees",
    "torch.importable": "whether PyTorch can be imported",
    "torch.installed": "whether PyTorch is installed",
}

_SENTENCES = {
    "not-installed": "Not known because a program is not installed",
    "probe-failed": "Not known because reading failed",
    "timed-out": "Not known because it took too long",
}
_MOST_FACTS = 4


def named_fact(fact: str) -> str:
    """The fact that has words of its own and holds `fact`, else `fact`."""
    return next((name for name in _WORDS if fact == name or fact.startswith(f"{name}.")), fact)


def fact_words(fact: str, detail: str | None = None) -> str:
    """`the clock governor (cpu.governor)`; the dotted name alone where there are no words for it."""
    name = named_fact(fact)
    if name in _WORDS:
        return f"{_WORDS[name]} ({name}{f': {detail}' if detail else ''})"
    return f"{fact} ({detail})" if detail else fact


def unknowns_lines(checked: Checked, look: Look, *, next_text: str) -> list[Line]:
    """What root, or an installed program, would add, and what failed to be read.

    `next_text` is the next command of the screen: it is not printed twice.
    """
    rows = checked.machine.unknowns or ()
    lines: list[Line] = []
    root = [row for row in rows if row.reason == "needs-root"]
    if root:
        lines += block(f"Only root can read: {_named(root)}.", look, 0)
        if checked.with_root and checked.with_root != next_text:
            lines.append(line(" " * 4 + checked.with_root, "bold cyan"))
    for reason, sentence in _SENTENCES.items():
        some = [row for row in rows if row.reason == reason]
        if some:
            lines += block(f"{sentence}: {_named(some, details=True)}.", look, 0)
    return lines


def _named(rows: Sequence[UnknownFact], *, details: bool = False) -> str:
    return listed([fact_words(row.fact, row.detail if details else None) for row in rows], at_most=_MOST_FACTS)


def undecided_lines(checked: Checked, look: Look, *, next_text: str, verbose: bool) -> list[Line]:
    """How many rules could not be decided; of a given machine what would help most; with `-v` what each misses.

    `next_text` is the next command of the screen: it is not printed twice.
    """
    undecided = checked.diagnosis.undecided
    if not undecided:
        return []
    count = f"{plural(len(undecided), 'rule')} could not be decided"
    if not verbose:
        lines = block(f"{count}; -v says what each of them misses.", look, 0)
        return [*lines, *_what_would_help(checked, look, next_text)]
    lines = block(f"{count}. They miss:", look, 0)
    for rule in undecided:
        needs = [f"{need.fact} ({_why(need.reason, checked)})" for need in rule.needs]
        lines += block(f"{rule.rule}: {listed(needs) or 'a fact that is not known'}", look, 2)
    return [*lines, *_what_would_help(checked, look, next_text)]


def _what_would_help(checked: Checked, look: Look, next_text: str) -> list[Line]:
    """Of a machine that somebody gave: the facts to ask for, and the command that tells them."""
    wanted = wanted_lines(checked, look) if checked.given is not None else []
    if not wanted:
        return []
    lines = [*block("What would help most:", look, 0), *wanted]
    if told_little(checked) and next_text != COMMAND:
        lines += block("One command tells it; have it run on that machine, and the file pasted back:", look, 0)
        lines.append(line(" " * 4 + COMMAND, "bold cyan"))
    return lines


def _why(reason: str, checked: Checked) -> str:
    # The rules say so of every fact without a row; nothing was given where this machine itself was looked at.
    if reason == "not-in-source" and checked.given is None:
        return "not known"
    return REASON_WORDS.get(reason, reason)
