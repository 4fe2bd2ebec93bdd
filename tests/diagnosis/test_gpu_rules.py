"""How the rules on GPUs, ROCm and wheels stand to each other: one root cause, and its consequences silent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.diagnosis.examine import examine
from doctor.diagnosis.model import Diagnosis, Finding
from doctor.machine.model import Machine

LINUX = {"kind": "linux", "wsl": 0, "container": "none"}
CARD = {"vendor": "amd", "gfx": "gfx1100", "integrated": False, "kernel_driver": "amdgpu"}
OPEN = {"exists": True, "readable": True, "writable": True}
CLOSED = {"exists": True, "readable": False, "writable": False, "mode": "0660"}
CLOSED |= {"gid": 992, "group": "render", "acl": False}
RENDER = "/dev/dri/renderD128"
ROCM = {"installed": True, "version": "2.10.0+rocm7.1", "hip": "7.1.25424"}


def diagnosed(**document: Any) -> Diagnosis:
    _, diagnosis = examine(msgspec.convert(document, Machine))
    assert diagnosis.crashed == ()
    return diagnosis


def serious(diagnosis: Diagnosis) -> list[str]:
    return [finding.rule for finding in diagnosis.findings if finding.severity in ("error", "warning")]


def finding(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(one for one in diagnosis.findings if one.rule == rule)


def silenced(diagnosis: Diagnosis) -> dict[str, str]:
    return {row.rule: row.by for row in diagnosis.silenced}


def test_a_cpu_wheel_silences_the_rules_on_nodes() -> None:
    torch = {"installed": True, "version": "2.13.0+cpu", "is_available": False}
    python = {"version": "3.12.3", "machine": "x86_64"}
    diagnosis = diagnosed(os=LINUX, torch=torch, gpus=[CARD], nodes={"/dev/kfd": {"exists": False}}, python=python)
    assert serious(diagnosis) == ["wrong-torch-build"]
    assert silenced(diagnosis) == {"kfd-missing": "wrong-torch-build"}
    diagnosis = diagnosed(os=LINUX, torch=torch, gpus=[CARD], nodes={"/dev/kfd": CLOSED, RENDER: OPEN}, python=python)
    assert silenced(diagnosis) == {"kfd-access-denied": "wrong-torch-build"}
    assert finding(diagnosis, "wrong-torch-build").fix.commands == (
        "python -m pip uninstall torch && "
        "python -m pip install torch --index-url https://download.pytorch.org/whl/rocm7.2",
    )


def test_no_rule_ever_advises_a_second_index() -> None:
    from doctor.diagnosis.rules import load_rules

    for rule in load_rules().rules:
        commands = [text for system in ("linux", "windows") for text in rule.file.fix.commands_for(system)]
        assert not any("--extra-index-url" in command for command in commands), rule.id


def test_a_python_without_a_rocm_wheel_explains_the_cpu_wheel() -> None:
    torch = {"installed": True, "version": "2.8.0+cpu"}
    card = {**CARD, "gfx": "gfx1151", "integrated": True}
    python = {"version": "3.9.18", "machine": "x86_64"}
    diagnosis = diagnosed(os=LINUX, torch=torch, gpus=[card], python=python)
    assert serious(diagnosis) == ["rocm-wheel-python-unsupported", "wrong-torch-build"]
    below = finding(diagnosis, "wrong-torch-build")
    assert (below.caused_by, below.fix.commands) == ("rocm-wheel-python-unsupported", ())


@pytest.mark.parametrize("has_card", [True, False])
def test_what_is_left_of_rocm_is_the_cause_whether_the_card_is_known_or_not(has_card: bool) -> None:
    diagnosis = diagnosed(
        os=LINUX,
        torch={"installed": True, "version": "2.5.1+cu124", "cuda": "12.4", "is_available": False},
        packages={"torch": {"version": "2.5.1+cu124"}, "torchvision": {"version": "0.20.1+rocm6.2"}},
        nodes={"/dev/kfd": {"exists": False}},
        **({"gpus": [CARD]} if has_card else {}),
    )
    assert serious(diagnosis) == ["torch-wheel-overwritten"]
    assert "wrong-torch-build" in silenced(diagnosis) or not has_card
    assert finding(diagnosis, "torch-wheel-overwritten").fix.commands == (
        "python -m pip uninstall torch torchvision && "
        "python -m pip install torch torchvision --index-url https://download.pytorch.org/whl/rocm6.2",
    )


def test_the_group_to_join_on_a_machine_and_the_number_in_a_container() -> None:
    nodes = {"/dev/kfd": CLOSED, RENDER: OPEN}
    torch = {**ROCM, "is_available": False}
    bare = diagnosed(os={**LINUX, "group_ids": [1000]}, torch=torch, nodes=nodes)
    assert serious(bare) == ["kfd-access-denied"]
    assert finding(bare, "kfd-access-denied").fix.commands == ('sudo usermod -aG render "$USER"',)
    inside = diagnosed(os={**LINUX, "container": "docker", "group_ids": [1000]}, torch=torch, nodes=nodes)
    remedy = finding(inside, "kfd-access-denied").fix
    assert remedy.commands == () and "--group-add 992" in remedy.text
    again = diagnosed(os={**LINUX, "group_ids": [1000], "groups_in_file": ["render"]}, torch=torch, nodes=nodes)
    told = finding(again, "kfd-access-denied")
    assert told.fix.commands == () and "this session is older: yes" in told.evidence


def test_an_override_does_no_harm_before_the_gpu_can_be_opened() -> None:
    env = {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}
    strix = {**CARD, "gfx": "gfx1151", "integrated": True}
    closed = diagnosed(os=LINUX, torch=ROCM, env=env, gpus=[strix], nodes={"/dev/kfd": CLOSED, RENDER: OPEN})
    assert finding(closed, "hsa-override-wrong").severity == "info"
    opened = diagnosed(os=LINUX, torch=ROCM, env=env, gpus=[strix], nodes={"/dev/kfd": OPEN, RENDER: OPEN})
    assert finding(opened, "hsa-override-wrong").severity == "error"
    assert "puts other code in its place" in finding(opened, "hsa-override-wrong").evidence
    assert finding(opened, "hsa-override-wrong").fix.commands == ("unset HSA_OVERRIDE_GFX_VERSION",)


@pytest.mark.parametrize("gfx", ["gfx1103", "gfx1033"])
def test_no_override_is_ever_advised_where_it_harms(gfx: str) -> None:
    torch = {"installed": True, "version": "2.4.1+rocm6.0", "hip": "6.0"}
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=[{**CARD, "gfx": gfx, "integrated": True}])
    remedy = finding(diagnosis, "gfx-not-in-arch-list").fix
    assert f"to run other code on {gfx}: none" in remedy.text and "HSA" not in " ".join(remedy.commands)
    assert "10.3.0" not in remedy.text and "11.0.0" not in remedy.text


def test_a_failing_exercise_without_a_known_cause_is_said_plainly() -> None:
    failed = [{"name": "matmul", "device": "cuda:0", "outcome": "timeout"}]
    diagnosis = diagnosed(os=LINUX, torch={**ROCM, "is_available": True}, env={}, gpus=[CARD], exercises=failed)
    assert serious(diagnosis) == ["rocm-exercise-fails"]
    assert "none is established" in finding(diagnosis, "rocm-exercise-fails").fix.text


def test_a_cause_that_is_known_silences_the_plain_word() -> None:
    failed = [{"name": "matmul", "device": "cuda:0", "outcome": "signal", "detail": "SIGSEGV"}]
    card = {**CARD, "gfx": "gfx1032"}
    torch = {"installed": True, "version": "2.4.1+rocm6.0", "hip": "6.0", "is_available": True}
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=[card], exercises=failed)
    assert serious(diagnosis) == ["gfx-not-in-arch-list"]
    assert silenced(diagnosis) == {"rocm-exercise-fails": "gfx-not-in-arch-list"}


def test_what_explains_one_gpu_says_nothing_of_another() -> None:
    """The old card has no code in this wheel; that the new one dies has another reason, and is not hidden by that."""
    old = {**CARD, "name": "Navi 23", "gfx": "gfx1032"}
    new = {**CARD, "name": "Navi 31"}
    torch = {"installed": True, "version": "2.4.1+rocm6.0", "hip": "6.0", "is_available": True, "device_count": 2}
    torch |= {"devices": [{"gfx": "gfx1032"}, {"gfx": "gfx1100"}]}
    dies = {"name": "matmul", "outcome": "signal", "detail": "SIGSEGV"}
    failed = [{**dies, "device": "cuda:0"}, {**dies, "device": "cuda:1"}]
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=[old, new], exercises=failed)
    assert [(one.rule, one.subject) for one in diagnosis.findings if one.severity == "error"] == [
        ("gfx-not-in-arch-list", "Navi 23"),
        ("rocm-exercise-fails", "Navi 31"),
    ]
    assert silenced(diagnosis) == {"rocm-exercise-fails": "gfx-not-in-arch-list"}
    # Nobody knows which is which: the known cause is taken for both.
    diagnosis = diagnosed(os=LINUX, torch={**torch, "devices": None}, env={}, gpus=[old, new], exercises=failed)
    assert serious(diagnosis) == ["gfx-not-in-arch-list"]


def test_gpus_that_work_only_one_at_a_time() -> None:
    """TheRock#6696: two cards, each of them sound, and a segmentation fault while both are visible."""
    cards = [{**CARD, "name": "Navi 31"}, {**CARD, "name": "MI210", "gfx": "gfx90a"}]
    torch = {**ROCM, "is_available": True, "device_count": 2}
    torch |= {"devices": [{"gfx": "gfx1100"}, {"gfx": "gfx90a"}], "arch_list": ["gfx90a", "gfx1100"]}
    dies = {"name": "matmul", "device": "cuda:1", "outcome": "signal", "detail": "SIGSEGV"}
    right = {"name": "matmul", "device": "cuda:1", "outcome": "ok", "with_mask": True}
    works = {"name": "matmul", "device": "cuda:0", "outcome": "ok"}
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=cards, exercises=[works, dies, right])
    assert serious(diagnosis) == ["rocm-exercise-fails"]
    told = finding(diagnosis, "rocm-exercise-fails")
    assert (told.subject, told.severity) == ("MI210", "error")
    assert told.evidence == (
        "matmul: the process died (SIGSEGV); failed as well: none; with the other GPUs hidden: it came out right."
    )
    assert told.fix.commands == ("export HIP_VISIBLE_DEVICES=1",)


