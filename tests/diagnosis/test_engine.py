from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.derive.facts import Derived
from doctor.derive.openmp import OpenmpFacts
from doctor.diagnosis import engine
from doctor.diagnosis.engine import diagnose, reason_for
from doctor.diagnosis.model import Diagnosis, Needed, Undecided
from doctor.diagnosis.rules import Rule, RuleFile, compile_rule, load_rules
from doctor.machine.model import Gpu, Limits, Machine, Os, Torch, UnknownFact


def rule(**fields: Any) -> Rule:
    plain = {
        "id": "some-rule",
        "area": "pytorch",
        "title": "A title",
        "severity": [{"error": "torch.num_threads > 2 * limits.cpu_budget"}],
        "evidence": "{torch.num_threads} threads; {limits.cpu_budget} CPUs",
        "why": "Because.",
        "fix": {"text": "Use {limits.cpu_budget}.", "linux": "export N={limits.cpu_budget}", "windows": "set N=1"},
        "references": ["https://example.org/"],
        "verified": "2026-11-30",
    } | fields
    return compile_rule(msgspec.convert(plain, RuleFile))


def run(machine: Machine, *rules: Rule, **options: Any) -> Diagnosis:
    return diagnose(machine, options.pop("derived", Derived()), rules or (rule(),), **options)


BUSY = Machine(os=Os(kind="linux"), torch=Torch(installed=True, num_threads=192), limits=Limits(cpu_budget=8))


def test_a_finding_says_what_is_and_what_to_do() -> None:
    (finding,) = run(BUSY).findings
    assert finding.evidence == "192 threads; 8 CPUs"
    assert finding.fix.text == "Use 8."
    assert finding.fix.commands == ("export N=8",)
    assert (finding.severity, finding.subject, finding.caused_by) == ("error", None, None)


def test_commands_are_those_of_the_machine_that_is_judged() -> None:
    def commands(kind: str | None) -> tuple[str, ...]:
        return run(msgspec.structs.replace(BUSY, os=Os(kind=kind))).findings[0].fix.commands

    assert commands("windows") == ("set N=1",)
    assert commands("macos") == commands("haiku") == commands(None) == ()


def test_a_needed_fact_that_is_unknown_leaves_the_text_and_takes_the_commands() -> None:
    (finding,) = run(BUSY, rule(needs=["torch.version"], evidence="x; {torch.version}")).findings
    assert finding.evidence == "x"
    assert (finding.fix.text, finding.fix.commands) == ("Use 8.", ())


@pytest.mark.parametrize(
    ("threads", "severity"),
    [(192, "error"), (16, "warning"), (9, "warning"), (8, None)],
)
def test_severities_are_tried_in_order(threads: int, severity: str | None) -> None:
    machine = msgspec.structs.replace(BUSY, torch=Torch(num_threads=threads))
    ladder = [{"error": "torch.num_threads > 16"}, {"warning": "torch.num_threads > limits.cpu_budget"}]
    diagnosis = run(machine, rule(severity=ladder))
    assert [finding.severity for finding in diagnosis.findings] == ([severity] if severity else [])
    assert diagnosis.passed == (() if severity else ("some-rule",))


def test_a_greater_severity_that_is_unknown_does_not_hide_a_smaller_one_that_holds() -> None:
    ladder = [{"error": "cpu.isa.avx"}, {"warning": "torch.num_threads > 8"}]
    diagnosis = run(BUSY, rule(severity=ladder))
    assert [finding.severity for finding in diagnosis.findings] == ["warning"]
    assert diagnosis.undecided == ()


def test_a_smaller_severity_that_stands_first_and_is_unknown_makes_the_rule_undecided() -> None:
    ladder = [{"info": "cpu.isa.avx"}, {"error": "torch.num_threads > 8"}]
    diagnosis = run(BUSY, rule(severity=ladder))
    assert diagnosis.findings == ()
    assert diagnosis.undecided == (Undecided("some-rule", (Needed("cpu.isa.avx", "not-in-source"),)),)


