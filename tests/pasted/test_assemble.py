from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.machine.model import (
    Contradiction,
    Cpu,
    Gpu,
    LogLine,
    Machine,
    Memory,
    Os,
    Package,
    Python,
    Rocm,
    SourceRow,
    Torch,
    TorchDirectml,
    UnknownFact,
    Windows,
)
from doctor.machine.unknowns import is_partial
from doctor.pasted.agreement import agreed, same_cpu
from doctor.pasted.assemble import Assembled, Told, assembled
from doctor.pasted.gpu_rows import matched
from doctor.pasted.parts import Part
from tests.pasted.judging import machine_of, parts, paste, serious

LINUX = Os(kind="linux", wsl=0)


def put_together(*pieces: tuple[str, Machine] | Part) -> Assembled:
    told = [piece if isinstance(piece, Part) else Part(piece[0], piece[1], span=(0, 9)) for piece in pieces]
    return assembled([Told(part, f"{number}.txt") for number, part in enumerate(told)])


def contradicted(machine: Machine) -> dict[str | None, tuple[str | None, str | None]]:
    return {row.fact: (row.kept, row.dropped) for row in machine.contradictions or ()}


def packages(**versions: str) -> dict[str, Package]:
    return {name.replace("_", "-"): Package(version=version) for name, version in versions.items()}


# Nothing, one, and pieces that fit together


def test_no_part_is_an_unknown_machine() -> None:
    machine = assembled([]).machine
    assert machine.cpu is None and machine.contradictions is None and machine.log is None
    assert {row.reason for row in machine.unknowns or ()} == {"not-in-source"}


def test_pieces_of_one_machine_fill_each_other_in() -> None:
    whole = put_together(
        ("lscpu", Machine(os=LINUX, cpu=Cpu(name="AMD Ryzen 5 5600 6-Core Processor", physical_cores=6))),
        ("collect_env", Machine(os=Os(kind="linux", name="Ubuntu 24.04"), torch=Torch(version="2.6.0+cpu"))),
        ("rocminfo", Machine(cpu=Cpu(name="AMD Ryzen 5 5600 6-Core Processor"), rocm=Rocm(rocminfo_gfx=("gfx1032",)))),
    ).machine
    assert whole.os == Os(kind="linux", name="Ubuntu 24.04", wsl=0)
    assert whole.cpu is not None and whole.cpu.physical_cores == 6
    assert whole.torch is not None and whole.rocm is not None and whole.contradictions is None
    assert [row.kind for row in whole.sources or ()] == ["lscpu", "collect_env", "rocminfo"]


def test_a_document_keeps_its_sources_and_its_unknowns() -> None:
    row = SourceRow(kind="live", name="here", taken_at="2026-11-30T12:00:00Z")
    unknown = UnknownFact("memory.modules", "needs-root", "run with sudo")
    whole = put_together(
        ("document", Machine(sources=(row,), unknowns=(unknown,), memory=Memory(total_bytes=1))),
        ("pip-list", Machine(packages=packages(torch="2.6.0"))),
    ).machine
    assert whole.sources == (row, SourceRow(kind="pip-list", name="1.txt"))
    assert unknown in (whole.unknowns or ())


def test_what_a_later_text_tells_is_not_unknown_any_more() -> None:
    row = UnknownFact("gpus", "probe-failed")
    gpus = Machine(gpus=(Gpu(vendor="amd"),))
    whole = put_together(("document", Machine(unknowns=(row,))), ("rocminfo", gpus)).machine
    assert "gpus" not in {row.fact for row in whole.unknowns or ()}


def test_origins_of_all_parts_are_kept() -> None:
    whole = put_together(
        Part("lscpu", Machine(cpu=Cpu(model=33)), {"cpu.model": "lscpu: Model"}),
        Part("collect_env", Machine(torch=Torch(version="2.6.0")), {"torch.version": "collect_env"}),
    )
    assert whole.origins == {"cpu.model": "lscpu: Model", "torch.version": "collect_env"}


def test_logs_are_joined() -> None:
    row, other = LogLine(kind="hipblaslt", about="hipBLASLt"), LogLine(kind="import-error", about="x")
    whole = put_together(("log", Machine(log=(row,))), ("log", Machine(log=(other, row)))).machine
    assert whole.log == (row, other)


# Who wins


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("collect_env", "collect_env", 16),  # the later one
        ("torch-config", "collect_env", 8),  # the more direct one
        ("document", "torch-config", 8),
        ("collect_env", "document", 16),
    ],
)
def test_the_more_direct_source_wins_and_among_equals_the_later(first: str, second: str, kept: int) -> None:
    whole = put_together((first, Machine(torch=Torch(num_threads=8))), (second, Machine(torch=Torch(num_threads=16))))
    assert whole.machine.torch == Torch(num_threads=kept)
    assert contradicted(whole.machine) == {"torch.num_threads": (str(kept), str(24 - kept))}


