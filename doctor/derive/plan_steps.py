"""The steps of a plan in their order, with their commands, and the way back from them."""

from __future__ import annotations

import re

import msgspec

from doctor.derive.facts import Derived
from doctor.derive.gfx_support import OVERRIDE
from doctor.derive.gpu_reach import GpuReachFacts
from doctor.derive.plan_commands import (
    ENVIRONMENT,
    SAVED_VERSIONS,
    Tools,
    joined,
    own_command,
    pin,
    same,
    tools_here,
    tools_of_new,
)
from doctor.derive.plan_model import Choice, Install, LookUp, PythonChoice, Step, WayBack
from doctor.knowledge.official_pages import official_page
from doctor.knowledge.rocm_wheels import index_of_rocm, rocm_wheels
from doctor.machine.model import Machine

#: What belongs to one build of torch, and goes when it goes.
_FAMILY = ("torch", "torchvision", "torchaudio", "torch-directml", "triton", "pytorch-triton-rocm", "triton-rocm")
#: What of it a way back names; the rest comes along.
_NAMED = _FAMILY[:4]

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OVERRIDE_NAME = re.compile(rf"{OVERRIDE}(_\d{{1,3}})?")
_GROUP = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_LOCAL_ROCM = re.compile(r"rocm(\d{1,2}(?:\.\d{1,2}){1,2})")

_RUNS = {"docker": "docker run -it", "podman": "podman run -it"}


class Steps(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...]
    way_back: WayBack | None = None
    look_up: tuple[LookUp, ...] = ()


def steps_for(machine: Machine, derived: Derived, choice: Choice, python: PythonChoice, action: str) -> Steps:
    """Everything to do for a choice, in order."""
    before = _before(machine, derived, choice)
    options = f"--backend {choice.option} " if _is_asked(machine, choice) else ""
    if action == "keep":
        after = _after(machine, derived, choice, tools_here(machine), options)
        return Steps((*before, *_variables(machine, choice), *after))
    if action == "look-up":
        return _looked_up(machine, derived, choice, before, options)
    made = _in_new_environment(machine, python) if action == "environment" else _in_present(machine, choice, action)
    installs = [made.tools.install(each) for each in choice.installs]
    install = Step("install", _install_text(choice), joined(installs))
    after = _after(machine, derived, choice, made.tools, options)
    steps = (*before, *made.steps, install, *_variables(machine, choice), *after)
    return Steps(steps, made.way_back, made.look_up)


def _looked_up(
    machine: Machine, derived: Derived, choice: Choice, before: tuple[Step, ...], options: str
) -> Steps:
    """No table proves what to install, so a page has the word; the way back is made before it."""
    tools, page = tools_here(machine), choice.look_up[0]
    step = Step("look-up", f"Open this page, and do what it says. {page.what}: {page.page}")
    after = (*_variables(machine, choice), *_after(machine, derived, choice, tools, options))
    if machine.torch is None or not machine.torch.installed:
        return Steps((*before, step, *after))
    family = installed_family(machine) or ("torch",)
    way_back, look_up = _restore(machine, tools, family)
    return Steps((*before, _save(tools), step, *after), way_back, look_up)


def _save(tools: Tools) -> Step:
    return Step("save", f"Save the present versions: {SAVED_VERSIONS} is the way back.", tools.freeze())


def installed_family(machine: Machine) -> tuple[str, ...]:
    """What belongs to torch, as far as it is installed."""
    return tuple(name for name in _FAMILY if name in (machine.packages or {}))


def pins_of_present(machine: Machine) -> tuple[str, ...]:
    """`torch==2.9.1+rocm6.4`, and the same for what belongs to it."""
    packages = machine.packages or {}
    found = [pin(name, packages[name].version) for name in installed_family(machine)]
    return tuple(each for each in found if each is not None)


class _Place(msgspec.Struct, frozen=True):
    """Where to install, and what comes before it."""

    tools: Tools
    steps: tuple[Step, ...]
    way_back: WayBack | None = None
    look_up: tuple[LookUp, ...] = ()