def test_not_applicable_passed_and_undecided() -> None:
    diagnosis = run(
        BUSY,
        rule(id="not-applicable", applies="not torch.installed"),
        rule(id="not-applicable-for-sure", applies="not torch.installed", severity=[{"error": "cpu.isa.avx"}]),
        rule(id="has-passed", severity=[{"error": "torch.num_threads > 500"}]),
        rule(id="has-passed-anyway", applies="cpu.isa.avx", severity=[{"error": "torch.num_threads > 500"}]),
        rule(id="un-decided", applies="cpu.isa.avx and torch.installed"),
        rule(id="un-decided-too", applies="cpu.isa.avx", severity=[{"error": "cpu.family > 23"}]),
    )
    assert diagnosis.not_applicable == ("not-applicable", "not-applicable-for-sure")
    assert diagnosis.passed == ("has-passed", "has-passed-anyway")
    assert [(row.rule, [need.fact for need in row.needs]) for row in diagnosis.undecided] == [
        ("un-decided", ["cpu.isa.avx"]),
        ("un-decided-too", ["cpu.isa.avx", "cpu.family"]),
    ]
    assert diagnosis.findings == diagnosis.crashed == ()


def test_the_longest_prefix_tells_why_a_fact_is_unknown() -> None:
    rows = (
        UnknownFact(fact="memory", reason="needs-root"),
        UnknownFact(fact="memory.modules", reason="timed-out"),
        UnknownFact(fact="memory.mod", reason="probe-failed"),
    )
    assert reason_for("memory.modules.speed", rows) == "timed-out"
    assert reason_for("memory.slots", rows) == reason_for("memory.modified", rows) == "needs-root"
    assert reason_for("memory", rows) == "needs-root"
    assert reason_for("memories", rows) == "not-in-source"
    machine = Machine(unknowns=rows)
    diagnosis = run(machine, rule(severity=[{"error": "memory.slots > 2"}], evidence="x", fix={"text": "y"}))
    assert diagnosis.undecided == (Undecided("some-rule", (Needed("memory.slots", "needs-root"),)),)


def test_a_missing_derived_fact_is_told_by_the_machine_facts_behind_it() -> None:
    conflict = rule(severity=[{"error": "derived.openmp.conflict"}], evidence="x", fix={"text": "y"})
    assert run(Machine(), conflict).undecided[0].needs == (Needed("libraries", "not-in-source"),)
    known = Machine(libraries=())
    derived = Derived(openmp=OpenmpFacts())
    assert run(known, conflict, derived=derived).undecided[0].needs[0].fact == "derived.openmp.conflict"


GPUS = rule(
    id="gpu-rule",
    area="gpu",
    for_each="gpus",
    subject="{it.name}",
    applies='it.vendor == "amd"',
    severity=[{"error": 'it.gfx == "gfx803"'}, {"warning": "it.integrated"}],
    evidence="{it.gfx}",
    fix={"text": "Sell it."},
)


def gpu(name: str, gfx: str | None = "gfx1100", vendor: str = "amd", integrated: bool | None = False) -> Gpu:
    return Gpu(name=name, gfx=gfx, vendor=vendor, integrated=integrated)


def test_a_rule_speaks_once_per_subject() -> None:
    machine = Machine(
        gpus=(gpu("A", "gfx803"), gpu("B"), gpu("C", integrated=True), gpu("D", "gfx803", "nvidia"), gpu("A", "gfx803"))
    )
    diagnosis = run(machine, GPUS)
    assert [(one.subject, one.severity) for one in diagnosis.findings] == [("A", "error"), ("C", "warning")]
    assert diagnosis.undecided == ()


def test_one_name_for_two_cards_keeps_the_worse_verdict() -> None:
    diagnosis = run(Machine(gpus=(gpu("A", integrated=True), gpu("A", "gfx803"))), GPUS)
    assert [(one.subject, one.severity) for one in diagnosis.findings] == [("A", "error")]


def test_cards_whose_name_nobody_knows_stay_apart() -> None:
    nameless = Gpu(gfx="gfx803", vendor="amd")
    diagnosis = run(Machine(gpus=(nameless, gpu("A", "gfx803"), nameless)), GPUS)
    assert sorted((one.subject or "") for one in diagnosis.findings) == ["", "", "A"]


