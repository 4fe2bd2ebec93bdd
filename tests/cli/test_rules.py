"""`amd-doctor rules` as a process."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import Doctor

RULES = Path(__file__).resolve().parents[2] / "rules"
IDS = sorted(path.stem for path in RULES.glob("*/*.yaml") if path.parent.name != "knowledge")


def test_every_rule_is_listed_beneath_its_area(doctor: Doctor) -> None:
    ended = doctor("rules")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "\x1b" not in ended.stdout
    listed = [line.split()[1] for line in lines if line.split()[:1] in (["error"], ["warning"], ["info"], ["hint"])]
    assert sorted(listed) == IDS
    assert lines.index("CPU") < lines.index("PyTorch")
    assert lines[-1] == f"{len(IDS)} rules. amd-doctor rules RULE explains one."


def test_one_area(doctor: Doctor) -> None:
    ended = doctor("rules", "cpu")
    assert "cpu-no-avx" in ended.stdout and "duplicate-openmp" not in ended.stdout
    assert doctor("rules", "gpu").returncode == 0


@pytest.mark.parametrize("name", IDS)
def test_every_rule_is_explained(name: str, doctor: Doctor) -> None:
    ended = doctor("rules", name, "--ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"{name}\n") and ended.stdout.isascii()
    for section in ("Why", "When", "It then says", "What to do", "Facts it needs", "References"):
        assert f"\n{section}\n" in ended.stdout


def test_an_explanation_says_when_why_and_what_to_do(doctor: Doctor) -> None:
    said = " ".join(doctor("rules", "cpu-no-avx").stdout.split())
    assert "CPU · error or warning · verified 20" in said
    assert "error not cpu.isa.avx" in said
    assert "give the guest the host's CPU model" in said
    assert "cpu.vendor, exercises, cpu.isa.avx, cpu.isa.avx2" in said
    assert "explains torch-import-fails, cpu-fpe-amd and cpu-exercise-fails" in said
    assert "explained by avx512-capability and cpu-no-avx" in " ".join(doctor("rules", "cpu-fpe-amd").stdout.split())


def test_json_has_every_rule_or_one(doctor: Doctor) -> None:
    whole = json.loads(doctor("rules", "--json").stdout)
    assert whole["schema"] == "amd-doctor/rules/1"
    assert sorted(rule["id"] for rule in whole["rules"]) == IDS
    (one,) = json.loads(doctor("rules", "cpu-no-avx", "--json").stdout)["rules"]
    assert one == next(rule for rule in whole["rules"] if rule["id"] == "cpu-no-avx")
    assert one["severities"] == ["error", "warning"]
    assert one["fires"][0] == {"severity": "error", "when": "not cpu.isa.avx"}
    assert one["references"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("memory-single-chanel", "Did you mean memory-single-channel?"),
        ("CPU", "Did you mean cpu"),
        ("xyzzy", "amd-doctor rules lists them."),
    ],
)
def test_an_unknown_name_is_a_wrong_usage(name: str, hint: str, doctor: Doctor) -> None:
    ended = doctor("rules", name)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"there is no rule or area '{name}'" in ended.stderr and hint in ended.stderr


FOLK_TABLE = (RULES / "knowledge" / "folk.yaml").read_text(encoding="utf-8")
FOLK = sorted(re.findall(r"^  - id: (folk-[\w-]+)$", FOLK_TABLE, re.MULTILINE))


def test_folk_advice_is_listed_beneath_its_verdict(doctor: Doctor) -> None:
    ended = doctor("rules", "folk")
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert sorted(line.strip() for line in lines if line.startswith("  folk-")) == FOLK
    at = [lines.index(line) for line in ("Wrong", "  folk-core-pinning", "Outdated", "  folk-rocm-wsl", "It depends")]
    assert at == sorted(at)
    assert lines[-1].startswith(f"{len(FOLK)} claims, as of 20")
    assert "amd-doctor rules folk" in doctor("rules").stdout


@pytest.mark.parametrize("name", FOLK)
def test_every_piece_of_it_is_explained(name: str, doctor: Doctor) -> None:
    ended = doctor("rules", name, "--ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"{name}\n") and ended.stdout.isascii()
    for section in ("Why", "Instead", "Checked here by", "Seen", "References"):
        assert f"\n{section}\n" in ended.stdout


def test_folk_advice_as_json(doctor: Doctor) -> None:
    whole = json.loads(doctor("rules", "folk", "--json").stdout)
    assert whole["schema"] == "amd-doctor/folk/1"
    assert sorted(claim["id"] for claim in whole["claims"]) == FOLK
    (one,) = json.loads(doctor("rules", "folk-optimizer-in-loop", "--json").stdout)["claims"]
    assert one in whole["claims"] and one["verdict"] == "wrong"
    assert "once, after model.to(device), never in the loop" in one["instead"]
    assert set(one["checked_by"]) <= set(IDS)


def test_folk_advice_that_is_not_there_is_a_wrong_usage(doctor: Doctor) -> None:
    ended = doctor("rules", "folk-core-pining")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Did you mean folk-core-pinning" in ended.stderr
    assert "Did you mean folk" in doctor("rules", "folks").stderr
