"""Which rules began or stopped firing, and what they say on the other side."""

from __future__ import annotations

import pytest

from doctor.diagnosis.model import Diagnosis, Finding, Fix, Needed, Silenced, Undecided
from doctor.diagnosis.rules import RuleSet, load_rules
from doctor.diagnosis.shift import State, concerns, got_worse, shift, state_of
from doctor.machine.crash import Crash


def finding(rule: str, severity: str = "warning", subject: str | None = None) -> Finding:
    return Finding(rule, severity, "cpu", subject, "title", "evidence", "why", Fix("fix"))


def diagnosis(*findings: Finding, **parts: object) -> Diagnosis:
    return Diagnosis(findings=findings, **parts)  # type: ignore[arg-type]


NEEDS = (Needed("limits.cpu_budget", "needs-root"),)


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (diagnosis(passed=("a-rule",)), State("passed")),
        (diagnosis(not_applicable=("a-rule",)), State("not-applicable")),
        (diagnosis(undecided=(Undecided("a-rule", NEEDS),)), State("undecided", needs=NEEDS)),
        (diagnosis(silenced=(Silenced("a-rule", "b-rule"),)), State("silenced", by="b-rule")),
        (diagnosis(finding("a-rule", subject="gfx1030")), State("other-subject")),
        (diagnosis(crashed=(Crash("rule:a-rule", "KeyError"),)), State("crashed")),
        (diagnosis(finding("b-rule")), State("absent")),
    ],
)
def test_a_rule_that_fires_on_one_side_says_something_else_on_the_other(other: Diagnosis, state: State) -> None:
    fires = diagnosis(finding("a-rule", subject="gfx1100"))
    assert state_of(other, "a-rule") == state
    began = shift(other, fires, RuleSet(())).began
    stopped = shift(fires, other, RuleSet(())).stopped
    assert [(moved.finding.subject, moved.other) for moved in began] == [("gfx1100", state)]
    assert [(moved.finding.subject, moved.other) for moved in stopped] == [("gfx1100", state)]


def test_what_fires_on_both_sides_is_told_only_with_another_severity() -> None:
    old, new = diagnosis(finding("a-rule"), finding("b-rule")), diagnosis(finding("a-rule"), finding("b-rule", "error"))
    there, back = shift(old, new, RuleSet(())), shift(new, old, RuleSet(()))
    assert there.began == there.stopped == back.began == back.stopped == ()
    assert [(moved.finding.rule, moved.before, got_worse(moved)) for moved in there.severity] == [
        ("b-rule", "warning", True)
    ]
    assert [got_worse(moved) for moved in back.severity] == [False]


def test_a_rule_brings_the_facts_that_it_reads() -> None:
    moved = shift(Diagnosis(), diagnosis(finding("threads-exceed-cpu-budget", "error")), load_rules()).began[0]
    assert {"torch.num_threads", "limits.cpu_budget"} <= set(moved.reads)
    assert concerns("torch.num_threads", moved.reads)
    assert not concerns("torch.version", moved.reads)


@pytest.mark.parametrize(
    ("fact", "read", "of_it"),
    [
        ("gpus[1002:744c].driver_version", "gpus.driver_version", True),
        ("gpus[1002:744c].driver_version", "gpus", True),
        ("gpus[1002:744c]", "gpus.gfx", True),
        ("packages.numpy", "packages.numpy.version", True),
        ("packages.numpy", "packages.numpy-stl", False),
        ("env.OMP_NUM_THREADS", "env", True),
        ("torch.version", "torch.hip", False),
    ],
)
def test_a_fact_of_a_difference_belongs_to_what_a_rule_reads(fact: str, read: str, of_it: bool) -> None:
    assert concerns(fact, (read,)) is of_it