def test_one_card_may_fire_while_another_cannot_be_judged() -> None:
    diagnosis = run(Machine(gpus=(gpu("A", "gfx803"), gpu("B", None, integrated=None))), GPUS)
    assert [one.subject for one in diagnosis.findings] == ["A"]
    assert [need.fact for need in diagnosis.undecided[0].needs] == ["gpus.gfx", "gpus.integrated"]


def test_lists_that_are_empty_or_unknown() -> None:
    assert run(Machine(gpus=()), GPUS).not_applicable == ("gpu-rule",)
    assert run(Machine(), GPUS).undecided[0].needs == (Needed("gpus", "not-in-source"),)
    elsewhere = msgspec.structs.replace(GPUS, applies=rule(applies='os.kind == "windows"').applies)
    assert run(Machine(os=Os(kind="linux")), elsewhere).not_applicable == ("gpu-rule",)
    assert run(Machine(os=Os(kind="windows")), elsewhere).undecided[0].needs[0].fact == "gpus"


def test_only_the_rules_or_areas_that_were_asked_for() -> None:
    rules = (rule(), rule(id="other-rule", area="cpu"))
    assert [one.rule for one in run(BUSY, *rules, only=("other-rule",)).findings] == ["other-rule"]
    assert [one.rule for one in run(BUSY, *rules, only=("pytorch",)).findings] == ["some-rule"]
    assert len(run(BUSY, *rules, only=("cpu", "some-rule")).findings) == 2


def test_a_rule_that_fails_takes_nobody_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = engine.judge

    def failing(one: Rule, scope: Any) -> Any:
        if one.id == "bad-rule":
            raise ZeroDivisionError("in /home/max/x")
        return whole(one, scope)

    monkeypatch.setattr(engine, "judge", failing)
    diagnosis = run(BUSY, rule(id="bad-rule"), rule())
    assert [one.rule for one in diagnosis.findings] == ["some-rule"]
    (crash,) = diagnosis.crashed
    assert crash.part == "rule:bad-rule"
    assert crash.detail.startswith("ZeroDivisionError: in ") and "max" not in crash.detail


def test_texts_in_another_language() -> None:
    german = rule(title={"en": "A title", "de": "Ein Titel"}, evidence={"en": "x", "de": "{torch.num_threads} Stränge"})
    (finding,) = run(BUSY, german, language="de").findings
    assert (finding.title, finding.evidence, finding.why) == ("Ein Titel", "192 Stränge", "Because.")


def test_text_of_the_machine_cannot_write_on_the_screen() -> None:
    machine = msgspec.structs.replace(BUSY, torch=Torch(num_threads=192, version="2.9\x1b[2J\u202e; rm -rf ~"))
    fix = {"text": "x", "linux": "pip {torch.version}"}
    spoken = rule(evidence="{torch.version}", needs=["torch.version"], fix=fix)
    (finding,) = run(machine, spoken).findings
    assert finding.evidence == "2.9[2J; rm -rf ~"
    assert finding.fix.commands == ()


leaves = st.none() | st.booleans() | st.integers(-5, 10**9) | st.sampled_from(["none", "linux", "cpu", "AuthenticAMD"])


def structs(kind: Any) -> st.SearchStrategy[Any]:
    return st.builds(kind, **dict.fromkeys(kind.__struct_fields__, leaves))


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({"os": structs(Os), "torch": structs(Torch), "limits": structs(Limits)}), st.data())
def test_the_projects_own_rules_never_crash_on_random_facts(areas: dict[str, Any], data: st.DataObject) -> None:
    """Whatever stands in the fields, right type or wrong: each rule ends as exactly one of the five outcomes."""
    machine = Machine(**areas, gpus=data.draw(st.none() | st.lists(structs(Gpu), max_size=2).map(tuple)))
    rules = load_rules().rules
    diagnosis = diagnose(machine, Derived(), rules)
    assert diagnosis.crashed == ()
    spoken = {one.rule for one in diagnosis.findings} | {row.rule for row in diagnosis.silenced}
    named = [spoken, {row.rule for row in diagnosis.undecided}, set(diagnosis.passed), set(diagnosis.not_applicable)]
    assert set().union(*named) == {one.id for one in rules}
    assert not spoken & (named[2] | named[3]) and not named[1] & (named[2] | named[3])