def test_an_igpu_that_fails_beside_a_card_that_works_is_a_note() -> None:
    igpu = {**CARD, "name": "Raphael", "gfx": "gfx1036", "integrated": True}
    torch = {**ROCM, "is_available": True, "arch_list": ["gfx1100"]}
    torch |= {"devices": [{"gfx": "gfx1100"}, {"gfx": "gfx1036"}]}
    rows = [{"name": "matmul", "device": "cuda:0", "outcome": "ok"}]
    rows += [{"name": "matmul", "device": "cuda:1", "outcome": "exception", "detail": "invalid device function"}]
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=[CARD, igpu], exercises=rows)
    assert serious(diagnosis) == []
    assert finding(diagnosis, "rocm-exercise-fails").severity == "info"


@pytest.mark.parametrize(
    ("outcome", "detail", "severity", "words"),
    [
        ("wrong", "off by 0.5 times the largest value", "error", "the numbers are wrong (off by 0.5"),
        ("timeout", "timeout after 60 s", "error", "it did not end (timeout after 60 s)"),
        ("exception", "OutOfMemoryError: HIP out of memory.", "warning", "it raised an error"),
        ("signal", "SIGABRT", "error", "the process died (SIGABRT)"),
    ],
)
def test_every_way_to_fail_is_a_finding(outcome: str, detail: str, severity: str, words: str) -> None:
    row = {"name": "conv", "device": "cuda:0", "outcome": outcome, "detail": detail}
    diagnosis = diagnosed(os=LINUX, torch={**ROCM, "is_available": True}, env={}, gpus=[CARD], exercises=[row])
    told = finding(diagnosis, "rocm-exercise-fails")
    assert (told.severity, told.title) == (severity, "PyTorch does not calculate right on cuda:0")
    assert f"conv: {words}" in told.evidence
    assert told.fix.commands == ()


