"""The parts of a report: what stays of a machine, how text of it is fenced, and in which order a long one is cut."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.derive.pytorch import pytorch_facts
from doctor.knowledge.known_packages import KNOWN_PACKAGES, is_known_package
from doctor.machine.document import read_document
from doctor.machine.model import Machine, Package
from doctor.present.markdown import block, code, folded, prose
from doctor.present.report_length import MOST, USUAL, fitted
from doctor.present.report_machine import reduced, short_document
from doctor.present.report_parts import Cuts, cuts_sentence
from tests.cli.test_report import without_code

ANY = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=40)


# Markdown


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("gfx1100", "`gfx1100`"),
        ("a ` b", "``a ` b``"),
        ("`", "`` ` ``"),
        ("``` x", "```` ``` x ````"),
        ("a\nb\x1b[31m", "`a b[31m`"),
        ("", ""),
    ],
)
def test_code_spans(text: str, span: str) -> None:
    assert code(text) == span


@given(ANY)
def test_a_code_span_holds_everything(text: str) -> None:
    assert without_code(code(text)).strip() == ""


@given(st.lists(ANY, max_size=6))
def test_a_block_holds_everything(lines: list[str]) -> None:
    fenced = block(lines)
    assert without_code("\n".join(fenced)) == ""
    assert len(fenced) == len(lines) + 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Set OMP_NUM_THREADS to 8 (8 of 16).", "Set OMP_NUM_THREADS to 8 (8 of 16)."),
        ("see https://x.example/a, or ask @me", "see `https://x.example/a`, or ask `@me`"),
        ("a <b>bold</b> *claim* #12", "a `<b>bold</b>` `*claim*` `#12`"),
        ("[a](b) `c` _d_ e_f ![g]", "`[a](b)` `` `c` `` `_d_` e_f `![g]`"),
    ],
)
def test_prose(text: str, shown: str) -> None:
    assert prose(text) == shown


@given(st.text("ab <>&*_[]()#@!|~`\\$-.:/w", max_size=30))
def test_no_sentence_means_more_than_it_says(text: str) -> None:
    outside = without_code(prose(text))
    assert not set("<>&*[]#@~|\\$") & set(outside)


def test_what_is_folded_is_still_markdown() -> None:
    assert folded("Facts", ["x"]) == ["<details><summary>Facts</summary>", "", "x", "", "</details>"]


# What stays of a machine


def machine(**areas: Any) -> Machine:
    return read_document({"schema": "amd-doctor/machine/1", **areas}).machine


def test_kernel_parameters_that_name_disks_and_hosts_are_left_out() -> None:
    cmdline = "BOOT_IMAGE=/x root=/dev/mapper/acme ro quiet amdgpu.gttsize=8192 ttm.pages_limit=9 nomodeset ip=dhcp"
    short = reduced(machine(os={"kind": "linux", "kernel_cmdline": cmdline}))
    assert short.machine.os is not None
    assert short.machine.os.kernel_cmdline == "amdgpu.gttsize=8192 ttm.pages_limit=9 nomodeset"
    assert short.kernel_parameters == 5


def test_groups_of_an_employer_are_left_out_but_for_the_owner_of_a_node() -> None:
    groups = ["acme-staff", "render", "gpu-users", "video"]
    nodes = {"/dev/kfd": {"exists": True, "group": "gpu-users"}}
    system = reduced(machine(os={"kind": "linux", "group_names": groups}, nodes=nodes)).machine.os
    assert system is not None and system.group_names == ("render", "gpu-users", "video")


def test_names_of_files_are_left_out() -> None:
    rows = [{"kind": "collect_env", "name": "jane.txt"}, {"kind": "collect_env", "name": "jane2.txt"}, {"kind": "log"}]
    sources = reduced(machine(sources=rows)).machine.sources or ()
    assert [(row.kind, row.name) for row in sources] == [("collect_env", None), ("log", None)]


def test_files_that_contradict_each_other_are_numbered() -> None:
    sources = [{"kind": "pip-list", "name": "jane.txt"}, {"kind": "collect_env", "name": "by jane.txt"}]
    row = {"fact": "torch.version", "kept_from": "pip-list, line 2 of jane.txt", "dropped_from": "by jane.txt"}
    (told,) = reduced(machine(sources=sources, contradictions=[row])).machine.contradictions or ()
    assert (told.kept_from, told.dropped_from) == ("pip-list, line 2 of file 1", "file 2")


PACKAGES = st.dictionaries(
    st.sampled_from(["torch", "numpy", "scipy", "pip", "acme", "acme-core", "nvidia-cublas-cu12", "transformers"]),
    st.builds(
        Package,
        version=st.sampled_from(["1.0", "2.2.2+cpu", None]),
        requires=st.none() | st.lists(st.sampled_from(["numpy", "torch>=2", "acme", "numpy; extra == 'x'"])).map(tuple),
        installed_at=st.sampled_from([None, "2026-01-01T10:00:00Z", "2026-01-01T10:01:00Z"]),
    ),
)


@given(PACKAGES)
def test_what_follows_from_packages_stays(packages: dict[str, Package]) -> None:
    from doctor.derive.overwritten import overwritten_facts

    whole = machine(torch={"installed": True, "version": "2.2.2+cpu"}, os={"kind": "linux"})
    whole = msgspec.structs.replace(whole, packages=packages)
    short = reduced(whole).machine
    assert pytorch_facts(short) == pytorch_facts(whole)
    before, after = overwritten_facts(whole), overwritten_facts(short)
    known = before.by_package is None or is_known_package(before.by_package)
    assert msgspec.structs.replace(after, by_package=None) == msgspec.structs.replace(before, by_package=None)
    assert after.by_package == (before.by_package if known else "package-1")
    assert not any("acme" in name for name in short.packages or {})
    assert len(packages) == len(short.packages or {}) + (short.packages_left_out or 0)
    assert reduced(short).machine == short


def test_known_packages_are_named_as_pip_names_them() -> None:
    import re

    for name in KNOWN_PACKAGES - {"_openmp_mutex"}:
        assert re.sub(r"[-_.]+", "-", name).lower() == name
    assert is_known_package("nvidia-cublas-cu12") and not is_known_package("acme-ml") and is_known_package("torch")


def test_cores_are_runs() -> None:
    cores = [{"cpus": f"{at},{at + 8}", "l3": at // 4} for at in range(8)]
    plain = {"schema": "amd-doctor/machine/1", "cpu": {"cores": cores, "sockets": 1}}
    short = short_document(plain)
    assert len(short["cpu"]["core_runs"]) == 2 and "cores" not in short["cpu"]
    assert read_document(json.loads(json.dumps(short))).machine == read_document(plain).machine


# Cutting


def test_a_report_is_cut_in_a_fixed_order_and_no_further_than_it_must() -> None:
    asked: list[Cuts] = []

    def render(cuts: Cuts) -> str:
        asked.append(cuts)
        return "x" * (USUAL + 1 if not cuts.healthy else USUAL)

    assert len(fitted(render)) == USUAL
    assert asked[-1] == Cuts(reasons=True, flags=True, healthy=True)
    assert [sum(map(bool, msgspec.structs.astuple(cuts)[:-1])) for cuts in asked] == [0, 1, 2, 3]


def test_more_is_lost_only_where_a_tracker_would_refuse_it() -> None:
    def render(cuts: Cuts) -> str:
        return "x" * (MOST + 1 if not cuts.facts else USUAL + 1)

    asked: list[Cuts] = []
    assert len(fitted(lambda cuts: (asked.append(cuts), render(cuts))[1])) == USUAL + 1
    assert asked[-1] == Cuts(reasons=True, flags=True, healthy=True, tune_table=True, facts=True)


def test_nothing_is_longer_than_a_tracker_takes() -> None:
    assert len(fitted(lambda cuts: "x" * 10**6)) == MOST


def test_what_was_cut_is_said() -> None:
    assert cuts_sentence(Cuts()) == ""
    said = cuts_sentence(Cuts(reasons=True, flags=True))
    assert "amd-doctor rules RULE" in said and "CPU flags" in said and "report --format json" in said
    for name in Cuts.__struct_fields__:
        cut: dict[str, Any] = {name: 5 if name == "findings" else True}
        assert cuts_sentence(Cuts(**cut)), name
