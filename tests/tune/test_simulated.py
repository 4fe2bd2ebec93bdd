"""The simulated machines: the published figures come out of them, and whole runs over them end as they should.

These few runs use the project's own small noise series. The figures of docs/measuring.md come from
`scripts/benchmark.py tune`, thousands of runs on recorded noise.
"""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev

import pytest

from doctor.measure.units import Setting, Unit
from doctor.tune.result import TuneResult
from scripts.simulated.chips import CHIPS, TWO_CPUS, Chip, curve
from scripts.simulated.experiment import Heat, SimulatedMachine
from scripts.simulated.landscapes import exhaustive, hills, one_faster, published, simple_rules, tune
from scripts.simulated.noise import Noise, from_start, recorded, recorded_noise, scaled, synthetic, synthetic_noise
from scripts.simulated.scores import Known, Run, one_cell, one_run

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {chip.name: chip for chip in (*CHIPS, TWO_CPUS)}


def at(threads: int, cpus: str | None = None) -> Setting:
    return Setting({"OMP_NUM_THREADS": str(threads)}, cpus)


def ratio(chip: str, one: Setting, other: Setting, workload: str = "decode") -> float:
    """How much faster `one` is than `other`: 1.25 is a quarter."""
    log_seconds = BY_NAME[chip].log_seconds
    return math.exp(log_seconds(other)[workload] - log_seconds(one)[workload])


ONE_DIE, OTHER_DIE, BOTH_DIES = "0-5,12-17", "6-11,18-23", "0-2,6-8,12-14,18-20"


def test_the_published_figures_come_out() -> None:
    assert ratio("9900X", at(6, BOTH_DIES), at(6, ONE_DIE)) == pytest.approx(12.1 / 16.0)
    assert ratio("9900X", at(6), at(6, ONE_DIE)) == pytest.approx(0.90)
    assert ratio("9900X", at(6, OTHER_DIE), at(6, ONE_DIE)) == pytest.approx(0.995)
    assert ratio("5700G", at(6), at(8)) == pytest.approx(112 / 100)
    assert ratio("5700G", at(12), at(4)) == pytest.approx(137 / 133)
    assert ratio("5950X", at(32), at(16), "prompt") == pytest.approx(59.0 / 33.5)
    assert ratio("5950X", at(16), at(8), "generation") == pytest.approx(15.3 / 16.7)
    assert ratio("7950X3D, two models", at(8, "0-7,16-23"), Setting(), "cached") == pytest.approx(1.25)
    assert ratio("7950X3D, two models", at(8, "0-7,16-23"), Setting(), "counted") == pytest.approx(0.66)
    assert ratio("2x EPYC 7713", at(80), at(128)) > 1.1 > ratio("2x EPYC 7713", at(80), at(64)) > 1.0
    assert ratio("container, 4 CPUs", at(4), Setting()) > 4
    assert max(ratio("one-CCX laptop", at(threads), Setting()) for threads in range(1, 17)) == 1.0
    assert ratio(TWO_CPUS.name, at(2), Setting(), "train") == pytest.approx(1.8)


def test_a_curve_goes_through_its_points_and_keeps_its_ends() -> None:
    points = {4: 10.0, 8: 20.0, 16: 10.0}
    assert [curve(points, at) for at in (4, 8, 16)] == pytest.approx([10.0, 20.0, 10.0])
    assert curve(points, 1) == pytest.approx(2.5) and curve(points, 99) == 10.0
    assert 10.0 < curve(points, 6) < 20.0


def test_every_simple_rule_and_the_exhaustive_search_name_real_settings() -> None:
    for chip in CHIPS:
        for setting in (*simple_rules(chip).values(), *exhaustive(chip)):
            assert all(math.isfinite(value) for value in chip.log_seconds(setting).values())
    assert len(exhaustive(BY_NAME["9900X"])) == 24 + 12 + 12
    assert simple_rules(BY_NAME["9900X"])["run_cpu"] == at(12, "0-11")


def test_the_best_of_the_arms_is_near_the_best_there_is() -> None:
    """What choosing among at most twelve arms gives away before any noise."""
    for chip in CHIPS:
        known = Known.of(published(chip)[0])
        assert known.best_arm - known.best <= math.log(1.02), chip.name


def test_hills_have_their_best_thread_count_anywhere() -> None:
    chip = BY_NAME["2x EPYC 7713"]
    peaks = [landscape.peak for landscape in hills(chip)]
    assert peaks[0] == 2 and peaks[-1] == pytest.approx(256) and len(peaks) == 20
    truth = hills(chip)[-1].truth()
    assert truth(at(256))["decode"] == pytest.approx(0)
    assert math.exp(-truth(at(128))["decode"]) == pytest.approx(0.8)
    away = [Known.of(landscape) for landscape in hills(chip)]
    assert max(known.best_arm - known.best for known in away) > math.log(1.1), "the arms alone do not hold them"


def test_noise_is_scaled_and_keeps_its_order(shared: Path) -> None:
    for series in (recorded(shared / "corpus" / "timing" / "aa96.json"), synthetic()):
        small = scaled(series, 0.03)
        assert len(series) == 96 and pstdev(small) == pytest.approx(0.03)
        factor = small[0] / series[0]
        assert all(one == pytest.approx(factor * other) for one, other in zip(small, series, strict=True))
        lag = fmean(one * other for one, other in pairwise([each - fmean(series) for each in series]))
        assert 0.3 < lag / pstdev(series) ** 2 < 0.8, "neighbours are alike"


def test_a_series_goes_round() -> None:
    values = from_start((1.0, 2.0, 3.0), 2)
    assert [next(values) for _ in range(5)] == [3.0, 1.0, 2.0, 3.0, 1.0]


