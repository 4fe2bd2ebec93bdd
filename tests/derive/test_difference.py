"""What changed between two looks at a machine."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from doctor.derive.difference import NONE, Change, Difference, difference, plain_name
from doctor.derive.difference_weight import CLASSES, LEFT_OUT, WEIGHTS, weight_of
from doctor.derive.facts import complete
from doctor.machine.document import read_document
from doctor.machine.model import Fact, Machine

MACHINES = Path(__file__).resolve().parents[1] / "machines"


def machine(**areas: Any) -> Machine:
    return read_document({"schema": "amd-doctor/machine/1", **areas}).machine


def changed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """`{fact: (before, after)}` of two machines that differ in these areas, and in nothing that one of them lacks."""
    found = difference(machine(**old), machine(**new))
    assert found.unknown_now == found.known_now == ()
    return {change.fact: (change.before, change.after) for change in found.changes}


def one(old: dict[str, Any], new: dict[str, Any]) -> Change:
    (change,) = difference(machine(**old), machine(**new)).changes
    return change


def sided(old: dict[str, Any], new: dict[str, Any]) -> tuple[list[str], list[str]]:
    found = difference(machine(**old), machine(**new))
    assert found.changes == ()
    return [row.fact for row in found.unknown_now], [row.fact for row in found.known_now]


TORCH = {"installed": True, "version": "2.9.1+rocm6.4", "hip": "6.4.43484", "cuda": "none", "build": "rocm"}


def test_another_wheel_is_one_change_for_each_of_its_facts_and_the_package_is_not_told_twice() -> None:
    new = {**TORCH, "version": "2.10.0+cpu", "hip": "none", "build": "cpu"}
    found = difference(
        machine(torch=TORCH, packages={"torch": {"version": "2.9.1+rocm6.4"}}),
        machine(torch=new, packages={"torch": {"version": "2.10.0"}}),
    )
    assert [(row.fact, row.before, row.after, row.direction) for row in found.changes] == [
        ("torch.version", "2.9.1+rocm6.4", "2.10.0+cpu", "up"),
        ("torch.build", "rocm", "cpu", None),
        ("torch.hip", "6.4.43484", "none", None),
    ]
    assert {row.weight for row in found.changes} == {"pytorch"}


def test_metadata_that_disagree_with_the_files_are_told() -> None:
    old = {"torch": TORCH, "packages": {"torch": {"version": "2.9.1+rocm6.4"}}}
    new = {"torch": TORCH, "packages": {"torch": {"version": "2.10.0"}}}
    assert changed(old, new) == {"packages.torch": ("2.9.1+rocm6.4", "2.10.0")}


def test_packages_go_by_name_and_missing_ones_are_not_installed() -> None:
    old = {"packages": {"numpy": {"version": "1.26.4"}, "mkl": {"version": "2024.0"}, "six": {}}}
    new = {"packages": {"numpy": {"version": "2.3.1"}, "zope.interface": {"version": "7.0"}}}
    assert changed(old, new) == {
        "packages.numpy": ("1.26.4", "2.3.1"),
        "packages.mkl": ("2024.0", NONE),
        "packages.six": ("installed", NONE),
        "packages.zope.interface": (NONE, "7.0"),
    }
    moved = {row.fact: row.direction for row in difference(machine(**old), machine(**new)).changes}
    assert moved["packages.numpy"] == "up"
    update = one({"packages": {"zope.x": {"version": "7.0"}}}, {"packages": {"zope.x": {"version": "6.0"}}})
    assert (update.direction, update.weight) == ("down", "packages")


def test_when_a_package_was_installed_is_no_change_but_by_what_is() -> None:
    old = {"packages": {"numpy": {"version": "2.3.1", "installer": "pip", "installed_at": "2026-01-01T00:00:00Z"}}}
    new = {"packages": {"numpy": {"version": "2.3.1", "installer": "conda", "installed_at": "2026-02-02T00:00:00Z"}}}
    assert changed(old, new) == {"packages.numpy.installer": ("pip", "conda")}
    assert difference(machine(**old), machine(**new)).changes[0].direction is None


def test_of_a_partial_list_a_missing_package_or_variable_is_not_known() -> None:
    partly = {"unknowns": [{"fact": "packages", "reason": "not-in-source"}, {"fact": "env", "reason": "not-in-source"}]}
    full = {"packages": {"torch": {"version": "2.9.1"}, "mkl": {"version": "2024.0"}}, "env": {"OMP_NUM_THREADS": "8"}}
    some = {"packages": {"torch": {"version": "2.9.1"}}, "env": {}, **partly}
    assert sided(full, some) == (["env.OMP_NUM_THREADS", "packages.mkl"], [])
    assert sided(some, full) == ([], ["env.OMP_NUM_THREADS", "packages.mkl"])


def test_variables_that_are_set_and_unset() -> None:
    old = {"env": {"OMP_NUM_THREADS": "8", "KMP_BLOCKTIME": "0"}}
    new = {"env": {"OMP_NUM_THREADS": "1", "HSA_OVERRIDE_GFX_VERSION": "10.3.0"}}
    assert changed(old, new) == {
        "env.OMP_NUM_THREADS": ("8", "1"),
        "env.KMP_BLOCKTIME": ("0", NONE),
        "env.HSA_OVERRIDE_GFX_VERSION": (NONE, "10.3.0"),
    }


def test_what_changes_by_itself_is_left_out() -> None:
    def at(seconds: float, count: int) -> dict[str, Any]:
        return {
            "sources": [{"kind": "live", "name": "this machine", "taken_at": f"2026-11-{count:02}T00:00:00Z"}],
            "memory": {"total_bytes": 67351707648 + 40960 * count, "available_bytes": 10**9 * count},
            "torch": {"installed": True, "import_seconds": seconds},
            "exercises": [{"name": "matmul", "device": "cpu", "outcome": "ok", "seconds": seconds}],
            "limits": {"cgroup": {"nr_periods": count, "nr_throttled": count}, "max_processes": 256961 + count},
            "python": {"chosen_by": f"way {count}"},
            "measurements": {"dtype": {"float32_seconds": seconds}},
            "cpu": {"max_mhz": 5083.398 + count / 100},
            "libraries": [{"kind": "blas", "name": "openblas", "path": f"~/venv-{count}/libopenblas.so"}],
            "log": [{"kind": "import-error", "about": "libx.so", "text": f"line {count}", "times": count}],
        }

    assert difference(machine(**at(1.4, 1)), machine(**at(2.8, 2))) == Difference()


def test_an_amount_that_is_another_is_told() -> None:
    assert changed({"memory": {"total_bytes": 64 << 30}}, {"memory": {"total_bytes": 32 << 30}}) == {
        "memory.total_bytes": (64 << 30, 32 << 30)
    }


def test_what_was_known_and_is_not_now_is_told_apart_with_its_whole_part() -> None:
    whole = {"os": {"kind": "linux", "kernel": "6.12.1"}, "memory": {"modules": [{"locator": "A", "size_bytes": 1}]}}
    assert sided(whole, {"os": {"kind": "linux"}}) == (["os.kernel", "memory"], [])
    assert sided({"os": {"kind": "linux"}}, whole) == ([], ["os.kernel", "memory"])
    assert sided({"limits": {"cgroup": {}}}, {}) == ([], [])  # an empty part knows nothing


def test_fields_of_a_torch_that_is_gone_are_not_unknown() -> None:
    assert changed({"torch": {**TORCH, "num_threads": 8}}, {"torch": {"installed": False}}) == {
        "torch.installed": (True, False)
    }
    node = {"exists": True, "readable": True, "gid": 992}
    assert changed({"nodes": {"/dev/kfd": node}}, {"nodes": {"/dev/kfd": {"exists": False}}}) == {
        "nodes[/dev/kfd].exists": (True, False)
    }


def test_a_node_that_was_not_looked_at_is_not_known() -> None:
    assert sided({"nodes": {"/dev/kfd": {"exists": True}}}, {"nodes": {}}) == (["nodes[/dev/kfd]"], [])


XTX = {"pci_id": "1002:744c", "name": "AMD Radeon RX 7900 XTX", "pci_address": "0000:03:00.0", "hip_index": 0}
IGPU = {"pci_id": "1002:164e", "name": "AMD Radeon Graphics", "pci_address": "0000:03:00.0", "hip_index": 0}


def test_a_gpu_keeps_its_identity_when_another_one_takes_its_place() -> None:
    moved = {**XTX, "pci_address": "0000:0d:00.0", "hip_index": 1}
    assert changed({"gpus": [XTX]}, {"gpus": [IGPU, moved]}) == {
        "gpus[1002:744c].hip_index": (0, 1),
        "gpus[1002:744c].pci_address": ("0000:03:00.0", "0000:0d:00.0"),
        "gpus[1002:164e]": (NONE, IGPU),
    }


def test_cards_of_one_make_go_by_their_address() -> None:
    cards = [{**XTX, "pci_address": f"0000:{at}3:00.0", "kernel_driver": "amdgpu"} for at in range(4)]
    other = [*cards[:2], {**cards[2], "kernel_driver": "vfio-pci"}]
    assert changed({"gpus": cards}, {"gpus": other}) == {
        "gpus[0000:23:00.0].kernel_driver": ("amdgpu", "vfio-pci"),
        "gpus[0000:33:00.0]": (cards[3], NONE),
    }


def test_rows_without_a_name_go_by_their_place() -> None:
    old, new = ({"torch": {"devices": [{"gfx": gfx}, {"gfx": "gfx1036"}]}} for gfx in ("gfx1100", "gfx1030"))
    assert changed(old, new) == {"torch.devices[0].gfx": ("gfx1100", "gfx1030")}


def test_a_memory_module_that_runs_slower() -> None:
    def modules(mts: int) -> dict[str, Any]:
        rows = [{"locator": f"DIMM_{bank}2", "bank": "P0 CHANNEL " + bank, "configured_mts": mts} for bank in "AB"]
        return {"memory": {"modules": rows}}

    found = difference(machine(**modules(6000)), machine(**modules(4800))).changes
    assert [row.fact for row in found] == [
        "memory.modules[DIMM_A2].configured_mts",
        "memory.modules[DIMM_B2].configured_mts",
    ]
    assert {row.weight for row in found} == {"power"}


def test_exercises_go_by_name_and_device_and_one_that_was_not_run_is_unknown() -> None:
    def rows(**outcomes: str) -> dict[str, Any]:
        return {"exercises": [{"name": name, "device": "cpu", "outcome": word} for name, word in outcomes.items()]}

    found = difference(machine(**rows(matmul="ok", conv="ok")), machine(**rows(matmul="signal")))
    assert [(row.fact, row.before, row.after, row.weight) for row in found.changes] == [
        ("exercises[matmul cpu].outcome", "ok", "signal", "effects")
    ]
    assert [row.fact for row in found.unknown_now] == ["exercises[conv cpu]"]


def test_how_an_exercise_ended_is_known_also_where_there_is_nothing_to_say() -> None:
    old = {"exercises": [{"name": "matmul", "device": "cpu", "outcome": "ok"}]}
    new = {"exercises": [{"name": "matmul", "device": "cpu", "outcome": "signal", "detail": "SIGFPE"}]}
    assert changed(old, new) == {
        "exercises[matmul cpu].outcome": ("ok", "signal"),
        "exercises[matmul cpu].detail": (NONE, "SIGFPE"),
    }


def test_sets_say_what_joined_and_left_whatever_their_order() -> None:
    old = {"cpu": {"flags": ["fpu", "avx2", "avx512f"]}}
    assert difference(machine(**old), machine(cpu={"flags": ["avx512f", "fpu", "avx2"]})) == Difference()
    change = one(old, {"cpu": {"flags": ["fpu", "avx2", "avx_vnni"]}})
    assert (change.added, change.removed) == (("avx_vnni",), ("avx512f",))


def test_the_order_of_a_search_path_means_something() -> None:
    old, new = ({"rocm": {"library_path": path}} for path in (["/opt/a", "/opt/b"], ["/opt/b", "/opt/a"]))
    change = one(old, new)
    assert (change.before, change.added) == (("/opt/a", "/opt/b"), ())


def test_the_kernel_command_line_is_a_set_of_parameters_without_the_kernel_itself() -> None:
    def line(text: str) -> dict[str, Any]:
        return {"os": {"kernel_cmdline": text}}

    old = "BOOT_IMAGE=/vmlinuz-6.1.0-18 root=UUID=uuid-1 ro quiet"
    assert changed(line(old), line("BOOT_IMAGE=/vmlinuz-6.1.0-21 root=UUID=uuid-2 quiet ro")) == {}
    change = one(line(old), line("BOOT_IMAGE=/vmlinuz-6.1.0-18 ro quiet amd_iommu=off ttm.pages_limit=8388608"))
    assert (change.added, change.removed) == (("amd_iommu=off", "ttm.pages_limit=8388608"), ())


def test_a_picture_of_caches_is_one_fact_and_more_knowledge_is_no_change() -> None:
    def groups(*sizes: int | None) -> dict[str, Any]:
        rows = [{"cpus": f"{at}", "size_bytes": size} for at, size in enumerate(sizes)]
        return {"cpu": {"l3_groups": [{k: v for k, v in row.items() if v is not None} for row in rows]}}

    assert list(changed(groups(32, 32), groups(96, 32))) == ["cpu.l3_groups"]
    assert difference(machine(**groups(32, None)), machine(**groups(32, 32))) == Difference()
    assert list(changed(groups(32, 32), groups(32))) == ["cpu.l3_groups"]


@pytest.mark.parametrize(
    ("names", "moved"), [(("Ubuntu 24.04", "Ubuntu 26.04"), "up"), (("Debian GNU/Linux 12", "Ubuntu 26.04"), None)]
)
def test_releases_of_two_distributions_have_no_order(names: tuple[str, str], moved: str | None) -> None:
    old, new = ({"os": {"name": name, "version": number}} for name, number in zip(names, ("24", "26"), strict=True))
    found = difference(machine(**old), machine(**new)).changes
    assert {row.fact: row.direction for row in found} == {"os.name": None, "os.version": moved}


def test_the_order_is_that_of_causes() -> None:
    old = {
        "os": {"kernel": "6.12.1", "group_names": ["video", "render"]},
        "cpu": {"name": "A", "governor": "performance"},
        "limits": {"cpu_budget": 16},
        "python": {"version": "3.12.1"},
        "packages": {"numpy": {"version": "1.26"}, "requests": {"version": "1"}, "triton": {"version": "3"}},
        "torch": {"version": "2.9.1", "num_threads": 16, "importable": True},
        "gpus": [{"pci_id": "1002:744c", "driver_version": "31.0.1"}],
        "env": {"OMP_NUM_THREADS": "16"},
        "intent": {"backend": "rocm"},
    }
    new = {
        "os": {"kernel": "6.13.0", "group_names": ["video"]},
        "cpu": {"name": "B", "governor": "powersave"},
        "limits": {"cpu_budget": 8},
        "python": {"version": "3.13.1"},
        "packages": {"numpy": {"version": "2.0"}, "requests": {"version": "2"}, "triton": {"version": "4"}},
        "torch": {"version": "2.10.0", "num_threads": 8, "importable": False},
        "gpus": [{"pci_id": "1002:744c", "driver_version": "32.0.1"}],
        "env": {"OMP_NUM_THREADS": "8"},
        "intent": {"backend": "cpu"},
    }
    assert list(changed(old, new)) == [
        "torch.version",
        "packages.triton",
        "python.version",
        "gpus[1002:744c].driver_version",
        "os.group_names",
        "env.OMP_NUM_THREADS",
        "packages.numpy",
        "limits.cpu_budget",
        "cpu.governor",
        "os.kernel",
        "cpu.name",
        "torch.importable",
        "torch.num_threads",
        "packages.requests",
        "intent.backend",
    ]


def test_what_torch_asks_for_stands_near_it() -> None:
    def installed(version: str) -> dict[str, Any]:
        torch = {"version": "2.9.1", "requires": ["filelock", 'optree>=0.13; extra == "optree"']}
        return {"packages": {"torch": torch, "filelock": {"version": version}, "optree": {"version": version}}}

    found = difference(machine(**installed("1.0")), machine(**installed("2.0"))).changes
    assert {row.fact: row.weight for row in found} == {"packages.filelock": "libraries", "packages.optree": "packages"}


def _facts(kind: Any, path: str = "") -> list[str]:
    """Every dotted fact of the document's model."""
    found = []
    for name, hint in get_type_hints(kind).items():
        fact = f"{path}.{name}" if path else name
        below = [inner for inner in _kinds(hint) if isinstance(inner, type) and issubclass(inner, Fact)]
        found += [fact] if not below else [each for inner in below for each in _facts(inner, fact)]
    return found


