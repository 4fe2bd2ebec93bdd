"""The install plan: which PyTorch belongs on this machine, and every step to it.

A pure function of the machine document and its derived facts. It changes nothing and asks nobody. What no table knows
it does not invent: it names the official page instead, and what it would have to know to say more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.derive.backend import rocm_build
from doctor.derive.facts import Derived
from doctor.derive.gpus import gpu_facts
from doctor.derive.plan_backend import backend_choices
from doctor.derive.plan_commands import pin, tools_here
from doctor.derive.plan_model import (
    Choice,
    LookUp,
    OpenFact,
    OtherWay,
    Plan,
    PythonChoice,
    Refusal,
    TableRow,
)
from doctor.derive.plan_python import platform_machine, python_choice, tag_of, torch_tags
from doctor.derive.plan_steps import belongs_to_system, has_directml, pins_of_present, steps_for
from doctor.derive.plan_tables import python_row
from doctor.derive.wheels import from_an_index
from doctor.knowledge.directml import last_directml_release
from doctor.knowledge.official_pages import official_page
from doctor.machine.model import Intent, Machine


def plan(machine: Machine, intent: Intent | None, derived: Derived) -> Plan:
    """The plan for a completed document. What `intent` asks for is planned, or refused with the reason."""
    machine = msgspec.structs.replace(machine, intent=intent)
    asked = intent.backend if intent is not None and intent.backend != "auto" else None
    choices, refusals = backend_choices(machine, derived)
    choice = _chosen(choices, asked)
    if choice is None:
        return _without_choice(choices, refusals, asked, open_facts(machine, derived))
    python = python_choice(machine, choice)
    action = _action(machine, choice, python, derived)
    done = steps_for(machine, derived, choice, python, action)
    return Plan(
        backend=choice.backend,
        option=choice.option,
        title=choice.title,
        action=action,
        reason=_reason(choice, choices, refusals, asked),
        asked=asked,
        gives_up=choice.gives_up,
        notes=(*choice.notes, *_notes_on_present(machine, action)),
        python=python if choice.option != "cuda" else None,
        steps=done.steps,
        way_back=done.way_back,
        constraints=_constraints(machine, choice, action),
        other_ways=_other_ways(choices, choice),
        refusals=refusals,
        look_up=(*choice.look_up, *done.look_up),
        unknowns=open_facts(machine, derived),
        sources=(*choice.sources, *_python_rows(machine, choice, python)),
    )


def choice_for(machine: Machine, made: Plan, derived: Derived) -> Choice | None:
    """The choice behind a plan; None where the plan has none."""
    choices, _ = backend_choices(machine, derived)
    return next((choice for choice in choices if choice.backend == made.backend), None)


def _chosen(choices: Sequence[Choice], asked: str | None) -> Choice | None:
    """What was asked for; else the first that nothing speaks against."""
    if asked is not None:
        return next((choice for choice in choices if choice.option == asked), None)
    return next((choice for choice in choices if choice.why_not is None), None)


def _reason(choice: Choice, choices: Sequence[Choice], refusals: Sequence[Refusal], asked: str | None) -> str:
    """Where the CPU, or DirectML, is taken beside an AMD GPU, what keeps ROCm away comes first."""
    if choice.option not in ("cpu", "directml") or not choice.gives_up:
        return choice.reason
    if asked is not None:
        return "It was asked for." if choice.option == "cpu" else choice.reason
    rocm = [each.reason for each in refusals if each.option == "rocm"]
    rocm += [f"ROCm would be another way, but {each.why_not}." for each in choices if each.option == "rocm"]
    if not rocm:
        return choice.reason
    return rocm[0] if choice.option == "cpu" else f"{rocm[0]} DirectX 12 reaches it."


def _python_rows(machine: Machine, choice: Choice, python: PythonChoice) -> tuple[TableRow, ...]:
    """The row of the table that proves the Python of a plain build; the other tables tell it themselves."""
    version = python.take if python.fits is False else python.present
    tags = torch_tags(machine) if choice.option == "cpu" else {}
    tag = tag_of(version) if version is not None else ""
    kind = machine.os.kind if machine.os else None
    return (python_row(f"{kind} {platform_machine(machine) or ''}".strip(), tag, tags[tag]),) if tag in tags else ()


def _without_choice(
    choices: Sequence[Choice], refusals: Sequence[Refusal], asked: str | None, unknowns: tuple[OpenFact, ...]
) -> Plan:
    """Nothing is planned: what was asked for cannot work here, or nothing is known to."""
    page = LookUp("Which build of PyTorch to take", official_page("pytorch").address)
    unknown = "No table knows a build for this machine."
    reason = next((each.reason for each in refusals if each.option == asked), unknown)
    return Plan(
        backend="none",
        option=asked or "none",
        title=f"{asked} cannot work here" if asked else "none that the tables know",
        action="refused" if asked else "look-up",
        reason=reason,
        asked=asked,
        other_ways=_other_ways(choices, None),
        refusals=tuple(refusals),
        look_up=() if _chosen(choices, None) else (page,),
        unknowns=unknowns,
    )


def _other_ways(choices: Sequence[Choice], chosen: Choice | None) -> tuple[OtherWay, ...]:
    """What else would work. What the plan would take by itself has nothing against it."""
    default = _chosen(choices, None)
    ways = []
    for each in choices:
        price = f"it gives up {each.gives_up[0]}" if each.gives_up and each is not default else None
        against = each.why_not or price
        if each is not chosen:
            ways.append(OtherWay(each.option, each.title, against, is_default=each is default))
    return tuple(ways)


# What is there already


def _action(machine: Machine, choice: Choice, python: PythonChoice, derived: Derived) -> str:
    """keep, install, replace, environment or look-up, see `Plan.action`."""
    installed = machine.torch.installed if machine.torch else None
    if installed and suits(machine, choice, derived) is not False:
        return "keep"
    if not choice.installs or (python.fits is False and python.take is None):
        return "look-up"
    apart = installed is None or python.fits is False or belongs_to_system(machine) or not from_an_index(machine)
    if apart or (choice.option != "directml" and has_directml(machine)):
        return "environment"
    return "replace" if installed else "install"


def suits(machine: Machine, choice: Choice, derived: Derived) -> bool | None:
    """Does the installed torch compute on what was chosen? None where that is not known."""
    torch = machine.torch
    if torch is None or not torch.installed or torch.importable is False:
        return None if torch is None else False
    if choice.option == "directml":
        facts = derived.directml
        if facts is None or not facts.installed:
            return False
        return None if facts.mismatched is None else not facts.mismatched
    if choice.option != "rocm":
        return True
    built = rocm_build(machine)
    if not built or choice.backend == "rocm-wsl":
        return False if built is False or torch.is_available is False else built
    if derived.overwritten is not None and derived.overwritten.foreign_partners:
        return False
    gpu = gpu_facts(machine).main
    runs = gpu.runs if gpu is not None else None
    if choice.override is not None and gpu is not None:
        # Setting it is a step; whether this wheel has the code that it names is the question here.
        return True if runs == "override" else None if gpu.helpful_override is None else gpu.helpful_override != "none"
    in_wheel = gpu.in_wheel if gpu is not None else None
    return in_wheel if in_wheel is not None else False if runs == "no" else None


def _notes_on_present(machine: Machine, action: str) -> tuple[str, ...]:
    notes = []
    if action in ("install", "replace") and machine.os is not None and not tools_here(machine).named:
        notes.append("Activate the environment that you mean first: the commands take the Python of that.")
    if machine.python is not None and machine.python.manager == "poetry" and action in ("install", "replace"):
        notes.append("Poetry does not learn of what pip installs: its next install may put the old torch back.")
    if action == "keep" and any(row.outcome not in (None, "ok", "skipped") for row in machine.exercises or ()):
        notes.append("But not every exercise came out right: amd-doctor check says why.")
    return tuple(notes)


def _constraints(machine: Machine, choice: Choice, action: str) -> tuple[str, ...]:
    """What keeps the present torch from being replaced; of a torch that is still to come only what a table tells."""
    if action == "keep":
        return pins_of_present(machine)
    if choice.option != "directml":
        return ()
    last = last_directml_release()
    pins = (pin("torch", last.torch), pin("torchvision", last.torchvision), pin("torch-directml", last.version))
    return tuple(each for each in pins if each is not None)


# What is not known


def open_facts(machine: Machine, derived: Derived) -> tuple[OpenFact, ...]:
    """The unknown facts that would change the plan."""
    system, python = machine.os, machine.python
    found = []
    if system is None or system.kind is None:
        found.append(OpenFact("os.kind", "every command depends on it", "Is it Windows, Linux or macOS?"))
    if machine.gpus is None:
        found.append(OpenFact("gpus", "with an AMD GPU the plan may be another one", _ask_for_gpu(machine)))
    elif any(gpu.vendor == "amd" and gpu.gfx is None for gpu in machine.gpus):
        found.append(OpenFact("gpus.gfx", "the wheel depends on it", _ask_for_gfx(machine)))
    elif len(machine.gpus) > 1 and gpu_facts(machine).main is None and gpu_facts(machine).usable_gpus != 0:
        found.append(OpenFact("gpus.integrated", "it decides which of them computes", _ask_for_gpu(machine)))
    if found and derived.gpu_reach is not None and derived.gpu_reach.container_without_nodes:
        flags = "If the host has an AMD GPU, start the container with --device /dev/kfd --device /dev/dri."
        found.append(OpenFact("nodes", "this container was given no GPU", flags))
    if python is None or python.version is None:
        found.append(OpenFact("python.version", "there may be no wheel for it", "python --version tells."))
    if machine.torch is None or machine.torch.installed is None:
        found.append(OpenFact("torch", "what is there may do as it is", "python -m pip show torch tells."))
    return tuple(found)


def _ask_for_gpu(machine: Machine) -> str:
    system = machine.os
    if system is not None and system.wsl:
        return "Look in Windows: the Task Manager names it under Performance."
    if system is not None and system.kind == "windows":
        return "The Task Manager names it under Performance."
    return "lspci -nn tells, in the lines with VGA, Display or 3D."


def _ask_for_gfx(machine: Machine) -> str:
    if machine.os is not None and machine.os.kind == "windows":
        return "Its exact name tells: see the list at " + official_page("amd-pytorch").address
    return "rocminfo tells, or gfx_target_version in /sys/class/kfd/kfd/topology/nodes/*/properties."
