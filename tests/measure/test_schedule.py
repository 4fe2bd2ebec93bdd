"""The order of runs: the same for the same seed, fair over all seeds, and each round apart from the others."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.schedule import pad_bytes, shuffled


@settings(deadline=None)
@given(st.integers(), st.integers(0, 99), st.lists(st.text(max_size=3), max_size=8))
def test_an_order_is_a_permutation_and_depends_on_nothing_else(seed: int, number: int, members: list[str]) -> None:
    order = shuffled(seed, "search", number, members)
    assert sorted(order) == sorted(members)
    assert shuffled(seed, "search", number, members) == order


@pytest.mark.parametrize(("members", "orders"), [("dc", 2), ("dca", 6)])
def test_every_order_is_equally_likely(members: str, orders: int) -> None:
    seen = Counter(shuffled(seed, "confirm", 0, members) for seed in range(6000))
    assert len(seen) == orders
    assert all(abs(count - 6000 / orders) < 5 * (6000 / orders) ** 0.5 for count in seen.values())


def test_rounds_of_one_run_toss_their_own_coins() -> None:
    orders = [shuffled(1, "confirm", number, "dc") for number in range(400)]
    changes = sum(one != other for one, other in pairwise(orders))
    assert 150 < changes < 250, "neither always the same order nor always the other"
    assert [shuffled(1, "search", number, "dc") for number in range(400)] != orders


def test_the_pad_varies_within_a_page() -> None:
    pads = [pad_bytes(3, number) for number in range(200)]
    assert all(0 <= pad < 4096 for pad in pads) and len(set(pads)) > 150
    assert pads == [pad_bytes(3, number) for number in range(200)] != [pad_bytes(4, number) for number in range(200)]