def _kinds(hint: Any) -> list[Any]:
    arguments = getattr(hint, "__args__", ())
    return [hint, *(kind for argument in arguments for kind in _kinds(argument))]


def test_every_fact_of_the_document_has_a_class_or_is_left_out_and_every_name_is_a_fact() -> None:
    facts = _facts(Machine)
    assert len(facts) > 150
    for fact in facts:
        parts = [fact[:end] for end, char in enumerate(fact + ".") if char == "."]
        named = any(part in names for names in CLASSES.values() for part in parts)
        assert named or any(part in LEFT_OUT for part in parts), f"{fact}: give it a weight class"
    for name in [*(name for names in CLASSES.values() for name in names), *LEFT_OUT]:
        assert any(fact == name or fact.startswith(f"{name}.") for fact in facts), f"{name} is no fact"


def test_times_and_free_memory_are_left_out() -> None:
    moving = [fact for fact in _facts(Machine) if re.search(r"(free|available)_\w*bytes$|seconds$|_at$", fact)]
    assert len(moving) >= 5
    for fact in moving:
        parts = [fact[:end] for end, char in enumerate(fact + ".") if char == "."]
        taken = fact.startswith("packages.")  # a package is compared by its version and its installer
        assert taken or fact == "memory.peak_bytes_per_second" or any(part in LEFT_OUT for part in parts), fact


