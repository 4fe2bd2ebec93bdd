from __future__ import annotations

import sys
import types
from typing import Any

import msgspec
import pytest

from doctor.machine.document import Document, read_document
from doctor.machine.model import (
    Cgroup,
    Core,
    Cpu,
    Gpu,
    Limits,
    Machine,
    Node,
    Os,
    Package,
    SourceRow,
    UnknownFact,
)
from doctor.machine.unknowns import is_known, without_known_unknowns
from doctor.probes.collect import PROBES, Collected, Probe, collect
from doctor.probes.found import Found
from doctor.sources.base import Source
from doctor.sources.recording import RecordingSource
from doctor.sources.tree import TreeSource

SOURCE = RecordingSource({"platform": "linux", "taken_at": "2026-11-30T12:00:00Z"}, "small machine")


def finds(*unknowns: UnknownFact, origins: dict[str, str] | None = None, **facts: Any) -> Probe:
    return lambda source: Found(facts, unknowns, origins or {})


def collected(*probes: Any) -> Collected:
    return collect(SOURCE, tuple((f"p{at}", probe) for at, probe in enumerate(probes)))


def test_the_source_has_its_row() -> None:
    machine = collected().machine
    assert machine.sources == (SourceRow(kind="recording", name="small machine", taken_at="2026-11-30T12:00:00Z"),)
    assert machine.unknowns == ()


def test_two_probes_speak_of_one_area() -> None:
    first = finds(limits=Limits(affinity_cpus=8, cgroup=Cgroup(version=2)), packages={"torch": Package(version="2.4")})
    second = finds(
        limits=Limits(max_processes=10, cgroup=Cgroup(quota_cpus=2.5)), packages={"numpy": Package(version="2.0")}
    )
    machine = collected(first, second).machine
    assert machine.limits == Limits(affinity_cpus=8, max_processes=10, cgroup=Cgroup(version=2, quota_cpus=2.5))
    assert machine.packages == {"torch": Package(version="2.4"), "numpy": Package(version="2.0")}


def test_the_later_probe_wins() -> None:
    machine = collected(
        finds(cpu=Cpu(name="old", model=1), gpus=(Gpu(name="a"),), nodes={"/dev/kfd": Node(exists=True)}),
        finds(cpu=Cpu(name="new"), gpus=(Gpu(name="b"),), nodes={"/dev/kfd": Node(exists=False)}, torch=None),
    ).machine
    assert machine.cpu == Cpu(name="new", model=1)
    assert machine.gpus == (Gpu(name="b"),)
    assert machine.nodes == {"/dev/kfd": Node(exists=False)}


def test_a_probe_that_fails_takes_nobody_with_it() -> None:
    def broken(source: Source) -> Found:
        raise ValueError("two\nlines")

    found = collected(finds(os=Os(kind="linux")), broken, "doctor.probes.no_such_probe", finds(cpu=Cpu(name="x")))
    assert found.machine.os == Os(kind="linux") and found.machine.cpu == Cpu(name="x")
    assert [(crash.part, crash.detail) for crash in found.crashed] == [
        ("probe:p1", "ValueError: two lines"),
        ("probe:p2", "ModuleNotFoundError: No module named 'doctor.probes.no_such_probe'"),
    ]
    assert set(found.seconds) == {"p0", "p1", "p2", "p3"}


@pytest.mark.parametrize(
    "facts", [{"cpu": Os(kind="linux")}, {"cpu": Cpu(model="x")}, {"gpus": Gpu()}, {"nonsense": 1}, {"sources": ()}]
)
def test_facts_that_do_not_fit_the_document_are_a_crash(facts: dict[str, Any]) -> None:
    found = collected(finds(os=Os(kind="linux"), **facts), finds(limits=Limits(affinity_cpus=1)))
    assert [crash.part for crash in found.crashed] == ["probe:p0"]
    assert found.machine.os is None and found.machine.limits == Limits(affinity_cpus=1)


def test_ctrl_c_is_no_crash() -> None:
    def interrupted(source: Source) -> Found:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collected(interrupted)


def test_a_crash_does_not_tell_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: Source) -> Found:
        raise FileNotFoundError(2, "No such file", "/home/somebody/x")

    assert "somebody" not in collected(broken).crashed[0].detail


def test_a_module_is_loaded_when_its_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("late_probe")
    module.probe = finds(cpu=Cpu(name="late"))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "late_probe", module)
    assert collected("late_probe").machine.cpu == Cpu(name="late")


def row(fact: str, reason: str = "needs-root") -> UnknownFact:
    return UnknownFact(fact=fact, reason=reason)


def test_unknown_rows_are_sorted_and_the_first_of_each_stays() -> None:
    found = collected(
        finds(row("memory.modules"), row("cpu.boost")), finds(row("memory.modules", "timed-out"), row("cpu.boost"))
    )
    assert found.machine.unknowns == (row("cpu.boost"), row("memory.modules"))


def test_what_is_known_in_the_end_has_no_row() -> None:
    found = collected(finds(row("cpu.name"), row("cpu.model"), row("env")), finds(cpu=Cpu(name="x"), env={}))
    assert found.machine.unknowns == (row("cpu.model"),)
    filled = Machine(cpu=Cpu(name="x", model=1), unknowns=found.machine.unknowns)
    assert without_known_unknowns(filled).unknowns == ()


@pytest.mark.parametrize(
    ("dotted", "known"),
    [
        ("cpu", True),
        ("cpu.name", True),
        ("cpu.model", False),
        ("cpu.name.x", False),
        ("nonsense", False),
        ("memory.modules", False),
        ("gpus", True),
        ("gpus.gfx", False),
        ("gpus.name", True),
        ("torch.devices.gfx", False),
        ("cpu.cores.l3", True),
        ("nodes./dev/kfd.gid", True),
        ("nodes./dev/kfd.acl", False),
        ("nodes./dev/dri", False),
        ("env.OMP_NUM_THREADS", True),
        ("env.OMP_NUM", False),
        ("packages.torch.version", True),
        ("packages.torch-directml", False),
    ],
)
def test_is_known(dotted: str, known: bool) -> None:
    machine = Machine(
        cpu=Cpu(name="x", cores=(Core(cpus="0", l3=0), Core(cpus="1", l3=0))),
        gpus=(Gpu(name="a", gfx="gfx1100"), Gpu(name="b")),
        nodes={"/dev/kfd": Node(gid=0)},
        env={"OMP_NUM_THREADS": "1"},
        packages={"torch": Package(version="2.4")},
    )
    assert is_known(machine, dotted) is known


def test_origins_of_all_probes_are_kept() -> None:
    found = collected(
        finds(origins={"cpu.name": "/proc/cpuinfo"}), finds(origins={"cpu.name": "lscpu", "os.name": "/etc/os-release"})
    )
    assert found.origins == {"cpu.name": "lscpu", "os.name": "/etc/os-release"}


# The probes themselves


@pytest.mark.parametrize("platform", ["linux", "windows", "macos"])
def test_every_probe_takes_a_source_that_knows_nothing(platform: str) -> None:
    found = collect(RecordingSource({"platform": platform}, "empty"))
    assert found.crashed == ()
    assert set(found.seconds) == {name for name, _ in PROBES}


def test_every_recorded_machine_can_be_read_back(shared: Any) -> None:
    for tar in sorted((shared / "corpus/machines").glob("*.tar.gz")):
        found = collect(TreeSource.from_tar(tar, tar.name))
        assert found.crashed == (), tar.name
        plain = msgspec.json.decode(msgspec.json.encode(Document(found.machine).to_builtins()))
        assert read_document(plain).machine == found.machine, tar.name
