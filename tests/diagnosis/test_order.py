from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from doctor.diagnosis.model import AREAS, SEVERITIES, Finding, Fix, Silenced
from doctor.diagnosis.order import Links, in_order


def finding(rule: str, severity: str = "warning", area: str = "cpu", subject: str | None = None) -> Finding:
    return Finding(
        rule=rule, severity=severity, area=area, subject=subject, title="", evidence="", why="", fix=Fix(text="")
    )


def shown(findings: list[Finding], links: Mapping[str, Links]) -> list[tuple[str, str | None]]:
    whole = {one.rule: Links() for one in findings} | dict(links)
    return [(one.rule, one.caused_by) for one in in_order(findings, whole)[0]]


def test_the_worst_comes_first_then_the_area_then_the_name() -> None:
    findings = [
        finding("d", "hint"),
        finding("c", "error", "gpu"),
        finding("b", "error", "cpu"),
        finding("a", "warning"),
        finding("aa", "error", "cpu"),
    ]
    assert [rule for rule, _ in shown(findings, {})] == ["aa", "b", "c", "a", "d"]


def test_what_a_finding_explains_stands_right_behind_it() -> None:
    findings = [finding("other", "error"), finding("effect", "hint"), finding("cause", "error", "gpu")]
    assert shown(findings, {"cause": Links(explains=("effect",))}) == [
        ("cause", None),
        ("effect", "cause"),
        ("other", None),
    ]


def test_explanations_stand_in_a_chain() -> None:
    findings = [finding(rule, "error") for rule in ("c", "b", "a")]
    links = {"a": Links(explains=("b",)), "b": Links(explains=("c",))}
    assert shown(findings, links) == [("a", None), ("b", "a"), ("c", "b")]


def test_a_note_is_no_cause_of_an_error() -> None:
    findings = [finding("note", "info"), finding("effect", "error")]
    assert shown(findings, {"note": Links(explains=("effect",))}) == [("effect", None), ("note", None)]


def test_of_two_causes_the_worse_one_counts() -> None:
    findings = [finding("effect", "hint"), finding("small", "warning"), finding("big", "error")]
    links = {"small": Links(explains=("effect",)), "big": Links(explains=("effect",))}
    assert shown(findings, links) == [("big", None), ("effect", "big"), ("small", None)]


def test_silenced_findings_are_dropped_and_listed() -> None:
    findings = [finding("kfd-missing", "error"), finding("wrong-torch-build", "error")]
    links = {"wrong-torch-build": Links(silences=("kfd-missing",)), "kfd-missing": Links()}
    ordered, silenced = in_order(findings, links)
    assert [one.rule for one in ordered] == ["wrong-torch-build"]
    assert silenced == (Silenced(rule="kfd-missing", by="wrong-torch-build"),)


def test_the_silencer_of_a_silencer_takes_its_place() -> None:
    findings = [finding(rule, "error") for rule in ("a", "b", "c", "d")]
    links = {
        "a": Links(silences=("b",)),
        "b": Links(silences=("c",), explains=("d",)),
        "c": Links(),
        "d": Links(),
    }
    ordered, silenced = in_order(findings, links)
    assert [(one.rule, one.caused_by) for one in ordered] == [("a", None), ("d", "a")]
    assert silenced == (Silenced(rule="b", by="a"), Silenced(rule="c", by="a"))


def test_rules_of_one_list_speak_of_one_subject() -> None:
    findings = [
        finding("cause", "error", subject="card 0"),
        finding("effect", subject="card 0"),
        finding("effect", subject="card 1"),
        finding("noise", subject="card 0"),
        finding("noise", subject="card 1"),
    ]
    links = {
        "cause": Links(explains=("effect",), silences=("noise",), each="gpus"),
        "effect": Links(each="gpus"),
        "noise": Links(each="gpus"),
    }
    ordered, silenced = in_order(findings, links)
    assert [(one.rule, one.subject, one.caused_by) for one in ordered] == [
        ("cause", "card 0", None),
        ("effect", "card 0", "cause"),
        ("effect", "card 1", None),
        ("noise", "card 1", None),
    ]
    assert silenced == (Silenced(rule="noise", by="cause"),)


def test_lists_of_one_part_call_the_same_things_by_the_same_names() -> None:
    findings = [
        finding("cause", "error", subject="card 0"),
        finding("noise", subject="card 0"),
        finding("noise", subject="card 1"),
        finding("noise", subject=None),  # nobody knows which one it is
        finding("other", subject="card 1"),
    ]
    links = {
        "cause": Links(silences=("noise", "other"), each="derived.gpu_code.gpus"),
        "noise": Links(each="derived.gpu_code.failed"),
        "other": Links(each="derived.gpu.devices"),
    }
    ordered, silenced = in_order(findings, links)
    assert [(one.rule, one.subject) for one in ordered] == [("cause", "card 0"), ("noise", "card 1")]
    assert {row.rule for row in silenced} == {"noise", "other"}


def test_a_rule_without_a_list_speaks_of_every_subject() -> None:
    findings = [finding("cause", "error"), finding("effect", subject="card 0"), finding("effect", subject="card 1")]
    links = {"cause": Links(explains=("effect",)), "effect": Links(each="gpus")}
    assert [caused_by for _, caused_by in shown(findings, links)] == [None, "cause", "cause"]


names = st.sampled_from("abcdef")
some_names = st.lists(names, max_size=3).map(tuple)


@given(
    st.lists(
        st.builds(
            finding,
            names,
            st.sampled_from(SEVERITIES),
            st.sampled_from(AREAS),
            st.none() | st.sampled_from(["x", "y"]),
        ),
        max_size=8,
    ),
    st.dictionaries(names, st.builds(Links, some_names, some_names, st.none() | st.just("gpus"))),
)
def test_nothing_is_lost_whatever_rules_say_of_each_other(findings: list[Finding], links: dict[str, Links]) -> None:
    whole = {rule: links.get(rule, Links()) for rule in "abcdef"}
    ordered, silenced = in_order(findings, whole)
    dropped = {row.rule for row in silenced}
    assert len(ordered) == len(findings) or dropped
    assert {one.rule for one in ordered} | dropped == {one.rule for one in findings}
    for row in silenced:
        assert row.by in {one.rule for one in ordered}
    seen: set[str] = set()
    for one in ordered:
        assert one.caused_by is None or one.caused_by in seen
        seen.add(one.rule)
