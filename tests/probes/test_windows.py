"""The probes of Windows on small machines: registry values and call replies as Windows gives them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from doctor.derive.facts import complete
from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Core, Cpu, Isa, L3Group, Machine, Os, Power, Windows
from doctor.probes import cpu_windows, limits_windows, power_windows, system_windows, topology_windows
from doctor.probes.cpu import probe as cpu_probe
from doctor.probes.exercised import Exercised, Step
from doctor.probes.libraries import libraries, openmp_of_torch
from doctor.probes.limits import probe as limits_probe
from doctor.probes.topology import probe as topology_probe
from doctor.sources.recording import RecordingSource
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import Redactor
from tests.texts import windows_topology as windows

MIB = 1 << 20

CPU_KEY = r"HKLM\HARDWARE\DESCRIPTION\System\CentralProcessor\0"
VERSION_KEY = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
BIOS_KEY = r"HKLM\HARDWARE\DESCRIPTION\System\BIOS"
SCHEMES_KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"
VC_KEY = r"HKLM\SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"
VC_KEY_32 = r"HKLM\SOFTWARE\WOW6432Node\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"
POLICY = r"HKLM\SYSTEM\CurrentControlSet\Control\CI\Policy"


def source(**parts: Any) -> RecordingSource:
    return RecordingSource({"platform": "windows", **parts}, "test")


def topology(buffer: bytes) -> Cpu:
    answer = base64.b64encode(buffer).decode()
    cpu = topology_windows.probe(source(api={"logical-processors": answer})).facts["cpu"]
    assert isinstance(cpu, Cpu)
    return cpu


# Topology


def test_5950x() -> None:
    cpu = topology(windows.machine([(8, 32 * MIB), (8, 32 * MIB)]))
    assert cpu.online == "0-31"
    assert cpu.l3_groups == (
        L3Group(cpus="0-15", cores=8, size_bytes=32 * MIB),
        L3Group(cpus="16-31", cores=8, size_bytes=32 * MIB),
    )
    assert cpu.cores is not None and len(cpu.cores) == 16
    assert cpu.cores[8] == Core(cpus="16-17", package=0, l3=1, node=0)
    assert [node.cpus for node in cpu.numa_nodes or ()] == ["0-31"]


def test_7950x3d_keeps_the_size_of_each_l3() -> None:
    groups = topology(windows.machine([(8, 96 * MIB), (8, 32 * MIB)])).l3_groups
    assert [(group.cpus, group.size_bytes) for group in groups or ()] == [("0-15", 96 * MIB), ("16-31", 32 * MIB)]


def test_9654p_over_three_processor_groups() -> None:
    cpu = topology(windows.machine([(8, 32 * MIB)] * 12))
    assert cpu.online == "0-191"
    assert [group.cpus for group in cpu.l3_groups or ()] == [f"{16 * at}-{16 * at + 15}" for at in range(12)]
    assert {core.package for core in cpu.cores or ()} == {0}
    assert {core.node for core in cpu.cores or ()} == {0}


def test_two_sockets_and_nodes() -> None:
    one = [windows.core((0, [2 * at, 2 * at + 1])) for at in range(4)]
    two = [windows.core((1, [2 * at, 2 * at + 1])) for at in range(4)]
    sockets = [windows.package((0, range(8))), windows.package((1, range(8)))]
    nodes = [windows.numa(0, (0, range(8)), group_count=0), windows.numa(1, (1, range(8)), group_count=0)]
    cpu = topology(b"".join([*one, *two, *sockets, *nodes, windows.groups([8, 8])]))
    assert [(core.cpus, core.package, core.node) for core in cpu.cores or ()][3:5] == [("6-7", 0, 0), ("8-9", 1, 1)]
    assert [(node.id, node.cpus) for node in cpu.numa_nodes or ()] == [(0, "0-7"), (1, "8-15")]


def test_hybrid_cores_are_told_apart_by_their_class() -> None:
    fast = [windows.core((0, [2 * at, 2 * at + 1]), efficiency=1) for at in range(4)]
    dense = [windows.core((0, [2 * at, 2 * at + 1]), efficiency=0) for at in range(4, 12)]
    l3 = [windows.cache(3, 16 * MIB, (0, range(8))), windows.cache(3, 8 * MIB, (0, range(8, 24)))]
    cpu = topology(b"".join([*fast, *dense, *l3, windows.package((0, range(24))), windows.groups([24])]))
    assert [core.kind for core in cpu.cores or ()] == ["performance"] * 4 + ["efficiency"] * 8
    assert [group.cores for group in cpu.l3_groups or ()] == [4, 8]
    whole = complete(Machine(cpu=cpu)).cpu
    assert whole is not None
    assert [group.kind for group in whole.l3_groups or ()] == ["performance", "efficiency"]
    assert (whole.sockets, whole.physical_cores, whole.logical_cpus, whole.smt) == (1, 12, 24, True)


def test_caches_without_an_l3_are_none_and_no_caches_are_unknown() -> None:
    core, groups = windows.core((0, [0, 1])), windows.groups([2])
    assert topology(core + windows.cache(2, MIB, (0, [0, 1])) + groups).l3_groups == ()
    assert topology(core + groups).l3_groups is None


@pytest.mark.parametrize("answer", ["AAAA", "no base64 !", 17, None, ""])
def test_a_reply_that_is_none_gives_unknowns_with_their_reason(answer: object) -> None:
    found = topology_windows.probe(source(api={"logical-processors": answer}))
    assert not found.facts
    assert {(row.fact, row.reason) for row in found.unknowns} >= {("cpu.l3_groups", "probe-failed")}


def test_a_recording_without_the_reply_says_so() -> None:
    found = topology_windows.probe(source())
    assert {row.reason for row in found.unknowns} == {"not-in-source"}


# CPU

IDENTITY = {
    CPU_KEY: {
        "ProcessorNameString": "AMD Ryzen 9 7950X3D 16-Core Processor          ",
        "VendorIdentifier": "AuthenticAMD",
        "Identifier": "AMD64 Family 25 Model 97 Stepping 2",
        "~MHz": 4200,
        "FeatureSet": 1025310719,
    }
}

#: What py-cpuinfo 9 reads by CPUID on a Zen 4 (shortened): its own spellings, and nothing of leaf 7.1.
ZEN4_FLAGS = [
    "avx", "avx2", "avx512bitalg", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512ifma", "avx512vbmi",
    "avx512vl", "avx512vnni", "fma", "osxsave", "pclmulqdq", "pni", "rdrnd", "sha", "sse", "sse2", "sse4_1",
]  # fmt: skip


def isa_after(flags: list[str], capabilities: dict[str, Any] | None = None) -> Isa | None:
    events = [{"event": "end", "name": "cpu-capability", "outcome": "ok", "facts": {"capabilities": capabilities}}]
    exercises = {"exercises": {"cpu": {"events": events}}} if capabilities is not None else {}
    cpu = cpu_windows.probe(source(registry=IDENTITY, api={"cpuinfo": {"flags": flags}}, **exercises)).facts["cpu"]
    assert isinstance(cpu, Cpu)
    return cpu.isa


def test_identity_comes_from_the_registry() -> None:
    cpu = cpu_windows.probe(source(registry=IDENTITY)).facts["cpu"]
    assert cpu == Cpu(
        vendor="AuthenticAMD", name="AMD Ryzen 9 7950X3D 16-Core Processor", family=25, model=97, stepping=2
    )


def test_the_registry_alone_says_nothing_about_avx() -> None:
    found = cpu_windows.probe(source(registry=IDENTITY))
    assert found.facts["cpu"].isa is None
    assert [(row.fact, row.reason) for row in found.unknowns] == [("cpu.isa", "not-in-source")]


@pytest.mark.parametrize("identifier", ["ARMv8 (64-bit) Family 8 Model 1 Revision 201", "", 7])
def test_an_identifier_of_another_form_names_no_family(identifier: object) -> None:
    cpu = cpu_windows.probe(source(registry={CPU_KEY: {"Identifier": identifier}})).facts["cpu"]
    assert (cpu.family, cpu.model, cpu.stepping) == (None, None, None)


def test_py_cpuinfo_is_trusted_for_what_it_reads_only() -> None:
    isa = isa_after(ZEN4_FLAGS)
    assert isa == Isa(
        avx=True, avx2=True, fma=True, avx512f=True, avx512bw=True, avx512dq=True, avx512vl=True, avx512cd=True,
        avx512_vnni=True,
    )  # fmt: skip
    zen3 = isa_after([flag for flag in ZEN4_FLAGS if "512" not in flag])
    assert zen3 is not None
    assert (zen3.avx2, zen3.avx512f, zen3.avx512_vnni) == (True, False, False)
    assert (zen3.avx512_bf16, zen3.avx_vnni, zen3.avx512_fp16, zen3.amx_bf16) == (None,) * 4


def test_what_py_cpuinfo_makes_of_the_registry_is_left_out() -> None:
    flags = [*ZEN4_FLAGS, "3dnow", "ia64", "serial"]
    cpu = cpu_windows.probe(source(registry=IDENTITY, api={"cpuinfo": {"flags": flags}})).facts["cpu"]
    assert cpu.flags == tuple(ZEN4_FLAGS)


def test_flags_of_the_registry_are_no_answer() -> None:
    """Where CPUID cannot be run py-cpuinfo still gives the registry's flags, which know nothing newer than SSE2."""
    found = cpu_windows.probe(source(registry=IDENTITY, api={"cpuinfo": {"flags": ["fpu", "mmx", "sse", "sse2"]}}))
    assert found.facts["cpu"].isa is None and found.facts["cpu"].flags is None
    assert [(row.fact, row.reason) for row in found.unknowns] == [("cpu.isa", "probe-failed")]


