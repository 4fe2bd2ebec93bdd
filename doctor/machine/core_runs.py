"""The rows of `cpu.cores` in short: a run stands for neighbours that differ in nothing but their CPU numbers.

A report of a machine with hundreds of cores would be mostly these rows. `{"cpus": "0,192", "package": 0, "l3": 0,
"count": 8}` are eight cores: `"0,192"`, `"1,193"` and so on; `step`, where it is not 1, is by how much each CPU number
grows from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doctor.machine.cpulist import MAX_CPU_ID, format_cpulist, parse_cpulist

#: Where runs stand instead of `cores`.
FIELD = "core_runs"


def packed(cores: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Runs that `unpacked` turns into the same rows again."""
    runs: list[dict[str, Any]] = []
    at = 0
    while at < len(cores):
        count, step = _run(cores, at)
        runs.append({**cores[at], **({"count": count} if count > 1 else {}), **({"step": step} if step != 1 else {})})
        at += count
    return runs


def _run(cores: Sequence[Mapping[str, Any]], first: int) -> tuple[int, int]:
    """How many rows from `first` on are one run, and its step."""
    start = _numbers(cores[first].get("cpus"))
    if start is None or first + 1 == len(cores):
        return 1, 1
    second = _numbers(cores[first + 1].get("cpus"))
    step = min(second) - min(start) if second else 0
    count = 1
    while step > 0 and first + count < len(cores):
        row = cores[first + count]
        same = {**row, "cpus": None} == {**cores[first], "cpus": None}
        if not same or row.get("cpus") != format_cpulist(cpu + step * count for cpu in start):
            break
        count += 1
    return (count, step) if count > 1 else (1, 1)


def _numbers(cpus: Any) -> frozenset[int] | None:
    """The CPUs of a row, where they are written as this program writes them."""
    try:
        numbers = parse_cpulist(cpus) if isinstance(cpus, str) else frozenset[int]()
    except ValueError:
        return None
    return numbers if numbers and format_cpulist(numbers) == cpus else None


def unpacked(runs: Any) -> list[dict[str, Any]]:
    """The rows of `cores`. Raises ValueError for what is no list of runs."""
    if not isinstance(runs, list):
        raise ValueError("not a list of runs")
    rows: list[dict[str, Any]] = []
    for run in runs:
        if not isinstance(run, dict) or not isinstance(run.get("cpus", ""), str):
            raise ValueError("a run without CPUs")
        count, step = run.get("count", 1), run.get("step", 1)
        if not _is_number(count) or not _is_number(step) or len(rows) + count > MAX_CPU_ID + 1:
            raise ValueError("a run of more cores than there can be")
        row = {name: value for name, value in run.items() if name not in ("count", "step")}
        if count == 1:
            rows.append(row)
            continue
        start = parse_cpulist(run.get("cpus", ""))
        if not start or max(start) + step * (count - 1) > MAX_CPU_ID:
            raise ValueError(f"CPU id above {MAX_CPU_ID}")
        if len(start) * count > MAX_CPU_ID + 1:
            raise ValueError("a run of more CPUs than there can be")
        rows += [{**row, "cpus": format_cpulist(cpu + step * at for cpu in start)} for at in range(count)]
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_CPU_ID + 1
