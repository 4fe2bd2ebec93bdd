"""Cores as runs: the same rows come back, and what is no list of runs is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.machine.core_runs import packed, unpacked
from doctor.machine.document import BadDocument, read_document

EIGHT = [{"cpus": f"{at},{at + 192}", "package": 0, "l3": 0} for at in range(8)]
PAIRS = [{"cpus": f"{2 * at}-{2 * at + 1}", "kind": "performance"} for at in range(6)]


def test_neighbours_are_one_run() -> None:
    assert packed(EIGHT) == [{"cpus": "0,192", "package": 0, "l3": 0, "count": 8}]
    assert packed(PAIRS) == [{"cpus": "0-1", "kind": "performance", "count": 6, "step": 2}]
    other = [*EIGHT, {"cpus": "8,200", "package": 0, "l3": 1}]
    assert packed(other)[1] == {"cpus": "8,200", "package": 0, "l3": 1}


ROWS = st.fixed_dictionaries(
    {}, optional={"cpus": st.sampled_from(["0", "1", "2", "0,8", "1,9", "2,10", "0-1", "2-3", "9,1", "x", ""])}
) | st.sampled_from([*EIGHT, *PAIRS])


@given(st.lists(ROWS, max_size=12))
def test_the_same_rows_come_back(rows: list[dict[str, Any]]) -> None:
    assert unpacked(packed(rows)) == rows


@pytest.mark.parametrize(
    "runs",
    [
        {"cpus": "0"},
        ["0"],
        [{"cpus": 7}],
        [{"cpus": "0", "count": 0}],
        [{"cpus": "0", "count": True}],
        [{"cpus": "0", "count": 65536}, {"cpus": "1"}],
        [{"cpus": "65000", "count": 1000}],
        [{"cpus": "0-60000", "count": 5000}],
        [{"cpus": "", "count": 3}],
        [{"cpus": "0-x", "count": 3}],
        [{"cpus": "0", "count": 3, "step": -1}],
    ],
)
def test_what_is_no_list_of_runs_is_refused(runs: Any) -> None:
    with pytest.raises(ValueError):
        unpacked(runs)
    with pytest.raises(BadDocument, match="core_runs"):
        read_document({"schema": "amd-doctor/machine/1", "cpu": {"core_runs": runs}})


def test_a_document_with_runs_is_one_with_cores() -> None:
    plain = {"schema": "amd-doctor/machine/1", "cpu": {"core_runs": packed(EIGHT), "sockets": 1}}
    assert read_document(plain).to_builtins()["cpu"] == {"cores": tuple(EIGHT), "sockets": 1}