def test_torch_fills_what_py_cpuinfo_leaves_open_and_wins() -> None:
    """torch 2.13 asks XGETBV as well: a CPU with AVX-512 whose Windows does not save the registers has none."""
    capabilities = {
        "avx": True, "avx2": True, "fma3": True, "avx512_f": False, "avx512_bw": False, "avx512_bf16": False,
        "avx_vnni": True, "avx512_fp16": False, "amx_bf16": False, "cpu_name": "AMD Ryzen", "l2_cache_size": 1048576,
    }  # fmt: skip
    isa = isa_after(ZEN4_FLAGS, capabilities)
    assert isa is not None
    assert (isa.avx, isa.fma, isa.avx_vnni) == (True, True, True)
    assert (isa.avx512f, isa.avx512bw, isa.avx512_bf16, isa.avx512_fp16, isa.amx_bf16) == (False,) * 5
    assert isa.avx512dq is True  # not named: py-cpuinfo's word stands


@pytest.mark.parametrize("exercise", [None, [], {"events": None}, {"events": [1, {"name": "cpu-capability"}]}])
def test_an_exercise_without_capabilities_changes_nothing(exercise: object) -> None:
    recorded = source(registry=IDENTITY, api={"cpuinfo": {"flags": ZEN4_FLAGS}}, exercises={"cpu": exercise})
    assert cpu_windows.probe(recorded).facts["cpu"].isa == isa_after(ZEN4_FLAGS)