def _in_new_environment(machine: Machine, python: PythonChoice) -> _Place:
    tools, made = tools_of_new(machine, python)
    conda = machine.python is not None and machine.python.manager == "conda"
    text = f"Make a new environment, {ENVIRONMENT}"
    text += f", with Python {python.take}." if python.take else _why(machine)
    if python.take and python.get_it is not None:
        text += f" {python.get_it.what}: {python.get_it.page}"
    back = "delete the folder" if not conda else "remove the environment"
    way_back = WayBack(
        f"What is installed now stays as it is. To go back, {back} {ENVIRONMENT}.",
        same(machine, f"conda env remove -n {ENVIRONMENT}") if conda else {},
    )
    return _Place(tools, (Step("environment", text, made),), way_back)


def _why(machine: Machine) -> str:
    """Why not in the environment that is there, although its Python would do."""
    if machine.torch is None or machine.torch.installed is None:
        return ": whether a torch is there is not known, and none is replaced unseen."
    if has_directml(machine):
        return ": the torch-directml that is there is left alone."
    if belongs_to_system(machine):
        return ": this is the Python of the system, and pip must leave that alone."
    return ": the torch that is there did not come from an index of wheels, and is left alone."


def has_directml(machine: Machine) -> bool:
    return machine.torch_directml is not None and bool(machine.torch_directml.installed)


def belongs_to_system(machine: Machine) -> bool:
    """True for a Python that a Linux distribution keeps for itself."""
    python, system = machine.python, machine.os
    on_linux = system is not None and system.kind == "linux"
    return on_linux and python is not None and python.manager == "system" and not python.venv


def _in_present(machine: Machine, choice: Choice, action: str) -> _Place:
    tools = tools_here(machine)
    if action == "install":
        names = [_NAME.match(each) for install in choice.installs for each in install.requirements]
        brought = ("torch", "torchvision") if choice.option == "directml" else ()
        found = dict.fromkeys((*(name[0] for name in names if name is not None), *brought))
        text = "No torch is replaced. To go back, uninstall the new one."
        return _Place(tools, (), WayBack(text, tools.pip("uninstall", " ".join(found))))
    family = installed_family(machine) or ("torch",)
    remove = Step("remove", "Remove this torch and what belongs to it.", tools.pip("uninstall", " ".join(family)))
    way_back, look_up = _restore(machine, tools, family)
    return _Place(tools, (_save(tools), remove), way_back, look_up)


def _restore(machine: Machine, tools: Tools, family: tuple[str, ...]) -> tuple[WayBack, tuple[LookUp, ...]]:
    """The versions that are there now, put back from where they came, where a table proves that."""
    packages = machine.packages or {}
    pins = tuple(
        each for name in _NAMED if name in packages and (each := pin(name, packages[name].version)) is not None
    )
    if not pins:
        text = f"{SAVED_VERSIONS} lists what was there; this puts it back where it came from PyPI."
        return WayBack(text, tools.pip("install", f"-r {SAVED_VERSIONS}")), ()
    proven, index_url = _index_of_present(machine)
    if not proven:
        page = LookUp(f"Where {pins[0]} comes from", official_page("pytorch-previous").address)
        text = f"{SAVED_VERSIONS} lists what was there ({pins[0]}); its index is not in the tables: {page.page}"
        return WayBack(text), (page,)
    lines = joined((tools.pip("uninstall", " ".join(family)), tools.install(Install(pins, index_url))))
    return WayBack(f"To put back what is there now ({SAVED_VERSIONS} lists the rest):", lines), ()


def _index_of_present(machine: Machine) -> tuple[bool, str | None]:
    """Is it proven where the present torch came from, and the index, None for PyPI."""
    torch = (machine.packages or {}).get("torch")
    local = ((torch.version if torch else None) or "").partition("+")[2]
    build = machine.torch.build if machine.torch else None
    if not local:
        return build in (None, "cpu", "cuda"), None
    if local == "cpu":
        return True, rocm_wheels().plain.cpu
    found = _LOCAL_ROCM.fullmatch(local)
    index_url = index_of_rocm(found[1]) if found else None
    return index_url is not None, index_url


