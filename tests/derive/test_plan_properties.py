"""Whatever a machine looks like: a plan, no text of the machine loose in a command, no address from nowhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.derive.plan_model import Plan
from doctor.derive.plan_verify import verify
from doctor.knowledge.gfx import gfx_table
from doctor.knowledge.location import rules_folder
from doctor.machine.model import Machine
from doctor.present.plan_json import plan_document
from doctor.present.plan_screen import plan_lines
from doctor.present.plan_verified import verification_lines
from doctor.present.terminal import Look, plain
from tests.machines.plans import CASES, every_command, machine_of, planned

#: Text that would do something if a shell read it.
EVIL = ("; touch /tmp/evil", "$(evil)", "`evil`", "| evil", '" & evil "', "' evil '", "\nevil", "--evil", "%evil%")
EVIL += ("\u202eevil",)
_ADDRESS = re.compile(r"https?://[^\s,;\"')]+")

evil = st.sampled_from(EVIL)
version = st.sampled_from(("3.8.10", "3.9.2", "3.12.3", "3.14.0", "3.15.0", "3.16.1", "2.7.18", "no version")) | evil
path = st.sampled_from(("/usr/bin/python3", "~/v/bin/python", "C:\\v\\python.exe", "~\\v\\python.exe", "python"))
path |= st.builds(lambda text, root: root + text, evil, st.sampled_from(("/opt/", "~/", "C:\\x ", "~\\")))
torch_version = st.sampled_from(
    ("2.9.1", "2.9.1+cpu", "2.6.0+rocm6.1", "2.12.0+rocm7.14.0", "2.6.0+cu124", "2.4.1", "2.1.0a0+git7ce932a")
) | st.builds(lambda text: "2.9.1" + text, evil)
gfx = st.sampled_from([row.gfx for row in gfx_table().rows] + ["gfx9999", "gfx90a:sramecc+:xnack-", "$(evil)"])
text = st.sampled_from(("a name",)) | evil


Values = st.SearchStrategy[Any]


def fields(known: dict[str, Values], **maybe: Values) -> Values:
    """A struct with some fields always there and others sometimes."""
    return st.fixed_dictionaries(known, optional=maybe)


def mostly(*values: Any) -> st.SearchStrategy[Any]:
    """One of the values that make sense; now and then one that does not."""
    return st.sampled_from((*values, *values, *values, *EVIL[:2]))


BOOLS = st.booleans()
NODE = fields(
    {"exists": BOOLS, "readable": BOOLS, "writable": BOOLS},
    group=mostly("render", "video") | evil,
    gid=st.integers(990, 994),
    mode=st.just("0660"),
    acl=st.just(False),
)
GPU = fields(
    {"vendor": mostly("amd", "amd", "amd", "nvidia", "intel"), "integrated": BOOLS, "kernel_driver": mostly("amdgpu")},
    name=text,
    gfx=gfx,
    pci_id=mostly("1002:744c", "1002:1638", "1002:67df", "10de:2786"),
    vram_total_bytes=st.integers(0, 2**36),
)
PACKAGES = st.dictionaries(
    mostly("torch", "torchvision", "torchaudio", "triton", "torch-directml", "pytorch-triton-rocm"),
    fields({"version": torch_version}, installer=mostly("pip", "uv", "conda", "distro")),
    max_size=5,
)
OS = fields(
    {"kind": mostly("linux", "linux", "windows", "macos"), "wsl": st.sampled_from((0, 0, 0, 1, 2))},
    name=text,
    kernel=mostly("6.14.0-37-generic", "6.18.4"),
    container=mostly("none", "none", "docker", "podman", "kubernetes", "lxc", "other"),
    group_ids=st.lists(st.integers(990, 994), max_size=2),
    groups_in_file=st.lists(text, max_size=2),
)
PYTHON = fields(
    {"version": version, "executable": path, "manager": mostly("pip", "uv", "conda", "poetry", "system")},
    machine=mostly("x86_64", "AMD64", "aarch64", "arm64"),
    implementation=mostly("cpython", "cpython", "pypy"),
    bits=st.sampled_from((64, 64, 32)),
    free_threaded=BOOLS,
    venv=BOOLS,
)
TORCH = fields(
    {"installed": BOOLS, "version": torch_version},
    hip=mostly("none", "6.4.43484", "0.0.0"),
    cuda=st.sampled_from(("none", "12.8")),
    build=mostly("cpu", "cuda", "rocm", "source", "xpu"),
    importable=BOOLS,
    import_error=text,
    is_available=BOOLS,
    arch_list=st.lists(gfx, max_size=3),
)
OVERRIDES = st.sampled_from(("HSA_OVERRIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION_1", "HSA_ENABLE_DXG_DETECTION"))
WHOLE = {
    "os": OS,
    "python": PYTHON,
    "packages": PACKAGES,
    "torch": TORCH,
    "gpus": st.lists(GPU, max_size=3),
    "nodes": st.dictionaries(st.sampled_from(("/dev/kfd", "/dev/dri/renderD128", "/dev/dxg")), NODE, max_size=3),
    "env": st.dictionaries(
        OVERRIDES | st.builds(lambda text: "HSA_OVERRIDE_GFX_VERSION" + text, evil),
        mostly("9.0.0", "10.3.0", "11.0.0", "1"),
        max_size=3,
    ),
    "intent": fields({"backend": mostly("auto", "auto", "rocm", "rocm", "cpu", "directml", "cuda")}),
    "cpu": fields({}, vendor=mostly("AuthenticAMD", "ARM"), name=text),
    "torch_directml": fields({"installed": BOOLS}, version=torch_version, requires_torch=torch_version),
    "windows": fields({}, build=st.integers(10000, 30000), adrenalin=mostly("26.1.1", "26.8.1")),
    "exercises": st.lists(
        fields({"name": text, "device": mostly("cpu", "cuda:0", "privateuseone:0"), "outcome": mostly("ok", "wrong")}),
        max_size=3,
    ),
}


def _leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every text in a plain value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, str):
        yield at
    for key, part in inner:
        yield from _leaves(part, (*at, key))


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """A machine that a plan was read for, with some of its texts replaced by evil ones, and some keys of maps too."""
    name = draw(st.sampled_from(sorted(CASES)))
    plain: dict[str, Any] = json.loads(json.dumps(msgspec.to_builtins(machine_of(name))))
    ways = [way for way in _leaves(plain) if way != ("schema",)]
    for way in draw(st.lists(st.sampled_from(ways), max_size=3, unique=True)):
        holder = plain
        for key in way[:-1]:
            holder = holder[key]
        holder[way[-1]] = draw(st.just(str(holder[way[-1]])) | st.just("")) + draw(evil)
    if "env" in plain and draw(st.booleans()):
        plain["env"]["HSA_OVERRIDE_GFX_VERSION" + draw(st.sampled_from(("", "_0")) | evil)] = "10.3.0"
    return plain


#: Machines of which everything is told, machines of which any part may be missing, and real ones that were spoilt.
MACHINES = st.fixed_dictionaries(WHOLE) | st.fixed_dictionaries({}, optional=WHOLE) | spoilt() | spoilt()

any_machine = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _texts(value: Any) -> list[str]:
    """Every text in a plain value."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []


