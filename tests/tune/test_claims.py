"""How many recommendations fit, at which risk, in how many groups: decided before the first group runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.verdict import MIN_PAIRS, least_pairs
from doctor.tune.claims import FAMILY_ALPHA, Claim, Costs, chosen, needed_seconds, variants_of
from doctor.tune.trials import Trial

COSTS = Costs(process=1.0, timing=0.3, unit=2.0)


def inside(axis: str, *workloads: str, **base: str) -> Claim:
    trial = Trial(axis, axis, workloads or ("mlp-train",), in_process=True, base_options=base)
    return Claim(trial, axis, {axis: "1"})


def outside(axis: str) -> Claim:
    return Claim(Trial(axis, axis, ("mlp-train",)), axis, {axis: "1"})


def test_the_shares_of_the_risk_need_these_pairs() -> None:
    assert [least_pairs(FAMILY_ALPHA / claims) for claims in (1, 2, 3, 5, 6, 10)] == [8, 9, 10, 10, 11, 11]


def test_one_claim_costs_eight_processes_of_two_timings() -> None:
    assert needed_seconds((inside("dtype"),), COSTS) == pytest.approx(8 * (1.0 + 2 * 0.3))
    assert needed_seconds((inside("dtype", "a", "b"),), COSTS) == pytest.approx(8 * (1.0 + 4 * 0.3))
    assert needed_seconds((outside("interop"),), COSTS) == pytest.approx(8 * 2 * 2.0)


def test_claims_within_a_process_share_its_import_and_its_base() -> None:
    two = (inside("batch"), inside("dtype"))
    assert [variant.name for variant in variants_of(two)] == ["base", "batch: batch", "dtype: dtype"]
    fitting = chosen(two, COSTS, left_seconds=9 * (1.0 + 3 * 0.3) + 1e-9)
    assert fitting.claims == two and fitting.groups == 9 and fitting.alpha == pytest.approx(0.0025)


def test_a_base_is_timed_once_over_all_workloads_that_need_it() -> None:
    found = variants_of((inside("batch", "mlp"), inside("dtype", "mlp", "conv"), inside("loader", "mlp", workers="0")))
    assert [(variant.name, variant.workloads) for variant in found] == [
        ("base", ("mlp", "conv")),
        ("base with workers 0", ("mlp",)),
        ("batch: batch", ("mlp",)),
        ("dtype: dtype", ("mlp", "conv")),
        ("loader: loader", ("mlp",)),
    ]
    assert found[-1].options == {"workers": "0", "loader": "1"}


def test_what_does_not_fit_is_left_out_and_a_cheaper_one_behind_it_may_still_fit() -> None:
    fitting = chosen((inside("batch"), outside("allocator"), inside("denormals")), COSTS, left_seconds=25.0)
    assert [claim.trial.axis for claim in fitting.claims] == ["batch", "denormals"]
    assert chosen((outside("allocator"),), COSTS, left_seconds=31.9).claims == ()


def test_a_claim_on_two_workloads_is_made_on_the_first_where_both_do_not_fit() -> None:
    both = inside("dtype", "mlp", "conv")
    assert chosen((both,), COSTS, 8 * 2.2 + 1e-9).claims == (both,)
    (smaller,) = chosen((both,), COSTS, 8 * 2.1).claims
    assert smaller.trial.workloads == ("mlp",)


def test_spare_seconds_keep_extra_groups_away_but_not_the_least() -> None:
    assert chosen((inside("dtype"),), COSTS, 20.0).groups == 12
    assert chosen((inside("dtype"),), COSTS, 20.0, spare_seconds=4.0).groups == 10
    assert chosen((inside("dtype"),), COSTS, 14.0, spare_seconds=10.0).groups == 8


def test_what_is_measured_without_a_claim_takes_no_share_of_the_risk() -> None:
    told = Claim(Trial("accumulate", "a", ("mlp-train",), in_process=True), "a", measured_only=True)
    fitting = chosen((inside("batch"), told), COSTS, 100.0)
    assert fitting.alpha == FAMILY_ALPHA and len(fitting.claims) == 2


def test_costs_are_corrected_by_what_was_seen() -> None:
    costs = Costs.of_unit(3.4, workloads=2)
    assert (costs.process, costs.timing, costs.unit) == pytest.approx((1.4, 1.0, 3.4))
    assert costs.seen(3.9, 5).timing == pytest.approx(0.5)
    assert costs.seen(1.5, 5).timing == pytest.approx(0.25), "not less than a quarter of what was thought"


CLAIMS = st.lists(
    st.builds(
        lambda at, within, two: (inside if within else lambda axis, *_: outside(axis))(
            f"axis{at}", *(("a", "b") if two else ("a",))
        ),
        st.integers(0, 99), st.booleans(), st.booleans(),
    ),
    max_size=7,
    unique_by=lambda claim: claim.trial.axis,
)


@settings(deadline=None)
@given(CLAIMS, st.floats(0.0, 400.0))
def test_whatever_is_chosen_fits_and_holds_the_risk(claims: list[Claim], left: float) -> None:
    fitting = chosen(claims, COSTS, left)
    if not fitting.claims:
        return
    assert fitting.alpha * len(fitting.claims) <= FAMILY_ALPHA * (1 + 1e-9)
    assert max(MIN_PAIRS, least_pairs(fitting.alpha)) <= fitting.groups <= 12
    within = fitting.in_process
    timings = sum(len(variant.workloads) for variant in variants_of(within))
    outside_units = len(fitting.in_processes) + 1 if fitting.in_processes else 0
    one = (COSTS.process + COSTS.timing * timings if within else 0.0) + COSTS.unit * outside_units
    assert fitting.groups * one <= left * (1 + 1e-9)