def test_a_contradiction_names_both_texts() -> None:
    whole = put_together(
        Part("collect_env", Machine(torch=Torch(is_available=True)), span=(11, 40)),
        Part("collect_env", Machine(torch=Torch(is_available=False)), span=(0, 30)),
    ).machine
    assert whole.contradictions == (
        Contradiction(
            fact="torch.is_available",
            kept="no",
            kept_from="collect_env, line 1 of 1.txt",
            dropped="yes",
            dropped_from="collect_env, line 12 of 0.txt",
        ),
    )


def test_a_wheel_has_a_shorter_version_than_its_pytorch_and_that_is_no_contradiction() -> None:
    imported, listed = Torch(installed=True, version="2.6.0+cu124"), Torch(installed=True, version="2.6.0")
    whole = put_together(
        ("collect_env", Machine(torch=imported, packages=packages(torch="2.6.0"))),
        ("pip-list", Machine(torch=listed, packages=packages(torch="2.6.0", numpy="2.2.2"))),
    ).machine
    assert whole.contradictions is None
    assert whole.torch is not None and whole.torch.version == "2.6.0+cu124"
    assert set(whole.packages or {}) == {"torch", "numpy"}


def test_of_two_pytorchs_nothing_is_mixed() -> None:
    before = Machine(
        torch=Torch(installed=True, version="2.6.0+cu124", cuda="12.4", hip="none", build="cuda"),
        packages=packages(torch="2.6.0", torchvision="0.21.0"),
        cpu=Cpu(name="AMD Ryzen 5 5600"),
    )
    after = Machine(
        torch=Torch(installed=True, version="2.6.0+rocm6.2.4"),
        packages=packages(torch="2.6.0+rocm6.2.4", pytorch_triton_rocm="3.2.0"),
    )
    whole = put_together(("collect_env", before), ("pip-list", after)).machine
    assert whole.torch == Torch(installed=True, version="2.6.0+rocm6.2.4")
    assert set(whole.packages or {}) == {"torch", "pytorch-triton-rocm"}
    assert whole.cpu == Cpu(name="AMD Ryzen 5 5600")
    assert contradicted(whole) == {"torch.version": ("2.6.0+rocm6.2.4", "2.6.0+cu124")}
    back = put_together(("pip-list", after), ("collect_env", before)).machine
    assert back.torch is not None and back.torch.build == "cuda"
    assert set(back.packages or {}) == {"torch", "torchvision"}


def test_what_looked_at_the_machine_beats_a_later_list() -> None:
    whole = put_together(
        ("live", Machine(torch=Torch(version="2.6.0+cpu", build="cpu"))),
        ("pip-list", Machine(torch=Torch(version="2.4.1"), packages=packages(torch="2.4.1"))),
    ).machine
    assert whole.torch == Torch(version="2.6.0+cpu", build="cpu") and whole.packages is None


def test_of_two_pythons_nothing_is_mixed() -> None:
    whole = put_together(
        ("collect_env", Machine(python=Python(version="3.13.1"), packages=packages(numpy="2.2.2"), os=LINUX)),
        ("collect_env", Machine(python=Python(version="3.12.7"), torch=Torch(version="2.6.0"))),
    ).machine
    assert whole.python == Python(version="3.12.7") and whole.packages is None and whole.os == LINUX


def test_another_processor_is_another_machine() -> None:
    first = Machine(cpu=Cpu(name="AMD Ryzen 7 5800X 8-Core Processor", family=25), gpus=(Gpu(gfx="gfx1030"),))
    second = Machine(cpu=Cpu(name="AMD Ryzen 9 7950X 16-Core Processor", family=25), torch=Torch(version="2.6.0"))
    whole = put_together(("collect_env", first), ("collect_env", second)).machine
    assert whole.gpus is None and whole.cpu == second.cpu
    assert [row.name for row in whole.sources or ()] == ["1.txt"]
    (row,) = whole.contradictions or ()
    assert row.fact == "cpu.name" and "set aside" in (row.dropped_from or "")


def test_another_system_is_another_machine_but_wsl_is_in_windows() -> None:
    windows = Machine(os=Os(kind="windows", name="Windows 11"), windows=Windows(build=22631))
    whole = put_together(("systeminfo", windows), ("collect_env", Machine(os=LINUX))).machine
    assert whole.windows is None and contradicted(whole) == {"os.kind": ("linux", "windows")}
    in_wsl = put_together(("systeminfo", windows), ("collect_env", Machine(os=Os(kind="linux", wsl=2)))).machine
    assert in_wsl.os == Os(kind="linux", wsl=2) and in_wsl.windows == Windows(build=22631)
    assert in_wsl.contradictions is None