def _install_text(choice: Choice) -> str:
    if choice.backend == "directml":
        return "Install torch-directml. It brings the torch that it needs."
    if choice.option == "rocm":
        return "Install PyTorch from that index alone: beside a second one, pip may take the wrong build."
    return "Install PyTorch."


# Before and after


def _before(machine: Machine, derived: Derived, choice: Choice) -> tuple[Step, ...]:
    """A container that was not given the GPU is started again first."""
    if choice.option != "rocm" or derived.gpu_reach is None or not derived.gpu_reach.container_without_nodes:
        return ()
    container = machine.os.container if machine.os else None
    page = official_page("rocm-docker").address
    if container not in _RUNS:
        text = f"This container was not given the GPU: /dev/kfd and /dev/dri must be let in from outside. {page}"
        return (Step("container", text),)
    groups = '--group-add "$(stat -c %g /dev/kfd)" --group-add "$(stat -c %g /dev/dri/renderD128)"'
    if container == "podman":
        groups = "--group-add keep-groups"
    command = f"{_RUNS[container]} --device /dev/kfd --device /dev/dri {groups} --ipc host IMAGE"
    text = (
        "This container was not given the GPU. Leave it, and on the host start it again with these flags; IMAGE is "
        f"the name of yours. The further steps are for the new container. {page}"
    )
    return (Step("container", text, {"sh": (command,)}),)


def _variables(machine: Machine, choice: Choice) -> tuple[Step, ...]:
    """HSA_OVERRIDE_GFX_VERSION, which exists on Linux only: set where a choice needs it, taken back where it harms."""
    linux = machine.os is not None and machine.os.kind == "linux"
    env = machine.env or {}
    if choice.enable_dxg and env.get("HSA_ENABLE_DXG_DETECTION") != "1":
        return (_export(machine, "HSA_ENABLE_DXG_DETECTION", "1", "Let ROCm look for the GPU of Windows."),)
    if choice.override is not None and env.get(OVERRIDE) != choice.override:
        text = "Let ROCm take the GPU for another one. AMD does not support this: save your work before you try it."
        return (_export(machine, OVERRIDE, choice.override, text),)
    names = [name for name in sorted(env) if _OVERRIDE_NAME.fullmatch(name)]
    if not choice.native or not linux or not names:
        return ()
    text = (
        "Take the override back, and delete the line that sets it: the wheel has this GPU's own code, and an override "
        "can make it crash or hang."
    )
    return (Step("variable", text, same(machine, *(f"unset {name}" for name in names))),)


def _export(machine: Machine, name: str, value: str, text: str) -> Step:
    return Step("variable", f"{text} Put it into ~/.profile to keep it.", same(machine, f"export {name}={value}"))


def _after(machine: Machine, derived: Derived, choice: Choice, tools: Tools, options: str) -> tuple[Step, ...]:
    steps = _group(machine, derived.gpu_reach) if choice.option == "rocm" else ()
    if choice.option == "cuda":
        return steps
    verify = Step("verify", "See whether it computes right.", own_command(machine, f"{options}--verify", tools))
    keep = Step(
        "constraints",
        "Keep it: write a constraints file, and add -c constraints.txt to every later pip install. Without that, "
        "another package may replace this torch.",
        own_command(machine, f"{options}--constraints constraints.txt", tools),
    )
    return (*steps, verify, keep)


def _group(machine: Machine, reach: GpuReachFacts | None) -> tuple[Step, ...]:
    if reach is None or (machine.os is not None and machine.os.wsl):
        return ()
    if reach.log_in_again:
        return (Step("group", "Log out and in again: this session is older than your membership in the GPU's group."),)
    if reach.join_group is None or not _GROUP.fullmatch(reach.join_group):
        return ()
    text = "Let your user open the GPU, then log out and in again."
    return (Step("group", text, same(machine, f'sudo usermod -aG {reach.join_group} "$USER"')),)


def _is_asked(machine: Machine, choice: Choice) -> bool:
    return machine.intent is not None and machine.intent.backend == choice.option