def test_a_gpu_that_pytorch_lists_proves_that_its_nodes_are_there() -> None:
    """A container or a kernel may hide what this looks at; what HIP opened, it opened."""
    nodes = {"/dev/kfd": {"exists": False}, "/dev/dri": {"exists": False}}
    for system in (LINUX, {**LINUX, "container": "docker"}):
        seen = diagnosed(os=system, torch={**ROCM, "is_available": True, "device_count": 1}, gpus=[CARD], nodes=nodes)
        assert serious(seen) == []
        unseen = diagnosed(os=system, torch={**ROCM, "is_available": False}, gpus=[CARD], nodes=nodes)
        assert serious(unseen) in (["kfd-missing"], ["container-no-gpu-nodes"])


def test_what_was_warned_of_while_the_gpus_were_counted_is_told() -> None:
    row = {"name": "list-devices", "device": "cuda", "outcome": "ok", "detail": "HIP initialization: Unexpected error"}
    torch = {**ROCM, "is_available": False, "device_count": 0}
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=[CARD], exercises=[row])
    assert "it warned of HIP initialization: Unexpected error" in finding(diagnosis, "rocm-sees-no-gpu").evidence


def test_a_calculation_that_works_beats_the_list_of_targets() -> None:
    worked = [{"name": "matmul", "device": "cuda:0", "outcome": "ok"}]
    torch = {"installed": True, "version": "2.4.1+rocm6.0", "hip": "6.0", "is_available": True}
    diagnosis = diagnosed(os=LINUX, torch=torch, env={}, gpus=[{**CARD, "gfx": "gfx1032"}], exercises=worked)
    assert serious(diagnosis) == []


