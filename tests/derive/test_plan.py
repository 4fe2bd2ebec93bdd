"""Which plan a machine gets, and why: what the golden machines of `tests/machines/plans` do not show."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.plan_model import Plan
from doctor.knowledge.gfx import gfx_table
from doctor.machine.model import Intent, Machine
from tests.machines.plans import every_command, machine_of, planned

LINUX = {"kind": "linux", "wsl": 0, "container": "none", "kernel": "6.18.9"}
WINDOWS = {"kind": "windows", "wsl": 0}
PYTHON = {"version": "3.12.3", "machine": "x86_64", "venv": True, "manager": "pip", "executable": "~/v/bin/python"}
AMD64 = {**PYTHON, "machine": "AMD64", "executable": "C:\\v\\python.exe"}


def _plan(**plain: Any) -> Plan:
    return planned(msgspec.convert(plain, Machine))[1]


def _card(gfx: str, **more: Any) -> dict[str, Any]:
    return {"vendor": "amd", "gfx": gfx, "integrated": False, "kernel_driver": "amdgpu", **more}


def _commands(made: Plan) -> str:
    return "\n".join(line for _, line in every_command(made))


@pytest.mark.parametrize("gfx", [row.gfx for row in gfx_table().rows])
@pytest.mark.parametrize("system", [LINUX, WINDOWS], ids=["linux", "windows"])
@pytest.mark.parametrize("asked", [None, "rocm"])
def test_every_target_gets_a_wheel_that_a_table_proves(gfx: str, system: dict[str, Any], asked: str | None) -> None:
    python = PYTHON if system is LINUX else AMD64
    intent = {"backend": asked} if asked else None
    made = _plan(os=system, python=python, torch={"installed": False}, gpus=[_card(gfx)], intent=intent)
    text = _commands(made)
    row = next(row for row in gfx_table().rows if row.gfx == gfx)
    if system is WINDOWS:
        assert ("whl-multi-arch" in text) is (row.windows is not None and made.option == "rocm")
        assert "HSA_OVERRIDE" not in text, "it exists on Linux only"
    if "whl-multi-arch" in text:
        assert f'"torch[{row.amd_extra}]"' in text and row.amd_extra is not None
    if f"export {'HSA_OVERRIDE_GFX_VERSION'}" in text:
        assert asked == "rocm" and row.override is not None and row.override.verdict == "works"
        assert any("AMD" in price for price in made.gives_up)
    if row.torch is None and row.amd_extra is None and asked is None:
        assert made.option in ("cpu", "directml")
    assert "--extra-index-url" not in text


@pytest.mark.parametrize("gfx", ["gfx1103", "gfx1033"])
@pytest.mark.parametrize("asked", [None, "rocm"])
def test_what_an_override_harms_is_never_given_one(gfx: str, asked: str | None) -> None:
    override = "HSA_OVERRIDE_GFX_VERSION"
    env = {override: "11.0.0", f"{override}_1": "10.3.0", f"{override}_x;y": "1"}
    intent = {"backend": asked} if asked else None
    made = _plan(os=LINUX, python=PYTHON, torch={"installed": False}, gpus=[_card(gfx)], env=env, intent=intent)
    text = _commands(made)
    assert "export HSA_OVERRIDE" not in text
    assert "unset HSA_OVERRIDE_GFX_VERSION\nunset HSA_OVERRIDE_GFX_VERSION_1" in text
    assert "x;y" not in text


def test_a_gpu_that_shows_the_screen_does_not_get_a_gpu_build() -> None:
    made = _plan(os=LINUX, python=PYTHON, torch={"installed": False}, gpus=[_card("gfx1036", integrated=True)])
    assert made.backend == "cpu" and "two compute units" in made.reason
    on_windows = _plan(os=WINDOWS, python=AMD64, torch={"installed": False}, gpus=[_card("gfx1036", integrated=True)])
    assert on_windows.backend == "cpu", "DirectML on it is no better"


def test_a_card_that_another_driver_holds_gets_no_gpu_build() -> None:
    made = _plan(os=LINUX, python=PYTHON, torch={"installed": False}, gpus=[_card("gfx1100", kernel_driver="vfio-pci")])
    assert made.backend == "cpu" and "vfio-pci" in made.reason


def test_an_unknown_target_is_asked_for() -> None:
    gpus = [{"vendor": "amd", "kernel_driver": "amdgpu"}]
    made = _plan(os=LINUX, python=PYTHON, torch={"installed": False}, gpus=gpus)
    assert made.backend == "cpu"
    assert [fact.fact for fact in made.unknowns] == ["gpus.gfx"]


def test_an_unknown_processor_is_taken_for_x86_and_said_so() -> None:
    python = {**PYTHON, "machine": None}
    made = _plan(os=LINUX, python=python, torch={"installed": False}, gpus=[_card("gfx1100")])
    assert made.backend == "rocm-pytorch" and any("x86-64" in note for note in made.notes)
    arm = _plan(os=LINUX, python={**PYTHON, "machine": "aarch64"}, torch={"installed": False}, gpus=[_card("gfx1100")])
    assert arm.backend == "cpu" and "aarch64" in arm.reason


def test_a_platform_without_wheels_is_looked_up() -> None:
    made = _plan(os=WINDOWS, python={**AMD64, "machine": "ARM64"}, torch={"installed": False}, gpus=[])
    assert (made.backend, made.action, made.steps) == ("none", "look-up", ())
    assert made.look_up[0].page.startswith("https://pytorch.org/")


def test_nothing_known_gives_no_command() -> None:
    made = _plan()
    assert every_command(made) == [] and made.unknowns[0].fact == "os.kind"


def test_a_mac_takes_the_wheels_of_pypi() -> None:
    made = _plan(os={"kind": "macos"}, python={**PYTHON, "machine": "arm64"}, torch={"installed": False}, gpus=[])
    assert made.steps[0].commands == {"sh": ("~/v/bin/python -m pip install torch",)}


# Python


@pytest.mark.parametrize(
    ("python", "take"),
    [
        ({"version": "3.12.3"}, None),
        ({"version": "3.9.2"}, "3.14"),
        ({"version": "3.15.0"}, "3.14"),
        ({"version": "3.13.1", "free_threaded": True}, "3.14"),
        ({"version": "3.12.3", "bits": 32}, "3.14"),
        ({"version": "3.10.14", "implementation": "pypy"}, "3.14"),
    ],
)
def test_the_python_for_rocm(python: dict[str, Any], take: str | None) -> None:
    made = _plan(os=LINUX, python={**PYTHON, **python}, torch={"installed": False}, gpus=[_card("gfx1100")])
    assert made.python is not None and (made.python.fits, made.python.take) == (take is None, take)
    assert made.action == ("environment" if take else "install")


@pytest.mark.parametrize(
    ("version", "take"), [("3.12.7", None), ("3.8.10", None), ("3.13.1", "3.12"), ("3.7.9", "3.12")]
)
def test_the_python_for_directml(version: str, take: str | None) -> None:
    made = _plan(os=WINDOWS, python={**AMD64, "version": version}, torch={"installed": False}, gpus=[_card("gfx803")])
    assert made.backend == "directml" and made.python is not None and made.python.take == take


@pytest.mark.parametrize(
    ("version", "take"), [("3.14.0", None), ("3.15.0", None), ("3.16.0", "3.14"), ("2.6.9", "3.14")]
)
def test_the_python_for_the_cpu(version: str, take: str | None) -> None:
    made = _plan(os=LINUX, python={**PYTHON, "version": version}, torch={"installed": False}, gpus=[])
    assert made.python is not None and made.python.take == take


# What is there already


def _rocm_torch(**more: Any) -> dict[str, Any]:
    return {"installed": True, "version": "2.9.1+rocm6.4", "hip": "6.4", "build": "rocm", "importable": True, **more}


@pytest.mark.parametrize(
    ("torch", "action"),
    [
        (_rocm_torch(arch_list=["gfx1030", "gfx1100"]), "keep"),
        (_rocm_torch(), "keep"),
        (_rocm_torch(arch_list=["gfx1030"]), "replace"),
        (_rocm_torch(importable=False), "replace"),
        ({"installed": True, "version": "2.9.1+cpu", "build": "cpu", "hip": "none", "cuda": "none"}, "replace"),
        ({"installed": True, "version": "2.9.1", "build": "cuda", "hip": "none", "cuda": "12.8"}, "replace"),
        ({"installed": False}, "install"),
        (None, "environment"),
    ],
)
def test_what_suits_is_kept(torch: dict[str, Any] | None, action: str) -> None:
    version = (torch or {}).get("version")
    packages = {"torch": {"version": version, "installer": "pip"}} if version else {}
    made = _plan(os=LINUX, python=PYTHON, torch=torch, packages=packages, gpus=[_card("gfx1100")])
    assert made.action == action
    if action == "keep":
        assert made.constraints == ("torch==2.9.1+rocm6.4",)
    else:
        assert made.constraints == (), "a torch that goes is not kept"


@pytest.mark.parametrize("installer", ["conda", "distro"])
def test_a_torch_of_somebody_else_is_left_alone(installer: str) -> None:
    torch = {"installed": True, "version": "2.6.0", "build": "cpu", "hip": "none", "cuda": "none"}
    packages = {"torch": {"version": "2.6.0", "installer": installer}}
    made = _plan(os=LINUX, python=PYTHON, torch=torch, packages=packages, gpus=[_card("gfx1100")])
    assert made.action == "environment" and "uninstall" not in _commands(made)


def test_a_directml_that_works_is_left_alone() -> None:
    made = _plan(
        os=WINDOWS,
        python=AMD64,
        torch={"installed": True, "version": "2.4.1+cpu", "build": "cpu", "hip": "none", "cuda": "none"},
        packages={"torch": {"version": "2.4.1+cpu"}, "torch-directml": {"version": "0.2.5.dev240914"}},
        gpus=[_card("gfx1102")],
    )
    assert (made.backend, made.action) == ("rocm-windows", "environment")
    wanted = _plan(
        os=WINDOWS,
        python=AMD64,
        torch={"installed": True, "version": "2.4.1+cpu"},
        packages={"torch": {"version": "2.4.1+cpu"}, "torch-directml": {"version": "0.2.5.dev240914"}},
        gpus=[_card("gfx1102")],
        intent={"backend": "directml"},
    )
    assert wanted.action == "keep"
    assert wanted.constraints == ("torch==2.4.1+cpu", "torch-directml==0.2.5.dev240914")


@pytest.mark.parametrize(
    ("version", "build", "index"),
    [
        ("2.9.1", "cuda", ""),
        ("2.9.1+cpu", "cpu", " --index-url https://download.pytorch.org/whl/cpu"),
        ("2.6.0+rocm6.1", "rocm", " --index-url https://download.pytorch.org/whl/rocm6.1"),
    ],
)
def test_the_way_back_names_where_the_present_torch_came_from(version: str, build: str, index: str) -> None:
    hip = "6.1" if build == "rocm" else "none"
    torch = {"installed": True, "version": version, "build": build, "hip": hip, "arch_list": ["gfx1030"]}
    packages = {"torch": {"version": version, "installer": "pip"}}
    made = _plan(os=LINUX, python=PYTHON, torch=torch, packages=packages, gpus=[_card("gfx1101")])
    assert made.action == "replace" and made.way_back is not None
    assert made.way_back.restore["sh"][-1] == f"~/v/bin/python -m pip install torch=={version}{index}"
    assert [step.kind for step in made.steps][:3] == ["save", "remove", "install"]


@pytest.mark.parametrize("version", ["2.6.0+cu124", "2.9.0.dev2026+rocm9.9", "2.12.0+rocm7.14.0"])
def test_an_index_that_no_table_has_is_not_invented_for_the_way_back(version: str) -> None:
    torch = {"installed": True, "version": version, "build": "cuda", "hip": "none", "importable": False}
    packages = {"torch": {"version": version, "installer": "pip"}}
    made = _plan(os=LINUX, python=PYTHON, torch=torch, packages=packages, gpus=[_card("gfx1101")])
    assert made.way_back is not None and made.way_back.restore == {}
    assert any("previous-versions" in page.page for page in made.look_up)


# What is asked for


@pytest.mark.parametrize(
    ("name", "asked", "reason"),
    [
        ("epyc-cpu-only", "rocm", "There is no AMD GPU."),
        ("epyc-cpu-only", "cuda", "There is no NVIDIA GPU."),
        ("rx580-linux", "rocm", "No ROCm wheel has code for"),
        ("rx580-linux", "directml", "DirectX 12"),
        ("rx580-windows", "rocm", "AMD publishes no ROCm wheel"),
        ("5600g-windows", "rocm", "AMD publishes no ROCm wheel"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(name: str, asked: str, reason: str) -> None:
    machine = msgspec.structs.replace(machine_of(name), intent=Intent(backend=asked))
    made = planned(machine)[1]
    assert (made.action, made.option, made.steps) == ("refused", asked, ())
    assert reason in made.reason
    assert made.other_ways and any(way.is_default for way in made.other_ways)


@pytest.mark.parametrize("name", ["7950x-7900xtx", "strix-halo-windows", "rx580-windows", "wsl2-7900xt"])
def test_the_cpu_can_be_asked_for_anywhere(name: str) -> None:
    machine = msgspec.structs.replace(machine_of(name), intent=Intent(backend="cpu"))
    made = planned(machine)[1]
    assert (made.backend, made.reason) == ("cpu", "It was asked for.")
    assert any("--backend cpu" in line for _, line in every_command(made))


def test_directml_in_wsl_takes_the_small_torch_first() -> None:
    machine = msgspec.structs.replace(machine_of("wsl2-7900xt"), intent=Intent(backend="directml"))
    made = planned(machine)[1]
    install = next(step for step in made.steps if step.kind == "install").commands["sh"]
    assert install[0].endswith("torch==2.4.1 torchvision==0.19.1 --index-url https://download.pytorch.org/whl/cpu")
    assert install[1].endswith("pip install torch-directml==0.2.5.dev240914")


@pytest.mark.parametrize(("container", "sign"), [("docker", "docker run"), ("podman", "keep-groups"), ("lxc", None)])
def test_a_container_gets_its_flags_first(container: str, sign: str | None) -> None:
    machine = machine_of("container-without-nodes")
    assert machine.os is not None
    made = planned(msgspec.structs.replace(machine, os=msgspec.structs.replace(machine.os, container=container)))[1]
    assert made.steps[0].kind == "container"
    commands = " ".join(line for lines in made.steps[0].commands.values() for line in lines)
    assert (sign is None and not commands) or (sign is not None and sign in commands)


def test_a_container_of_which_no_gpu_is_known_is_told_of_the_flags() -> None:
    machine = msgspec.structs.replace(machine_of("container-without-nodes"), gpus=None)
    made = planned(machine)[1]
    assert made.backend == "cpu"
    assert any(fact.fact == "nodes" and "--device /dev/kfd" in fact.find_out for fact in made.unknowns)


def test_a_box_with_both_keeps_its_cuda() -> None:
    both = [{"vendor": "nvidia", "name": "NVIDIA GeForce RTX 4070"}, _card("gfx1100")]
    made = _plan(os=LINUX, python=PYTHON, torch={"installed": True, "version": "2.9.1", "build": "cuda"}, gpus=both)
    assert (made.backend, made.action) == ("cuda", "keep")
    assert [way.option for way in made.other_ways] == ["rocm", "cpu"]
    missing = _plan(os=LINUX, python=PYTHON, torch={"installed": False}, gpus=both)
    assert missing.action == "look-up" and missing.steps[0].kind == "look-up"


def test_the_kernel_that_strix_halo_needs() -> None:
    def notes(kernel: str | None) -> str:
        gpus = [_card("gfx1151", integrated=True)]
        system = {**LINUX, "kernel": kernel}
        return " ".join(_plan(os=system, python=PYTHON, torch={"installed": False}, gpus=gpus).notes)

    assert "update the kernel first" in notes("6.14.0-37-generic")
    assert "6.18.4" not in notes("6.18.4") and "6.18.4" not in notes("6.19.0-rc1")
    assert "6.18.4 or later." in notes(None)


@pytest.mark.parametrize(("group", "joined"), [("render", True), ("render; rm -rf ~", False), ("--help", False)])
def test_a_group_enters_a_command_only_where_it_looks_like_one(group: str, joined: bool) -> None:
    machine = machine_of("7840u-linux")
    nodes = {name: msgspec.structs.replace(node, group=group) for name, node in (machine.nodes or {}).items()}
    commands = _commands(planned(msgspec.structs.replace(machine, nodes=nodes))[1])
    assert ("usermod -aG" in commands) is joined
