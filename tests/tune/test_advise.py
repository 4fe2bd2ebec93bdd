"""Recommendations over a worker that starts nothing: how each axis ends, failures as answers, and that time is kept."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.measure.units import DEFAULT, Answer, Measured, Readings, Setting, Unit
from doctor.tune.advise import advise
from doctor.tune.arms import Arm
from doctor.tune.log import first_line, next_line, read_log
from doctor.tune.meter import DEFAULT_ARM, Meter
from doctor.tune.peaks import Peaks
from doctor.tune.plan import Plan
from doctor.tune.recommendation import Recommendation
from doctor.tune.result import TuneResult
from doctor.tune.run import course, events
from doctor.tune.trials import Trial
from tests.tune.fake import FakeWorker, Net, drive, threads

MLP = "mlp-train"
BATCH = Trial("batch", "batch size", (MLP,), in_process=True)
DTYPE = Trial(
    "dtype", "bfloat16 autocast", (MLP,), ("with torch.autocast(...):",), in_process=True,
    options={"autocast": "bfloat16"}, changes_numbers=True,
)
DENORMALS = Trial("denormals", "flush", (MLP,), ("torch.set_flush_denormal(True)",), options={"flush_denormal": "1"})
ALLOCATOR = Trial("allocator", "tcmalloc", (MLP,), ("LD_PRELOAD=/x.so",), variables={"LD_PRELOAD": "/x.so"})
BINDING = Trial("binding", "bound", (MLP,), variables={"OMP_PROC_BIND": "close"}, may_pin=True)
LOADER = Trial(
    "loader", "DataLoader workers", (MLP,), in_process=True, base_options={"loader_workers": "0"},
    choices=({"loader_workers": "1"}, {"loader_workers": "2"}),
)
CHOSEN = Arm("threads-4", Setting({"OMP_NUM_THREADS": "4"}))
GIB = 1 << 30


def jitter(unit: Unit, variant: str = "") -> float:
    return math.exp(0.005 * random.Random(f"{unit.number} {variant}").uniform(-1, 1))


def by_batch(speeds: Mapping[int, float]) -> Callable[[Mapping[str, str]], float]:
    """Items per second by batch; a size that is not named is as fast as the largest that is."""
    return lambda options: speeds.get(int(options.get("batch", "32")), speeds[max(speeds)])


def worker(net: Net | None = None, **more: Any) -> FakeWorker:
    nets = {MLP: net or Net()}
    return FakeWorker({DEFAULT: {MLP: 1.0}}, nets=nets, noise=jitter, variant_noise=jitter, **more)


def plan(*trials: Trial, budget_seconds: float = 300.0, **more: Any) -> Plan:
    more.setdefault("memory_bytes", 8 * GIB)
    return Plan(seed=1, workloads=(MLP,), arms=(), budget_seconds=budget_seconds, trials=trials, **more)


def advised(fake: FakeWorker, *trials: Trial, base: Arm = CHOSEN, **more: Any) -> dict[str, Recommendation]:
    """The rows by axis, of a run that has just measured what a unit costs."""
    meter = Meter(plan(*trials, **more))
    drive(meter.measure(DEFAULT_ARM, "cost", 0), fake)
    rows = drive(advise(meter, base, meter.plan.budget_seconds), fake)
    assert meter.spent_seconds <= meter.plan.budget_seconds * 1.05
    return {row.axis: row for row in rows}


RISING = {32: 700.0, 64: 900.0, 128: 1100.0, 256: 1250.0, 512: 1260.0, 1024: 1265.0}


def test_the_batch_size_at_the_knee_is_confirmed_and_handed_to_the_env_file() -> None:
    fake = worker(Net(speed=by_batch(RISING)))
    row = advised(fake, BATCH)["batch"]
    assert row.title == "batch size 256 instead of 32" and row.fate == "measured" and row.advised
    assert row.verdict is not None and row.verdict.gain == pytest.approx(1250 / 700 - 1, abs=0.02)
    assert row.variables == {"AMD_DOCTOR_BATCH_SIZE": "256"}
    assert "AMD_DOCTOR_BATCH_SIZE" in row.code[0] and "batch_size=batch_size" in row.code[1]
    assert [point.batch for point in row.points] == [32, 64, 128, 256, 512]
    assert row.items_per_second[0] == pytest.approx(1250, rel=0.02)


def test_all_of_it_runs_under_the_chosen_setting() -> None:
    fake = worker(Net(speed=by_batch(RISING)))
    advised(fake, BATCH, DTYPE, DENORMALS, ALLOCATOR)
    later = [unit for unit in fake.ran if unit.stage == "recommend"]
    assert later and all(unit.setting.variables["OMP_NUM_THREADS"] == "4" for unit in later)
    assert {unit.setting.variables.get("LD_PRELOAD") for unit in later} == {None, "/x.so"}


def test_the_sweep_and_the_claim_are_of_different_processes() -> None:
    fake = worker(Net(speed=by_batch(RISING)))
    advised(fake, BATCH)
    units = [unit for unit in fake.ran if unit.stage == "recommend"]
    sweeps = [unit for unit in units if unit.variants[0].name.startswith("batch ")]
    claims = [unit for unit in units if any(variant.name == "base" for variant in unit.variants)]
    assert len(sweeps) == 2 and len(claims) == len(units) - 2 >= 8
    assert [variant.options["batch"] for unit in sweeps for variant in unit.variants] == [
        "32", "64", "128", "256", "512"
    ]
    firsts = {unit.variants[0].name for unit in claims}
    assert len(firsts) == 2, "which goes first is tossed"


def test_a_batch_that_is_large_enough_stays() -> None:
    row = advised(worker(Net(speed=lambda options: 1000.0)), BATCH)["batch"]
    assert row.fate == "chosen" and row.verdict is None and row.variables == {} and not row.advised
    assert row.title == "batch size 32, as it is" and "gain less than 5%" in row.detail


def test_memory_ends_the_sweep_before_it_is_used_up_and_accumulation_makes_up_for_it() -> None:
    """8 MB a sample: 256 would take 2.3 GiB, 1.5 GiB may be used."""
    net = Net(speed=by_batch(RISING), bytes_of=lambda batch: 300_000_000 + 8_000_000 * batch)
    fake = worker(net)
    rows = advised(fake, BATCH, memory_bytes=int(1.5 * GIB))
    assert max(point.batch for point in rows["batch"].points) == 128
    assert not [unit for unit in fake.ran if any(variant.options.get("batch") == "256" for variant in unit.variants)]
    told = rows["accumulate"]
    assert told.title == "256 does not fit: 128 x 2 accumulation steps" and told.verdict is None
    assert "measured" in told.detail and "samples/s" in told.detail and "2.2 GiB" in told.detail
    assert told.code[0].endswith("/ 2).backward()") and told.items_per_second[0] == pytest.approx(1100, rel=0.02)
    assert rows["batch"].title == "batch size 128 instead of 32"


@pytest.mark.parametrize("how", ["largest", "kills_above"])
def test_a_size_that_does_not_fit_is_an_answer(how: str) -> None:
    """As an exception in the process, or as a process that the kernel killed."""
    rows = advised(worker(Net(speed=by_batch(RISING), **{how: 64})), BATCH)  # type: ignore[arg-type]
    failed = [point for point in rows["batch"].points if point.failed]
    assert [point.batch for point in failed] == [128] and failed[0].failed.startswith("out-of-memory")
    assert rows["accumulate"].title == "128 does not fit: 64 x 2 accumulation steps"
    assert rows["batch"].advised and rows["batch"].variables == {"AMD_DOCTOR_BATCH_SIZE": "64"}


def test_a_batch_that_the_user_wants_is_tried_or_made_up_for() -> None:
    flat = Net(speed=lambda options: 1000.0)
    assert any(point.batch == 256 for point in advised(worker(flat), BATCH, batch=256)["batch"].points)
    large = Net(speed=lambda options: 1000.0, bytes_of=lambda batch: 300_000_000 + 8_000_000 * batch)
    rows = advised(worker(large), BATCH, batch=256, memory_bytes=int(1.5 * GIB))
    assert rows["accumulate"].title == "256 does not fit: 128 x 2 accumulation steps"
    assert rows["batch"].fate == "chosen"


def test_autocast_that_is_faster_is_advised_with_its_lines() -> None:
    net = Net(speed=lambda options: 2000.0 if "autocast" in options else 1000.0, answer=lambda options: Answer(
        (1.0, 2.01) if "autocast" in options else (1.0, 2.0), 5e-2 if "autocast" in options else 1e-3
    ))
    row = advised(worker(net), DTYPE)["dtype"]
    assert row.advised and row.code == DTYPE.code and row.variables == {}
    assert row.verdict is not None and row.verdict.gain == pytest.approx(1.0, abs=0.03)


def test_autocast_that_is_slower_is_told_so() -> None:
    row = advised(worker(Net(speed=lambda options: 50.0 if "autocast" in options else 1000.0)), DTYPE)["dtype"]
    assert row.fate == "measured" and row.verdict is not None and row.verdict.word == "slower" and not row.advised


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"loss": lambda options: 0.6 if "autocast" in options else 0.5}, "mlp-train after 20 steps is 0.6"),
        ({"loss": lambda options: math.nan if "autocast" in options else 0.5}, "after 20 steps is nan"),
        ({"loss": lambda options: None if "autocast" in options else 0.5}, "after 20 steps is None"),
        ({"answer": lambda options: Answer((1.0, 9.0 if "autocast" in options else 2.0), 1e-3)}, "mlp-train is off by"),
        ({"raises": {"autocast": "exception: not implemented"}}, "exception: not implemented"),
    ],
)
def test_wrong_numbers_disqualify_however_fast(changes: dict[str, Any], told: str) -> None:
    net = Net(speed=lambda options: 9000.0 if "autocast" in options else 1000.0, **changes)
    fake = worker(net)
    row = advised(fake, DTYPE)["dtype"]
    assert row.fate == "failed" and not row.advised and told in row.detail
    assert sum(unit.stage == "recommend" for unit in fake.ran) == 1, "a failure is final"


def test_a_loss_that_moves_a_little_is_no_worse() -> None:
    net = Net(speed=lambda options: 2000.0 if "autocast" in options else 1000.0)
    net.loss = lambda options: 0.51 if "autocast" in options else 0.5
    assert advised(worker(net), DTYPE)["dtype"].advised


def test_workers_are_chosen_then_confirmed() -> None:
    def speed(options: Mapping[str, str]) -> float:
        workers, own = int(options["loader_workers"]), options.get("intra_threads")
        return {0: 500.0, 1: 900.0, 2: 1000.0}[workers] * (1.1 if workers and own == "2" else 1.0)

    fake = worker(Net(speed=lambda options: speed(options) if "loader_workers" in options else 1000.0))
    row = advised(fake, LOADER)["loader"]
    assert row.title == "2 DataLoader workers, 2 threads" and row.advised
    assert row.code[0] == "torch.set_num_threads(2)" and "num_workers=2" in row.code[1]
    slow = advised(worker(Net(speed=lambda options: 900.0 if options.get("loader_workers") != "0" else 1000.0)), LOADER)
    assert slow["loader"].fate == "chosen" and slow["loader"].verdict is None


def test_what_belongs_to_a_process_is_paired_in_processes_with_a_toss() -> None:
    fake = worker(Net(speed=lambda options: 1300.0 if "flush_denormal" in options else 1000.0))
    row = advised(fake, DENORMALS)["denormals"]
    assert row.advised and row.verdict is not None and row.verdict.gain == pytest.approx(0.3, abs=0.02)
    groups = fake.arms("recommend")
    assert all(len(group) == 2 for group in groups) and len({group[0] for group in groups}) == 2


def test_an_allocator_ends_as_a_line_and_never_as_a_variable_of_the_file() -> None:
    fake = worker()
    fake.seconds = {DEFAULT: {MLP: 1.0}, "threads-4 + allocator: tcmalloc": {MLP: 0.7}}
    row = advised(fake, ALLOCATOR)["allocator"]
    assert row.advised and row.code == ("LD_PRELOAD=/x.so",) and row.variables == {"LD_PRELOAD": "/x.so"}
    dead = worker(fails={("threads-4 + allocator: tcmalloc", "recommend"): ("killed", "SIGSEGV")})
    row = advised(dead, ALLOCATOR)["allocator"]
    assert row.fate == "failed" and row.detail == "killed: SIGSEGV"


def test_binding_that_pins_is_told_with_the_cpus_that_are_left() -> None:
    fake = worker(cpus=lambda unit: "0" if "OMP_PROC_BIND" in unit.setting.variables else "0-7")
    row = advised(fake, BINDING, all_cpus="0-7")["binding"]
    assert row.fate == "measured" and "importing torch leaves the process 1 of 8 CPUs" in row.detail


def test_what_a_budget_leaves_out_says_so_with_seconds() -> None:
    rows = advised(worker(), BATCH, DTYPE, DENORMALS, budget_seconds=20.0)
    assert rows["batch"].fate == "not-tried" and "left" in rows["batch"].detail
    assert rows["denormals"].fate == "not-tried" and "it takes about 32 s" in rows["denormals"].detail
    rows = advised(worker(), DTYPE, DENORMALS, budget_seconds=40.0)
    assert rows["dtype"].fate == "measured" and rows["denormals"].fate == "not-tried"


def test_a_search_does_not_take_the_time_of_what_comes_before_it() -> None:
    """Workers alone would fit, but not beside autocast."""
    fake = worker(Net(speed=lambda options: 1000.0))
    rows = advised(fake, DTYPE, LOADER, budget_seconds=36.0)
    assert rows["dtype"].fate == "measured" and rows["loader"].fate == "not-tried"
    assert all("loader_workers" not in variant.options for unit in fake.ran for variant in unit.variants)
    assert advised(worker(), LOADER, budget_seconds=36.0)["loader"].fate != "not-tried"


def test_groups_that_another_process_disturbed_are_left_out() -> None:
    def readings(unit: Unit) -> Readings:
        return Readings(other_load_share=0.5) if unit.round in (1, 2) and unit.variants else Readings()

    row = advised(worker(readings=readings), DTYPE)["dtype"]
    assert row.verdict is not None and row.verdict.pairs == 10


def test_a_process_that_dies_in_a_variant_is_the_variants_failure() -> None:
    net = Net(speed=by_batch({**RISING, 256: 1250.0}))

    class Dies(FakeWorker):
        def measure(self, unit: Unit):  # type: ignore[no-untyped-def]
            net.kills_above = 200 if any(variant.name == "base" for variant in unit.variants) else 1 << 30
            return super().measure(unit)

    fake = Dies({DEFAULT: {MLP: 1.0}}, nets={MLP: net}, noise=jitter)
    rows = advised(fake, BATCH, DTYPE)
    assert rows["batch"].fate == "failed" and rows["batch"].detail.startswith("out-of-memory")
    assert rows["dtype"].fate == "measured" and rows["dtype"].verdict is not None
    assert rows["dtype"].verdict.pairs >= 8, "the other goes on without it"


def test_too_few_pairs_claim_nothing() -> None:
    """Processes turn out to take ten times as long as they seemed to: it ends, and says undecided."""
    fake = worker(Net(speed=lambda options: 2000.0 if "autocast" in options else 1000.0))
    fake.variant_seconds = 20.0
    meter = Meter(plan(DTYPE, budget_seconds=60.0))
    drive(meter.measure(DEFAULT_ARM, "cost", 0), fake)
    (row,) = drive(advise(meter, CHOSEN, 60.0), fake)
    assert row.verdict is not None and row.verdict.word == "undecided" and row.verdict.pairs < 8


def whole(budget_seconds: float = 180.0) -> tuple[Plan, Callable[[], FakeWorker]]:
    chosen_plan = Plan(
        seed=7, workloads=(MLP,), arms=threads(2, 4, 8), budget_seconds=budget_seconds,
        trials=(BATCH, DTYPE, LOADER, DENORMALS, ALLOCATOR), memory_bytes=8 * GIB, peaks=Peaks(cores=4),
    )

    def fresh() -> FakeWorker:
        fake = worker(Net(speed=by_batch(RISING)))
        fake.seconds = {DEFAULT: {MLP: 1.0}, "threads-4": {MLP: 0.8}}
        fake.flop, fake.moved_bytes = {"gemm-1024": 2.0**31}, {"triad": 1e9}
        return fake

    return chosen_plan, fresh


def test_a_whole_run_chooses_then_recommends_then_compares_with_the_peak() -> None:
    chosen_plan, fresh = whole()
    fake = fresh()
    result = drive(course(chosen_plan), fake)
    assert result.export is not None and result.export.setting.variables == {"OMP_NUM_THREADS": "4"}
    stages = [unit.stage for unit in fake.ran]
    order = ["cost", "search", "confirm", "recommend", "roofline"]
    assert [stage for at, stage in enumerate(stages) if stage not in stages[:at]] == order
    by_axis = {row.axis: row for row in result.recommendations}
    assert by_axis["batch"].advised and by_axis["dtype"].verdict is not None
    assert result.pairs == 14 and result.settings_seconds is not None and result.settings_seconds <= 150
    assert result.spent_seconds <= 180 * 1.02
    assert {row.workload for row in result.roofline} == {"gemm-1024", "triad"}
    under = {unit.setting.variables["OMP_NUM_THREADS"] for unit in fake.ran if unit.stage == "recommend"}
    assert under == {"4"}


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 120))
def test_a_run_cut_short_in_any_stage_goes_on_to_the_same_result(cut: int) -> None:
    chosen_plan, fresh = whole()
    given_events = list(events(chosen_plan, fresh()))
    measured = [each for each in given_events if isinstance(each, Measured)]
    kept = measured[: min(cut, len(measured))]
    text = first_line(chosen_plan) + b"".join(map(next_line, kept))
    saved = read_log(text)
    again = fresh()
    result = list(events(saved.plan, again, saved.events))[-1]
    assert isinstance(result, TuneResult) and result == given_events[-1]
    assert again.ran == [each.unit for each in measured[len(kept) :]], "nothing is measured twice"


def test_only_recommendations_can_be_asked_for() -> None:
    result = drive(course(plan(DTYPE)), worker(Net(speed=lambda options: 2000.0 if "autocast" in options else 1000.0)))
    assert result.ending == "nothing-to-try" and result.export is None and result.candidates == ()
    assert result.recommendations[0].advised
