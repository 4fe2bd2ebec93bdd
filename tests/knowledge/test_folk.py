from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest

from doctor.diagnosis.rules import load_rules
from doctor.knowledge.folk import FolkClaim, folk_table

CLAIMS = {claim.id: claim for claim in folk_table().claims}


def test_ids_are_words_of_their_own_and_stand_once() -> None:
    assert len(CLAIMS) == len(folk_table().claims)
    assert all(name.startswith("folk-") and name == name.lower() for name in CLAIMS)
    assert date.fromisoformat(folk_table().date)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_each_says_why_what_instead_and_where_it_is_written(claim: FolkClaim) -> None:
    assert claim.why.strip() and claim.instead.strip() and claim.seen.strip()
    assert claim.references and all(address.startswith("https://") for address in claim.references)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_the_rules_that_look_at_it_exist(claim: FolkClaim) -> None:
    assert set(claim.checked_by) <= {rule.id for rule in load_rules().rules}


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        ("folk-optimizer-in-loop", "wrong", "once, after model.to(device)"),
        ("folk-rocm-is-available", "wrong", "is_available() must be True"),
        ("folk-core-pinning", "wrong", "taskset"),
        ("folk-directml-learning-rate", "wrong", "gradients of one batch"),
        ("folk-avx512-flags", "wrong", "F, BW, DQ and VL"),
        ("folk-directml-python", "outdated", "3.8 to 3.12"),
        ("folk-rocm-wsl", "outdated", "/dev/dxg"),
    ],
)
def test_what_is_asked_most(name: str, verdict: str, words: str) -> None:
    claim = CLAIMS[name]
    assert claim.verdict == verdict
    assert words in " ".join(f"{claim.why} {claim.instead}".split())


def test_no_claim_that_was_found_right_is_in_it(shared: Path) -> None:
    """Of the claims that were looked into, those found true are no folk advice to warn of."""
    with (shared / "knowledge" / "folk_claims.csv").open(encoding="utf-8") as file:
        found_true = [row["claim"] for row in csv.DictReader(file) if row["verdict"] == "true"]
    assert found_true and not {claim.claim for claim in CLAIMS.values()} & set(found_true)