def test_the_longest_name_decides_the_class() -> None:
    assert weight_of("torch.importable", frozenset())[0] == "effects"
    assert weight_of("torch.arch_list", frozenset())[0] == "pytorch"
    assert weight_of("cpu.isa.avx2", frozenset())[0] == "hardware"


def _documents() -> dict[str, Machine]:
    found = {}
    for path in sorted(MACHINES.glob("*.json")):
        plain = json.loads(path.read_text(encoding="utf-8"))
        if str(plain.get("schema", "")).startswith("amd-doctor/machine/"):
            found[path.stem] = complete(read_document(plain).machine)
    return found


def test_of_any_two_machines_the_way_back_is_the_mirror_of_the_way_there() -> None:
    documents = _documents()
    assert len(documents) >= 5
    for old in documents.values():
        assert difference(old, old) == Difference()
        for new in documents.values():
            there, back = difference(old, new), difference(new, old)
            assert {(row.fact, str(row.before), str(row.after)) for row in there.changes} == {
                (row.fact, str(row.after), str(row.before)) for row in back.changes
            }
            assert {row.fact for row in there.unknown_now} == {row.fact for row in back.known_now}
            ranks = [WEIGHTS.index(row.weight) for row in there.changes]
            assert ranks == sorted(ranks)
            msgspec.json.encode(there)


def test_a_difference_of_field_cases_names_facts_of_both(shared: Path) -> None:
    cases = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((shared / "field").glob("*.json"))]
    machines = [complete(read_document(case["machine"]).machine) for case in cases]
    for old, new in pairwise(machines):
        found = difference(old, new)
        told = [row.fact for row in (*found.changes, *found.unknown_now, *found.known_now)]
        assert len(told) == len(set(told))
        assert not any(plain_name(fact) in LEFT_OUT for fact in told)