# Lists


@pytest.mark.parametrize(("partial", "kept"), [((), {"torch"}), (("packages",), {"torch", "triton"})])
def test_a_whole_list_replaces_an_older_one(partial: tuple[str, ...], kept: set[str]) -> None:
    whole = put_together(
        Part("collect_env", Machine(packages=packages(torch="2.6.0", triton="3.2.0")), partial=("packages",)),
        Part("pip-list", Machine(packages=packages(torch="2.6.0")), partial=partial),
    ).machine
    assert set(whole.packages or {}) == kept
    assert is_partial(whole, "packages") is bool(partial)


def test_a_partial_list_beside_a_whole_one_is_whole() -> None:
    whole = put_together(
        Part("document", Machine(env={"OMP_NUM_THREADS": "8"})),
        Part("collect_env", Machine(env={"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "4"}), partial=("env",)),
    ).machine
    assert whole.env == {"OMP_NUM_THREADS": "8"} and not is_partial(whole, "env")
    assert contradicted(whole) == {"env.MKL_NUM_THREADS": ("none", "4")}


def test_a_list_without_the_plugin_does_not_take_away_what_was_seen() -> None:
    whole = put_together(
        ("live", Machine(torch_directml=TorchDirectml(installed=True, version="0.2.5"))),
        ("pip-list", Machine(torch_directml=TorchDirectml(installed=False), packages={})),
    ).machine
    assert whole.torch_directml == TorchDirectml(installed=True, version="0.2.5")


def test_a_ticket_is_judged_by_its_last_state() -> None:
    text = paste("ticket.md")
    before = text.partition("Then I upgraded")[0]
    assert serious([before]) == {"gfx-not-in-arch-list"}
    assert serious([text]) == set(), "what the newer PyTorch sees is not in the ticket"
    assert contradicted(machine_of(text)) == {"torch.version": ("2.6.0+rocm6.2.4", "2.5.1+rocm6.2")}


# GPUs


def test_what_two_tools_say_of_a_card_belongs_together() -> None:
    rocminfo = Gpu(vendor="amd", name="AMD Radeon RX 6600", pci_id="1002:73ff", gfx="gfx1032")
    smi = Gpu(vendor="amd", pci_id="1002:73ff", pci_address="0000:03:00.0", vram_total_bytes=8 << 30)
    whole = put_together(("rocminfo", Machine(gpus=(rocminfo,))), ("rocm-smi", Machine(gpus=(smi,)))).machine
    assert whole.gpus == (msgspec.structs.replace(rocminfo, pci_address="0000:03:00.0", vram_total_bytes=8 << 30),)


CARD, IGPU = Gpu(vendor="amd", gfx="gfx1030"), Gpu(vendor="amd", gfx="gfx1036")
NVIDIA = Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 3090")
NAMED = Gpu(vendor="amd", name="AMD Radeon Graphics")


@pytest.mark.parametrize(
    ("older", "newer", "pairs"),
    [
        ((CARD, IGPU), (IGPU, CARD), [(IGPU, IGPU), (CARD, CARD)]),
        ((NVIDIA, CARD), (CARD,), [(CARD, CARD), (NVIDIA, None)]),
        ((CARD,), (CARD, IGPU), [(CARD, CARD), (None, IGPU)]),
        ((CARD, NVIDIA), (CARD, IGPU), None),
        ((NAMED,), (IGPU,), [(NAMED, IGPU)]),
        ((CARD, CARD), (CARD, CARD), None),
    ],
)
def test_which_card_is_which(older: Any, newer: Any, pairs: Any) -> None:
    assert matched(older, newer) == pairs


def test_cards_that_cannot_be_told_apart_are_taken_from_one_text() -> None:
    older, newer = Machine(gpus=(CARD, NVIDIA)), Machine(gpus=(CARD, IGPU, IGPU))
    whole = put_together(("rocminfo", older), ("amd-smi", newer)).machine
    assert whole.gpus == (CARD, IGPU, IGPU)
    assert contradicted(whole) == {"gpus": ("3 of them", "2 of them")}


# Do two words mean the same?


@pytest.mark.parametrize(
    ("fact", "older", "newer", "both"),
    [
        ("torch.version", "2.6.0", "2.6.0+cu124", "2.6.0+cu124"),
        ("torch.version", "2.6.0+cu124", "2.6.0", "2.6.0+cu124"),
        ("torch.version", "2.1", "2.13.0", None),
        ("torch.hip", "6.2.41133", "6.2.41133-dd7f95766", "6.2.41133-dd7f95766"),
        ("rocm.version", "6.2", "6.2.4", "6.2.4"),
        ("python.version", "3.12", "3.12.3", "3.12.3"),
        ("os.name", "Windows 11 Pro", "Microsoft Windows 11 Pro", "Microsoft Windows 11 Pro"),
        ("os.name", "Ubuntu 24.04", "Debian 12", None),
        ("memory.total_bytes", 34_359_738_368, 33_985_789_952, 33_985_789_952),
        ("memory.total_bytes", 34_359_738_368, 17_179_869_184, None),
        ("memory.available_bytes", 1, 2, 2),
        ("torch.num_threads", 8, 16, None),
        ("torch.is_available", True, False, None),
        ("cpu.l3_groups", (1, 2), (3, 4), (3, 4)),
        ("cpu.l3_groups", (1, 2), (3,), None),
        ("cpu.flags", ("a",), ("b", "c"), ("b", "c")),
        ("torch.hip", "none", "6.2.41133", None),
    ],
)
def test_agreement(fact: str, older: Any, newer: Any, both: Any) -> None:
    assert agreed(fact, older, newer) == both


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Cpu(name="AMD Ryzen 5 5600G with Radeon Graphics"), Cpu(name="AMD Ryzen 5 5600G"), True),
        (Cpu(name="AMD Ryzen 7 5800X 8-Core Processor"), Cpu(name="AMD Ryzen 7 5800X"), True),
        (Cpu(name="AMD Ryzen 7 5800X 8-Core Processor"), Cpu(name="AMD Ryzen 7 5700X 8-Core Processor"), False),
        (Cpu(family=25, model=33), Cpu(family=25, model=97), False),
        (Cpu(family=25), Cpu(name="AMD EPYC"), True),
        (Cpu(vendor="AuthenticAMD"), Cpu(vendor="GenuineIntel"), False),
    ],
)
def test_one_processor_or_two(one: Cpu, other: Cpu, same: bool) -> None:
    assert same_cpu(one, other) is same_cpu(other, one) is same


