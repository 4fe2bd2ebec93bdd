"""What to ask the author of a pasted text for: the facts that would decide most, and the command that tells them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doctor.present.checked import Checked
from doctor.present.language import counted, phrase, say
from doctor.present.terminal import Line, Look, line
from doctor.present.text import wrap

#: Tells every fact at once, on any system, and leaves out what is personal.
COMMAND = "amd-doctor check --json > check.json"

#: How many facts are asked for.
MOST = 3

#: What a fact is called, by the beginning of its name; the longest beginning counts. An area of its own in the
#: document is one thing to ask for: who looks for one of its fields sees the others.
_WORDS: Mapping[str, str] = {
    "cpu": phrase("which processor it is, and its instruction sets"),
    "cpu.governor": phrase("how the clock is governed"),
    "cpu.l3_groups": phrase("which cores share a cache"),
    "env": phrase("the tuning variables that are set (env)"),
    "exercises": phrase("whether PyTorch computes right, on the CPU and on the GPU"),
    "gpus": phrase("which GPUs there are, with driver and target (gfx…)"),
    "libraries": phrase("the OpenMP and BLAS libraries that PyTorch loads"),
    "limits": phrase("how many CPUs and how much memory the process may use (affinity, cgroup)"),
    "memory": phrase("the memory modules, their slots and speed"),
    "nodes": phrase("who may open /dev/kfd and /dev/dri"),
    "os": phrase("which system it is, and whether it is a container or WSL"),
    "packages": phrase("the Python packages that are installed (pip list)"),
    "power": phrase("the power plan, and whether it runs on battery"),
    "python": phrase("which Python runs PyTorch"),
    "rocm": phrase("which ROCm is installed, and which libraries of it are loaded"),
    "torch": phrase("version and build of PyTorch, and what it says of itself"),
    "torch.arch_list": phrase("the GPU targets that PyTorch was built for (torch.cuda.get_arch_list())"),
    "torch.num_threads": phrase("how many threads PyTorch starts"),
    "torch_directml": phrase("whether torch-directml is installed, and its devices"),
    "windows": phrase("settings of Windows: runtime libraries, scheduling, driver"),
}
_WEIGHTS: Mapping[str, int] = {"error": 8, "warning": 4, "info": 2, "hint": 1}

_IT_IS_SAFE = phrase(
    "It changes nothing and sends nothing. Names, serial numbers and addresses are left out of what it writes."
)

#: What no program can tell: the author must be asked.
_INTENT = "intent"
_QUESTION = phrase("what is PyTorch meant to compute on there: the CPU, or a GPU through ROCm or DirectML?")


class Wanted(msgspec.Struct, frozen=True):
    """One thing to ask for: how many undecided rules wait for it, and how many of those speak of errors."""

    fact: str
    words: str
    rules: int
    errors: int
    weight: int


def wanted(checked: Checked, most: int = MOST) -> tuple[Wanted, ...]:
    """What the undecided rules wait for, the most useful first: a rule counts by the worst that it may say."""
    waiting: dict[str, set[str]] = {}
    for undecided in checked.diagnosis.undecided:
        for need in undecided.needs:
            group = _group(need.fact)
            if group is not None:
                waiting.setdefault(group, set()).add(undecided.rule)
    found = [_wanted(fact, rules, checked.severities) for fact, rules in waiting.items()]
    return tuple(sorted(found, key=lambda one: (-one.weight, -one.rules, one.fact))[:most])


def _wanted(fact: str, rules: set[str], severities: Mapping[str, str]) -> Wanted:
    worst = [severities.get(rule, "info") for rule in rules]
    return Wanted(
        fact=fact,
        words=say(_WORDS[fact]),
        rules=len(rules),
        errors=worst.count("error"),
        weight=sum(_WEIGHTS.get(word, 1) for word in worst),
    )


def _group(fact: str) -> str | None:
    """The thing to ask for that holds a fact; None for what no machine tells."""
    fitting = [name for name in _WORDS if fact == name or fact.startswith(f"{name}.")]
    return max(fitting, key=len, default=None)


def told_little(checked: Checked) -> bool:
    """True for a text or document that the doctor did not make by looking at the machine itself."""
    kinds = {row.kind for row in checked.machine.sources or ()}
    return checked.given is not None and not kinds & {"live", "recording"}


def asks_for_intent(checked: Checked) -> bool:
    """Does a rule wait for what the user wants?"""
    needs = (need.fact for undecided in checked.diagnosis.undecided for need in undecided.needs)
    return any(fact.partition(".")[0] == _INTENT for fact in needs)


def wanted_lines(checked: Checked, look: Look) -> list[Line]:
    """`1. the tuning variables that are set (env): 11 rules wait for it, 4 of them about errors`."""
    lines: list[Line] = []
    for number, one in enumerate(wanted(checked), start=1):
        waiting = counted("{count} rule", "{count} rules", one.rules)
        if one.errors:
            waiting = say("{rules}, {count} of them about errors", rules=waiting, count=one.errors)
        text = say("{what}: {reason}", what=one.words, reason=waiting)
        lines += [line("  " + part) for part in wrap(f"{number}. {text}", look.columns - 2, hang=3)]
    return lines


def message(checked: Checked) -> list[Line]:
    """A polite message for the ticket, in Markdown; it holds no text of the machine."""
    asked = wanted(checked)
    if not asked:
        return [line(say("Thank you for the report. It holds everything that is needed; nothing has to be added."))]
    texts = [
        say(
            "Thank you for the report. What it holds was read; to say more, this is missing, because such a text "
            "cannot hold it or was cut:"
        ),
        "",
        *(f"- {one.words}" for one in asked),
        "",
        say(
            "Could you please run this on that machine, in the environment in which you run PyTorch, and paste the "
            "content of the file here, or attach it?"
        ),
        "",
        "```",
        COMMAND,
        "```",
        "",
        say(_IT_IS_SAFE),
    ]
    if asks_for_intent(checked):
        texts += ["", say("And one question that no program can answer: {question}", question=say(_QUESTION))]
    return [line(text) for text in texts]