def test_in_wsl_nothing_is_said_of_nodes_that_wsl_never_has() -> None:
    torch = {**ROCM, "is_available": False, "bundles": ["libamdhip64.so", "libhsa-runtime64.so"]}
    nodes = {"/dev/kfd": {"exists": False}, "/dev/dri": {"exists": False}, "/dev/dxg": OPEN}
    diagnosis = diagnosed(os={"kind": "linux", "wsl": 2, "container": "none"}, torch=torch, nodes=nodes, env={})
    assert serious(diagnosis) == ["wsl-bundled-hsa-runtime", "wsl-dxg-detection-off"]
    assert finding(diagnosis, "wsl-dxg-detection-off").caused_by == "wsl-bundled-hsa-runtime"
    assert silenced(diagnosis) == {"rocm-sees-no-gpu": "wsl-bundled-hsa-runtime"}


def test_a_fresh_machine_is_not_told_of_builds_that_it_has_not() -> None:
    diagnosis = diagnosed(os=LINUX, torch={"installed": False}, gpus=[CARD], nodes={"/dev/kfd": OPEN, RENDER: OPEN})
    assert serious(diagnosis) == []
    not_decided = {row.rule for row in diagnosis.undecided}
    assert not_decided.isdisjoint({"wrong-torch-build", "torch-wheel-overwritten", "source-build-without-hip"})


def test_a_small_integrated_gpu_is_no_reason_to_replace_the_cpu_wheel() -> None:
    torch = {"installed": True, "version": "2.13.0+cpu"}
    igpu = {"vendor": "amd", "gfx": "gfx1036", "integrated": True, "kernel_driver": "amdgpu"}
    assert serious(diagnosed(os=LINUX, torch=torch, gpus=[igpu], env={})) == []
    nvidia = {"vendor": "nvidia", "kernel_driver": "nvidia"}
    torch = {"installed": True, "version": "2.13.0", "cuda": "12.8", "hip": "none", "build": "cuda"}
    assert diagnosed(os=LINUX, torch=torch, gpus=[igpu, nvidia], env={}).findings == ()


def test_a_driver_that_hides_the_gpu_is_the_word_on_windows() -> None:
    diagnosis = diagnosed(
        os={"kind": "windows"},
        torch={"installed": True, "version": "2.10.0+rocm7.12.0a20260218", "hip": "7.12", "is_available": False},
        windows={"adrenalin": "26.1.1"},
        gpus=[{"vendor": "amd", "name": "AMD Radeon RX 6800 XT", "gfx": "gfx1030"}],
    )
    assert serious(diagnosis) == ["windows-driver-wheel-pair"]
    assert silenced(diagnosis) == {"rocm-sees-no-gpu": "windows-driver-wheel-pair"}
