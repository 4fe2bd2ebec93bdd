"""CPU lists and masks, and the bound on their ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.machine.cpulist import MAX_CPU_ID, format_cpulist, parse_cpulist, parse_cpumap


@given(st.sets(st.integers(0, MAX_CPU_ID), max_size=60))
def test_what_is_written_is_read_back(cpus: set[int]) -> None:
    assert parse_cpulist(format_cpulist(cpus)) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-2,5\n", {0, 1, 2, 5}), ("", set()), ("\n", set()), ("7", {7}), ("3-3", {3})]
)
def test_kernel_lists(text: str, cpus: set[int]) -> None:
    assert parse_cpulist(text) == cpus


@pytest.mark.parametrize("text", ["0-99999999999", "70000", "1-", "-1", "3-1", "a", "0,,1", "0-7:2/4", "٣", "0 1"])
def test_anything_else_is_refused_before_it_is_expanded(text: str) -> None:
    with pytest.raises(ValueError, match="CPU"):
        parse_cpulist(text)


@given(st.text(max_size=40))
def test_no_text_does_more_than_a_value_error(text: str) -> None:
    for reader in (parse_cpulist, parse_cpumap):
        try:
            reader(text)
        except ValueError:
            continue


def test_masks_are_words_most_significant_first() -> None:
    assert parse_cpumap("00000000,00000003\n") == {0, 1}
    assert parse_cpumap("1,00000000") == {32}
    assert parse_cpumap("ff") == set(range(8))
    with pytest.raises(ValueError, match="mask"):
        parse_cpumap(",".join(["ffffffff"] * 3000))