# Limits


def test_affinity() -> None:
    limits = limits_windows.probe(source(api={"affinity": "0-15,64-79"})).facts["limits"]
    assert (limits.affinity_cpus, limits.affinity) == (32, "0-15,64-79")


@pytest.mark.parametrize("answer", ["0-", 5, None, "0-99999"])
def test_an_affinity_that_is_none(answer: object) -> None:
    found = limits_windows.probe(source(api={"affinity": answer}))
    assert not found.facts
    assert [(row.fact, row.reason) for row in found.unknowns] == [("limits.affinity_cpus", "probe-failed")]


# Power

AC = {"plugged": True, "percent": None}


@pytest.mark.parametrize(
    ("guid", "name", "plan"),
    [
        ("381b4222-f694-41f0-9685-ff5bb260df2e", "Ausbalanciert", "balanced"),
        ("8C5E7FDA-E8BF-4A96-9A85-A6E23A8C635C", "", "high-performance"),
        ("a1841308-3541-4fab-bc81-f71556f20b4a", "Power saver", "power-saver"),
        ("e9a42b02-d5df-448d-aa00-03f14749eb61", "Ultimate Performance", "ultimate"),
        ("12345678-0000-0000-0000-000000000000", "Ultimate Performance", "ultimate"),  # duplicated
        ("9897998c-92de-4669-853f-b7cd3ecb2790", "AMD Ryzen™ Balanced", "other"),
    ],
)
def test_power_plans(guid: str, name: str, plan: str) -> None:
    found = power_windows.probe(source(api={"battery": AC, "power-scheme": {"guid": guid, "name": name}}))
    assert found.facts["power"] == Power(source="ac", plan=plan)


def test_the_registry_names_the_plan_where_the_call_fails() -> None:
    recorded = source(
        api={"battery": {"plugged": False, "percent": 40}},
        missing={"probe-failed": ["api:power-scheme"]},
        registry={SCHEMES_KEY: {"ActivePowerScheme": "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"}},
    )
    assert power_windows.probe(recorded).facts["power"] == Power(source="battery", plan="high-performance")


@pytest.mark.parametrize(
    ("plugged", "mode"), [(True, "performance"), (False, "efficiency"), (None, None)], ids=["ac", "battery", "unknown"]
)
def test_the_power_mode_is_that_of_the_source_in_use(plugged: bool | None, mode: str | None) -> None:
    overlays = {
        "ActiveOverlayAcPowerScheme": "ded574b5-45a0-4f42-8737-46345c09c238",
        "ActiveOverlayDcPowerScheme": "961cc777-2547-4f9d-8174-7d86181b8a7a",
    }
    plan = {"guid": "381b4222-f694-41f0-9685-ff5bb260df2e", "name": ""}
    recorded = source(api={"battery": {"plugged": plugged}, "power-scheme": plan}, registry={SCHEMES_KEY: overlays})
    assert power_windows.probe(recorded).facts["power"].mode == mode