def _known_addresses() -> set[str]:
    tables = (rules_folder() / "knowledge").glob("*.yaml")
    return {address.rstrip(".:") for table in tables for address in _ADDRESS.findall(table.read_text(encoding="utf-8"))}


def _commands_are_safe(made: Plan, executable: str | None) -> None:
    """The path of the Python is the only text of the machine that may look like anything, and it is one word."""
    for shell, line in every_command(made):
        assert line.isprintable() and "--extra-index-url" not in line, line
        if shell != "sh":
            # The two ways to write the home folder are no text of the machine.
            line = line.replace("$env:USERPROFILE", "home").replace("%USERPROFILE%", "home")
            quoted = line.split('"')[1::2]
            outside = "".join(line.split('"')[0::2])
            assert line.count('"') % 2 == 0 and "evil" not in outside, line
            assert all("evil" not in part or not set(part) & set("$%`&|<>^!;'") for part in quoted), line
            continue
        words = shlex.split(line)
        for word in words:
            of_python = executable is not None and word in (executable, executable.replace("~/", "~/", 1))
            assert "evil" not in word or of_python, line


@any_machine
@given(MACHINES)
def test_any_machine_gets_a_plan_whose_commands_are_safe(plain_machine: dict[str, Any]) -> None:
    machine, made, derived = planned(msgspec.convert(plain_machine, Machine))
    executable = machine.python.executable if machine.python else None
    _commands_are_safe(made, executable)
    assert all("evil" not in line for line in made.constraints)
    text = plain(plan_lines(machine, made, Look()), Look())
    assert text.splitlines()[-1].startswith("amd-doctor: plan ")
    verification = verify(machine, made, derived)
    assert plain(verification_lines(machine, made, verification, Look()), Look())
    msgspec.json.encode(plan_document(made, verification))


@any_machine
@given(MACHINES)
def test_every_address_of_any_plan_is_in_a_table(plain_machine: dict[str, Any]) -> None:
    _, made, _ = planned(msgspec.convert(plain_machine, Machine))
    known = _known_addresses()
    found = [address.rstrip(".:") for text in _texts(plan_document(made)) for address in _ADDRESS.findall(text)]
    assert [address for address in found if address not in known] == []


@any_machine
@given(MACHINES)
def test_nothing_is_removed_before_the_way_back_is_made(plain_machine: dict[str, Any]) -> None:
    _, made, _ = planned(msgspec.convert(plain_machine, Machine))
    kinds = [step.kind for step in made.steps]
    if "remove" in kinds:
        assert "save" in kinds[: kinds.index("remove")] and made.way_back is not None
    if made.action in ("install", "replace", "environment"):
        assert "install" in kinds and made.way_back is not None


@any_machine
@given(MACHINES)
def test_no_override_where_none_is_known_to_help(plain_machine: dict[str, Any]) -> None:
    machine, made, derived = planned(msgspec.convert(plain_machine, Machine))
    if not any("export HSA_OVERRIDE" in line for _, line in every_command(made)):
        return
    gpu = derived.gpu.main if derived.gpu else None
    assert machine.os is not None and machine.os.kind == "linux" and made.asked == "rocm"
    assert gpu is not None and gpu.gfx not in ("gfx1103", "gfx1033")
    row = next(row for row in gfx_table().rows if row.gfx == gpu.gfx)
    assert row.override is not None and row.override.verdict == "works" and row.torch is None and row.amd_extra is None
