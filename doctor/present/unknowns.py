"""What is not known, said once at the end of the screen: what would add it, and what rules miss it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.machine.model import UnknownFact
from doctor.present.ask import COMMAND, told_little, wanted_lines
from doctor.present.checked import Checked
from doctor.present.findings import block
from doctor.present.language import counted, phrase, say, told
from doctor.present.says import REASON_WORDS
from doctor.present.terminal import Line, Look, line
from doctor.present.text import listed

#: Facts in words; the fields of such a fact are named by it.
_WORDS = {
    "cpu.governor": phrase("the clock governor"),
    "cpu.isa": phrase("the instruction sets of the CPU"),
    "cpu.l3_groups": phrase("which cores share a cache"),
    "env": phrase("the tuning variables that are set"),
    "exercises": phrase("whether PyTorch computes right"),
    "gpus.gfx": phrase("the target of the GPU"),
    "gpus": phrase("which GPUs there are"),
    "libraries": phrase("the libraries that PyTorch loads"),
    "limits.cgroup": phrase("the limits of the container"),
    "memory.modules": phrase("speed and slots of the memory modules"),
    "nodes": phrase("the device nodes of the GPU"),
    "rocm.hsa_runtime": phrase("which HSA runtime is loaded"),
    "torch.arch_list": phrase("which GPUs this PyTorch has code for"),
    "torch.devices": phrase("which GPUs PyTorch sees"),
    "torch.importable": phrase("whether PyTorch can be imported"),
    "torch.installed": phrase("whether PyTorch is installed"),
}

_SENTENCES = {
    "not-installed": phrase("Not known because a program is not installed: {facts}."),
    "probe-failed": phrase("Not known because reading failed: {facts}."),
    "timed-out": phrase("Not known because it took too long: {facts}."),
}
_MOST_FACTS = 4


def named_fact(fact: str) -> str:
    """The fact that has words of its own and holds `fact`, else `fact`."""
    return next((name for name in _WORDS if fact == name or fact.startswith(f"{name}.")), fact)


def fact_words(fact: str, detail: str | None = None) -> str:
    """`the clock governor (cpu.governor)`; the dotted name alone where there are no words for it."""
    name = named_fact(fact)
    if name in _WORDS:
        about = say("{what}: {reason}", what=name, reason=told(detail)) if detail else name
        return say("{what} ({fact})", what=say(_WORDS[name]), fact=about)
    return say("{what} ({fact})", what=fact, fact=told(detail)) if detail else fact


def unknowns_lines(checked: Checked, look: Look, *, next_text: str) -> list[Line]:
    """What root, or an installed program, would add, and what failed to be read.

    `next_text` is the next command of the screen: it is not printed twice.
    """
    rows = checked.machine.unknowns or ()
    lines: list[Line] = []
    root = [row for row in rows if row.reason == "needs-root"]
    if root:
        lines += block(say("Only root can read: {facts}.", facts=_named(root)), look, 0)
        if checked.with_root and checked.with_root != next_text:
            lines.append(line(" " * 4 + checked.with_root, "bold cyan"))
    for reason, sentence in _SENTENCES.items():
        some = [row for row in rows if row.reason == reason]
        if some:
            lines += block(say(sentence, facts=_named(some, details=True)), look, 0)
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
    if not verbose:
        one = "{count} rule could not be decided; -v says what each of them misses."
        text = counted(one, "{count} rules could not be decided; -v says what each of them misses.", len(undecided))
        return [*block(text, look, 0), *_what_would_help(checked, look, next_text)]
    one = "{count} rule could not be decided. They miss:"
    text = counted(one, "{count} rules could not be decided. They miss:", len(undecided))
    lines = block(text, look, 0)
    for rule in undecided:
        needs = [say("{what} ({reason})", what=need.fact, reason=_why(need.reason, checked)) for need in rule.needs]
        missing = listed(needs) or say("a fact that is not known")
        lines += block(say("{what}: {reason}", what=rule.rule, reason=missing), look, 2)
    return [*lines, *_what_would_help(checked, look, next_text)]


def _what_would_help(checked: Checked, look: Look, next_text: str) -> list[Line]:
    """Of a machine that somebody gave: the facts to ask for, and the command that tells them."""
    wanted = wanted_lines(checked, look) if checked.given is not None else []
    if not wanted:
        return []
    lines = [*block(say("What would help most:"), look, 0), *wanted]
    if told_little(checked) and next_text != COMMAND:
        text = say("One command tells it; have it run on that machine, and the file pasted back:")
        lines += block(text, look, 0)
        lines.append(line(" " * 4 + COMMAND, "bold cyan"))
    return lines


def _why(reason: str, checked: Checked) -> str:
    # The rules say so of every fact without a row; nothing was given where this machine itself was looked at.
    if reason == "not-in-source" and checked.given is None:
        return say("not known")
    return say(REASON_WORDS.get(reason, reason))