# Pieces of one text


def test_several_kinds_in_one_text() -> None:
    lscpu = paste("torch-2.0-old-name.txt").partition("CPU:\n")[2].partition("\n\n")[0]
    names = ("pip-list.txt", "torch-config.txt", "conda-list.txt")
    text = "\n".join([*(paste(name) for name in names), lscpu, "", paste("errors.log")])
    assert [part.kind for part in parts(text) if part.kind != "log"] == [
        "pip-list", "torch-config", "torch-config", "conda-list", "lscpu",
    ]  # fmt: skip
    assert {row.kind for part in parts(text) for row in part.machine.log or ()} == {
        "pip-no-distribution", "import-error", "invalid-device-function", "out-of-device-memory", "omp-duplicate",
        "hipblaslt",
    }  # fmt: skip


DOCUMENT = '{"schema": "amd-doctor/machine/1", "cpu": {"name": "AMD Ryzen 5 1600"}, "unknowns": []}'
CHECK = f'{{\n  "schema": "amd-doctor/check/1",\n  "version": "0.1.0",\n  "machine": {DOCUMENT},\n  "findings": []\n}}'


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (f"# Report\n\n```json\n{DOCUMENT}\n```\n", ["document"]),
        (f"# Report\n\n<details>\n\n```json\n{CHECK}\n```\n</details>\n", ["report"]),
        (f"$ amd-doctor check --json\n{CHECK}\n$\n", ["report"]),
        (f"> {CHECK.replace(chr(10), chr(10) + '> ')}\n", ["report"]),
        ("\n".join([DOCUMENT, "and", CHECK]), ["document", "report"]),
        ('{"schema": "amd-doctor/machine/99"}', ["unreadable"]),
    ],
)
def test_our_own_report_in_a_text(text: str, kinds: list[str]) -> None:
    found = parts(f"Hello,\n{text}")
    assert [part.kind for part in found] == kinds
    for part in found:
        cpu = part.machine.cpu
        assert (cpu is not None and cpu.name == "AMD Ryzen 5 1600") or "newer" in (part.note or "")


def test_a_name_that_every_igpu_has_contradicts_none() -> None:
    assert agreed("gpus.name", "AMD Radeon Graphics", "Barcelo") == "Barcelo"
    assert agreed("gpus.name", "Barcelo", "AMD Radeon(TM) Graphics") == "Barcelo"
    assert agreed("gpus.name", "Radeon RX 580 Series", "Barcelo") is None