def test_the_power_mode_lies_over_the_plan_balanced_only() -> None:
    plan = {"guid": "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c", "name": ""}
    left_over = {SCHEMES_KEY: {"ActiveOverlayAcPowerScheme": "961cc777-2547-4f9d-8174-7d86181b8a7a"}}
    found = power_windows.probe(source(api={"battery": AC, "power-scheme": plan}, registry=left_over))
    assert found.facts["power"] == Power(source="ac", plan="high-performance")


def test_no_power_reply_at_all_is_unknown() -> None:
    found = power_windows.probe(source())
    assert found.facts["power"] == Power()
    assert [(row.fact, row.reason) for row in found.unknowns] == [
        ("power.source", "not-in-source"),
        ("power.plan", "not-in-source"),
    ]


# System


def version(build: int, product: str | None = "Windows 10 Pro") -> dict[str, Any]:
    return {"windows-version": {"major": 10, "minor": 0, "build": build, "product": product, "server": False}}


def windows_of(**parts: Any) -> Windows:
    found = system_windows.probe(source(**parts)).facts["windows"]
    assert isinstance(found, Windows)
    return found


def test_windows_11_is_called_so_although_its_registry_says_10() -> None:
    registry = {
        VERSION_KEY: {"DisplayVersion": "24H2", "ProductName": "Windows 10 Pro"},
        BIOS_KEY: {"SystemManufacturer": "ASUS", "SystemProductName": "System Product Name"},
    }
    found = system_windows.probe(source(registry=registry, api=version(26100)))
    assert found.facts["os"] == Os(
        kind="windows", name="Windows 11 Pro 24H2", version="24H2", kernel="10.0.26100", wsl=0, hypervisor="none"
    )
    assert found.facts["windows"].build == 26100


@pytest.mark.parametrize(
    ("build", "product", "name"),
    [
        (19045, "Windows 10 Home", "Windows 10 Home"),
        (20348, "Windows Server 2022 Datacenter", "Windows Server 2022 Datacenter"),
        (22631, "Windows 10 Enterprise LTSC", "Windows 11 Enterprise LTSC"),
    ],
)
def test_other_names_stay(build: int, product: str, name: str) -> None:
    assert system_windows.probe(source(api=version(build, product))).facts["os"].name == name


def test_the_registry_tells_the_build_where_the_call_does_not() -> None:
    recorded = source(registry={VERSION_KEY: {"CurrentBuildNumber": "22631", "ProductName": "Windows 10 Home"}})
    found = system_windows.probe(recorded)
    assert found.facts["windows"].build == 22631
    assert found.facts["os"].name == "Windows 11 Home"
    assert not found.unknowns


@pytest.mark.parametrize(
    ("maker", "product", "hypervisor"),
    [
        ("Microsoft Corporation", "Virtual Machine", "hyperv"),
        ("Microsoft Corporation", "Surface Laptop 7", "none"),
        ("VMware, Inc.", "VMware20,1", "vmware"),
        ("innotek GmbH", "VirtualBox", "virtualbox"),
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "kvm"),
        ("Xen", "HVM domU", "xen"),
        ("LENOVO", "21K5", "none"),
        (None, None, None),
    ],
)
def test_hypervisor_by_what_the_firmware_calls_the_machine(
    maker: str | None, product: str | None, hypervisor: str | None
) -> None:
    values = {"SystemManufacturer": maker, "SystemProductName": product} if maker and product else {}
    assert system_windows.probe(source(registry={BIOS_KEY: values})).facts["os"].hypervisor == hypervisor


@pytest.mark.parametrize(
    ("registry", "missing", "expected"),
    [
        ({VC_KEY: {"Installed": 1, "Major": 14, "Minor": 44}}, [], "14.44"),
        ({VC_KEY_32: {"Installed": 1, "Major": 14, "Minor": 38}}, [VC_KEY], "14.38"),
        ({VC_KEY: {"Installed": 0}}, [VC_KEY_32], "none"),
        ({}, [VC_KEY, VC_KEY_32], "none"),
        ({}, [VC_KEY], None),  # the other was not looked at
        ({VC_KEY: {"Installed": 1}}, [VC_KEY_32], None),
    ],
)
def test_vc_runtime(registry: dict[str, Any], missing: list[str], expected: str | None) -> None:
    absent = {"absent": [f"registry:{key} Installed" for key in missing]}
    assert windows_of(registry=registry, missing=absent).vc_runtime == expected


