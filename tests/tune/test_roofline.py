"""Measured speeds beside the peak: what is concluded, and what is left alone for want of a fact."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.facts import complete
from doctor.machine.model import Cpu, Isa, Machine, Memory, Os
from doctor.measure.units import DEFAULT, Readings, Unit
from doctor.tune.meter import DEFAULT_ARM, Meter
from doctor.tune.peaks import Peaks, peaks_of
from doctor.tune.plan import Plan
from doctor.tune.roofline import Roofline, roofline, roofline_seconds
from doctor.tune.run import course
from scripts.simulated.documents import MIB, document
from tests.tune.fake import FakeWorker, drive

KNOWN = Peaks(cores=8, flop_per_cycle=32, bytes_per_second=96_000_000_000, generation="Zen 4")
CLOCK = Readings(clock_mhz=(5000.0, 5000.0, 4900.0))
ONE_CORE = 5000e6 * 32


def measured(
    peaks: Peaks = KNOWN, *, flop: float = 0.8, moved: float = 70e9, readings: Readings = CLOCK, **more: Any
) -> Roofline:
    """`flop`: of one second on one thread, as a share of the peak at 5 GHz; on eight cores, five times that."""

    def rate(unit: Unit) -> None:
        cores = 1 if unit.setting.variables["OMP_NUM_THREADS"] == "1" else 5
        fake.flop = dict.fromkeys(("gemm-1024", "gemm-4096"), cores * flop * ONE_CORE)

    class Rated(FakeWorker):
        def measure(self, unit: Unit):  # type: ignore[no-untyped-def]
            if unit.stage == "roofline":
                rate(unit)
            return super().measure(unit)

    fake = Rated({DEFAULT: {"x": 1.0}}, readings=lambda unit: readings, moved_bytes={"triad": moved}, **more)
    meter = Meter(Plan(seed=1, workloads=("x",), arms=(), peaks=peaks))
    drive(meter.measure(DEFAULT_ARM, "cost", 0), fake)
    assert roofline_seconds(meter) == 4.0
    return drive(roofline(meter, peaks), fake)


def test_both_are_measured_on_one_thread_and_on_all_cores() -> None:
    found = measured()
    assert [(row.workload, row.threads) for row in found.rows] == [
        ("gemm-1024", 1), ("triad", 1), ("gemm-4096", 8), ("triad", 8)
    ]
    shares = [row.share for row in found.rows]
    assert shares == pytest.approx([0.8, 70 / 96, 0.5, 70 / 96])
    assert found.findings == ()
    assert found.rows[0].detail == "1 x 5000 MHz x 32 FLOP per cycle (Zen 4)"


def test_above_the_peak_a_fact_is_wrong() -> None:
    (first, second) = measured(flop=1.1, moved=102e9).findings[:2]
    assert first.kind == "above-peak" and "110%" in first.evidence
    assert second.kind == "above-peak" and "memory bandwidth" in second.evidence
    assert measured(flop=1.04, moved=99e9).findings == ()


def test_far_below_on_one_thread_is_a_wrong_kernel() -> None:
    (only,) = measured(flop=0.2).findings
    assert only.kind == "far-below-peak" and "20%" in only.evidence and "one thread" in only.evidence
    assert measured(flop=0.36).findings == ()


def test_one_thread_that_does_not_fill_the_memory_bus_is_no_finding() -> None:
    assert measured(moved=10e9).findings == ()


@pytest.mark.parametrize(
    ("peaks", "readings", "told"),
    [
        ({"flop_per_cycle": None}, CLOCK, "not known for this chip"),
        ({"no_clock": "a virtual machine does not tell the real clock"}, CLOCK, "virtual machine"),
        ({}, Readings(), "could not be read"),
    ],
)
def test_without_a_fact_there_is_a_speed_and_no_share(peaks: dict[str, Any], readings: Readings, told: str) -> None:
    found = measured(msgspec.structs.replace(KNOWN, **peaks), flop=0.01, readings=readings)
    products = [row for row in found.rows if row.unit == "FLOP"]
    assert len(products) == 2 and all(row.share is None and told in row.detail for row in products)
    assert found.findings == ()


def test_a_busy_machine_accuses_nobody() -> None:
    busy = msgspec.structs.replace(CLOCK, other_load_share=0.6)
    assert measured(flop=0.2, readings=busy).findings == ()


def test_unknown_memory_gives_a_bandwidth_without_a_share() -> None:
    found = measured(msgspec.structs.replace(KNOWN, bytes_per_second=None))
    assert [row.share for row in found.rows if row.unit == "bytes"] == [None, None]


def test_a_process_that_dies_leaves_its_rows_out() -> None:
    found = measured(fails={("one thread", "roofline"): ("killed", "SIGILL")})
    assert [row.threads for row in found.rows] == [8, 8]


def test_few_cores_multiply_the_small_matrices_and_one_core_is_measured_once() -> None:
    assert {row.workload for row in measured(msgspec.structs.replace(KNOWN, cores=4)).rows} == {"gemm-1024", "triad"}
    assert len(measured(msgspec.structs.replace(KNOWN, cores=1)).rows) == 2


def test_too_small_a_budget_says_what_was_left_out() -> None:
    plan = Plan(seed=1, workloads=("x",), arms=(), peaks=KNOWN, budget_seconds=6.0)
    result = drive(course(plan), FakeWorker({DEFAULT: {"x": 1.0}}))
    assert result.roofline == () and [row.axis for row in result.left_out] == ["roofline"]


AVX2 = Isa(avx2=True, fma=True)


@pytest.mark.parametrize(
    ("cpu", "flop"),
    [
        ({"generation": "Zen 3", "vector_width_bits": 256, "isa": AVX2, "avx512": "absent"}, 32),
        ({"generation": "Zen 5", "vector_width_bits": 512, "isa": AVX2, "avx512": "full-width"}, 64),
        ({"generation": "Zen 5", "vector_width_bits": 512, "isa": AVX2, "avx512": "absent"}, 32),
        ({"generation": "Zen 3", "vector_width_bits": 256, "isa": Isa(avx2=False, fma=False)}, None),
        ({"generation": "Zen 3", "vector_width_bits": 256}, None),
        ({"isa": AVX2}, None),
    ],
)
def test_the_peak_comes_from_generation_datapath_and_what_programs_may_use(
    cpu: dict[str, Any], flop: int | None
) -> None:
    base = document("x", group_cores=(8,), group_bytes=(32 * MIB,))
    whole = msgspec.structs.replace(base, cpu=msgspec.structs.replace(base.cpu, **cpu))  # type: ignore[type-var]
    found = peaks_of(whole)
    assert found is not None and found.flop_per_cycle == flop and found.cores == 8 and found.no_clock == ""


def test_virtual_machines_and_unknown_ones_have_no_clock() -> None:
    base = document("x", group_cores=(8,), group_bytes=(32 * MIB,))
    systems = ((Os(hypervisor="kvm"), "virtual"), (Os(hypervisor="none", wsl=2), "virtual"), (Os(), "not known"))
    for system, told in systems:
        found = peaks_of(msgspec.structs.replace(base, os=system))
        assert found is not None and told in found.no_clock
    assert peaks_of(Machine()) is None
    bare = complete(Machine(cpu=Cpu(logical_cpus=8, physical_cores=4), memory=Memory(peak_bytes_per_second=7)))
    assert peaks_of(bare) is None, "how many CPUs may be used is not known"