def test_heat_slows_and_is_read() -> None:
    heat = Heat(period_seconds=10.0, hot_share=0.5, slowdown=1.38)
    still = Noise((0.0,), ((0.0,),)).from_start(0)
    machine = SimulatedMachine(lambda setting: {"x": 0.0}, still, heat, unit_seconds=5.0)
    unit = Unit(0, "cost", 0, "default", Setting(), ("x",), 0, 1.0)
    hot, cool = machine.measure(unit), machine.measure(unit)
    assert hot.timings[0].seconds[0] == pytest.approx(1.38 * cool.timings[0].seconds[0])
    assert hot.readings.clock_mhz is not None and min(hot.readings.clock_mhz) < 0.85 * 4000
    assert machine.clock_seconds == 10.0


def runs(chip: Chip, kind: str, sd: float, seeds: int) -> list[tuple[Known, TuneResult]]:
    landscapes = one_faster(chip, 0.2) if kind == "one" else published(chip)
    knowns, series = [Known.of(landscape) for landscape in landscapes], synthetic_noise().scaled(sd)
    return [
        (known, tune(known.landscape, known.truth, series, seed, 180.0))
        for seed in range(seeds)
        for known in [knowns[seed % len(knowns)]]
    ]


QUIET = [chip for chip in CHIPS if chip.heat is None]


@pytest.mark.parametrize(
    ("experiment", "sd"), [("all equal", 0.02), ("all equal", 0.35), ("all but the default +2 %", 0.03)]
)
def test_hardly_any_run_claims_what_is_not_true(experiment: str, sd: float) -> None:
    """40 runs on each machine, each with a seed of its own. One in a hundred may be wrong; by chance, a few more."""
    noise = synthetic_noise()
    cells = [one_cell(at, experiment, sd, noise, range(40 * at, 40 * at + 40), 180.0) for at in range(len(CHIPS))]
    wrong = sum(run.false_faster for cell in cells for run in cell.runs)
    assert wrong <= 8


@pytest.mark.parametrize("chip", QUIET, ids=lambda chip: chip.name)
def test_a_fifth_more_is_found_wherever_it_is(chip: Chip) -> None:
    found = runs(chip, "one", 0.02, 12)
    assert sum(result.export is not None for _, result in found) >= 11
    assert all(candidate.verdict.word != "same" for _, result in found for candidate in result.candidates[:1])


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_what_is_exported_is_nearly_the_best_and_its_gain_is_true(chip: Chip) -> None:
    for known, result in runs(chip, "published", 0.02, 6):
        chosen = result.export
        if known.default - known.best < math.log(1.02):
            assert chosen is None, "the default is right"
        if chosen is not None and chip.heat is None:
            assert known.regret(chosen.setting) < 0.05
            true = math.expm1(known.default - fmean(known.truth(chosen.setting).values()))
            assert chosen.verdict.gain == pytest.approx(true, rel=0.03, abs=0.03)


def test_a_throttling_laptop_is_marked() -> None:
    results = [result for _, result in runs(BY_NAME["throttling laptop"], "published", 0.02, 3)]
    assert all(result.disturbed for result in results)
    assert all(any("°C" in told for told in result.disturbances) for result in results)


def test_eighty_percent_is_found_on_a_very_noisy_machine() -> None:
    found = runs(TWO_CPUS, "published", 0.35, 20)
    assert sum(result.export is not None for _, result in found) >= 14


def test_the_benchmark_prints_its_tables() -> None:
    """One seed a cell: the figures mean nothing, the rows must all be there."""
    command = [sys.executable, str(ROOT / "scripts" / "benchmark.py"), "tune", "--seeds", "1", "--budget", "120"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT.parent)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("1 seeds a cell, 226 cells, budget 120 s")
    assert all(any(line.startswith(f"| {chip.name} |") for line in lines) for chip in CHIPS)
    for figure in ("false *faster*, all equal", "+20 % found", "+80 % found, 2 CPUs", "bias of the printed gain"):
        assert any(line.startswith(f"| {figure}") for line in lines), figure


def advice_of(chip: Chip, sd: float, seeds: int) -> list[Run]:
    (known,) = [Known.of(landscape) for landscape in published(chip)]
    series = synthetic_noise().scaled(sd)
    return [one_run(known, series, seed, 180.0) for seed in range(seeds)]


def test_with_two_workloads_the_usual_budget_pays_for_batch_and_type() -> None:
    """5950X: unit 2.4 s. A batch of 128 gives 33 % more, one of 256 41 %; autocast takes 1.9 times as long."""
    runs = advice_of(BY_NAME["5950X"], 0.02, 8)
    assert all(set(run.advice) == {"batch", "dtype"} for run in runs)
    assert all(run.advice["batch"].word == "faster" and run.advice["dtype"].word == "slower" for run in runs)
    batches = [run.advice["batch"] for run in runs]
    assert all(each.true_gain > 0.3 and each.gain == pytest.approx(each.true_gain, abs=0.05) for each in batches)
    assert all(run.exported for run in runs), "and the setting is found beside them"


def test_noise_within_a_process_is_recorded_too(shared: Path) -> None:
    noise = recorded_noise(shared / "corpus" / "timing" / "aa96.json")
    assert len(noise.within) == len(noise.between) == 96 and {len(row) for row in noise.within} == {5}
    small = noise.scaled(0.03)
    assert pstdev(small.between) == pytest.approx(0.03)
    assert 0.015 < pstdev([each for row in small.within for each in row]) < 0.03
    first, second = small.from_start(95), small.from_start(0)
    next(first)
    assert next(first) == next(second), "the series goes round, both parts together"