@pytest.mark.parametrize(
    ("state", "build", "expected"),
    [(0, 26100, False), (1, 26100, True), (2, 26100, False), (None, 19045, False), (None, 26100, None)],
)
def test_smart_app_control_blocks_only_in_state_1(state: int | None, build: int, expected: bool | None) -> None:
    value = "VerifiedAndReputablePolicyState"
    registry = {POLICY: {value: state}} if state is not None else {}
    missing = {"absent": [f"registry:{POLICY} {value}"]} if state is None else {}
    assert windows_of(registry=registry, missing=missing, api=version(build)).smart_app_control is expected


def test_settings_nobody_touched_are_unknown() -> None:
    found = windows_of(api=version(26100))
    assert (found.game_mode, found.gpu_scheduling, found.smart_app_control) == (None, None, None)


def test_settings() -> None:
    registry = {
        r"HKCU\Software\Microsoft\GameBar": {"AutoGameModeEnabled": 0},
        r"HKLM\SYSTEM\CurrentControlSet\Control\GraphicsDrivers": {"HwSchMode": 2},
    }
    found = windows_of(registry=registry)
    assert (found.game_mode, found.gpu_scheduling) == (False, True)


# What the probes of all systems hand over


def test_the_probes_of_all_systems_hand_over_to_these() -> None:
    recorded = source(
        registry=IDENTITY,
        api={
            "affinity": "0-3",
            "logical-processors": base64.b64encode(windows.machine([(2, 8 * MIB)])).decode(),
        },
    )
    assert topology_probe(recorded).facts["cpu"].online == "0-3"
    assert cpu_probe(recorded).facts["cpu"].family == 25
    assert limits_probe(recorded).facts["limits"].affinity_cpus == 4


def test_every_list_of_cpus_can_be_read_back() -> None:
    cpu = topology(windows.machine([(8, 32 * MIB)] * 12))
    online = parse_cpulist(cpu.online or "")
    assert frozenset().union(*(parse_cpulist(core.cpus or "") for core in cpu.cores or ())) == online
    assert frozenset().union(*(parse_cpulist(group.cpus or "") for group in cpu.l3_groups or ())) == online


def test_an_empty_recording_breaks_no_probe_and_gives_no_fact_away() -> None:
    for module in (cpu_windows, limits_windows, power_windows, topology_windows):
        found = module.probe(source())
        assert all(value in (Cpu(), Power()) for value in found.facts.values())
        assert found.unknowns
    assert system_windows.probe(source()).facts == {"os": Os(kind="windows", wsl=0), "windows": Windows()}


def test_redaction_leaves_the_guids_that_every_windows_has() -> None:
    """A GUID looks like the identifier of a machine; a plan that somebody made has one that is."""
    own = "12345678-9abc-4def-8123-456789abcdef"
    balanced = "381b4222-f694-41f0-9685-ff5bb260df2e"
    for guid, plan, mode in ((balanced, "balanced", "performance"), (own, "other", None)):
        inner = source(
            api={"battery": AC, "power-scheme": {"guid": guid, "name": ""}},
            registry={SCHEMES_KEY: {"ActiveOverlayAcPowerScheme": "DED574B5-45A0-4F42-8737-46345C09C238"}},
        )
        redacted = RedactedSource(inner, Redactor())
        assert power_windows.probe(redacted).facts["power"] == Power(source="ac", plan=plan, mode=mode)
        assert own not in str(redacted.api("power-scheme"))


# What torch 2.13.0+cpu and NumPy 2.0.2 load on Windows, as threadpoolctl 3.8 tells it


def test_the_stubs_of_intels_openmp_are_no_runtime() -> None:
    site = r"C:\venv\Lib\site-packages"
    pools = [
        {"user_api": "openmp", "internal_api": "openmp", "prefix": "libiomp", "num_threads": threads,
         "filepath": rf"{site}\torch\lib\{name}", "version": None}
        for name, threads in (("libiomp5md.dll", 16), ("libiompstubs5md.dll", 1))
    ]  # fmt: skip
    told = Exercised("cpu", (Step(name="libraries", outcome="ok", facts={"threadpools": pools, "mapped": None}),))
    rows = libraries(told)
    assert rows is not None
    assert [(row.name, row.threads, row.package) for row in rows] == [("libiomp5md", 16, "torch")]
    assert openmp_of_torch(rows) == "libiomp5"
