"""Thread counts in the environment."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.derive.thread_variables import count_in, thread_facts
from doctor.machine.model import Machine


def facts(env: dict[str, str] | None, **torch: Any) -> Any:
    plain: dict[str, Any] = {"torch": torch}
    if env is not None:
        plain["env"] = env
    return thread_facts(msgspec.convert(plain, Machine))


@pytest.mark.parametrize(
    ("text", "count"),
    [("8", 8), (" 8 ", 8), ("1,2", 1), *((text, None) for text in ("0", "-1", "auto", "", "٣", "9" * 9))],
)
def test_counts(text: str, count: int | None) -> None:
    assert count_in({"OMP_NUM_THREADS": text}, "OMP_NUM_THREADS") == count


@given(st.text(max_size=12))
def test_no_value_breaks_it(text: str) -> None:
    count = count_in({"X": text}, "X")
    assert count is None or count > 0


@pytest.mark.parametrize(
    ("env", "torch", "ones"),
    [
        ({"OMP_NUM_THREADS": "1"}, {}, ("OMP_NUM_THREADS",)),
        ({"OMP_NUM_THREADS": "1"}, {"num_threads": 1}, ("OMP_NUM_THREADS",)),
        ({"OMP_NUM_THREADS": "1"}, {"num_threads": 8}, ()),
        ({"OMP_NUM_THREADS": "8"}, {}, ()),
        ({}, {}, ()),
        (None, {}, None),
        ({"MKL_NUM_THREADS": "1"}, {}, None),
        ({"MKL_NUM_THREADS": "1"}, {"blas": "mkl"}, ("MKL_NUM_THREADS",)),
        ({"MKL_NUM_THREADS": "1"}, {"blas": "openblas"}, ()),
        ({"MKL_NUM_THREADS": "8", "OMP_NUM_THREADS": "1"}, {"blas": "mkl"}, ()),
        ({"MKL_NUM_THREADS": "8", "OMP_NUM_THREADS": "1"}, {"blas": "openblas"}, ("OMP_NUM_THREADS",)),
        ({"MKL_NUM_THREADS": "8", "OMP_NUM_THREADS": "1"}, {}, None),
        ({"MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}, {}, ("MKL_NUM_THREADS", "OMP_NUM_THREADS")),
        ({"OPENBLAS_NUM_THREADS": "1"}, {}, ()),
    ],
)
def test_variables_that_hold_torch_at_one_thread(
    env: dict[str, str] | None, torch: dict[str, Any], ones: tuple[str, ...] | None
) -> None:
    found = facts(env, **torch)
    assert found.one_variables == ones
    assert found.one_variable == (None if ones is None else ones[0] if ones else "none")


@pytest.mark.parametrize(
    ("env", "torch", "default"),
    [
        ({}, {"num_threads": 16}, True),
        ({"OMP_NUM_THREADS": "16"}, {"num_threads": 16}, False),
        (None, {"num_threads": 16}, None),
        (None, {"num_threads": 16, "default_num_threads": 16}, True),
        ({"OMP_NUM_THREADS": "4"}, {"num_threads": 4, "default_num_threads": 16}, False),
        ({"OMP_NUM_THREADS": "rubbish"}, {"num_threads": 16}, True),
    ],
)
def test_whose_count_it_is(env: dict[str, str] | None, torch: dict[str, Any], default: bool | None) -> None:
    assert facts(env, **torch).from_default is default


@pytest.mark.parametrize("name", ["LOCAL_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE"])
def test_launchers(name: str) -> None:
    assert facts({name: "4"}).by_launcher is True
    assert facts({"OMP_NUM_THREADS": "1"}).by_launcher is False
    assert facts(None).by_launcher is None
