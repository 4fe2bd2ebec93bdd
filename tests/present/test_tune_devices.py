"""What the screen says of devices: the verdict first, then from which size on, and what to write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.measure.gpu_users import GpuUser
from doctor.measure.units import DeviceCheck, Grown
from doctor.present.terminal import Look, plain
from doctor.present.text import columns
from doctor.present.tune_devices import bar, devices_lines
from doctor.present.tune_devices_words import crossover_words, devices_last_words, gpu_user_words
from doctor.present.tune_ending import Around, last_line, next_step
from doctor.tune.devices.memory import IgpuFacts, Needed, judged
from doctor.tune.devices.plan import DevicesPlan
from doctor.tune.devices.result import DevicesResult
from doctor.tune.devices.sizes import Crossover
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from tests.tune.devices.fake import Model
from tests.tune.devices.test_course import CARD, VEGA, plan_of, run

GIB = 1 << 30


def result_of(model: Model, seconds: float = 400.0, mode: str | None = None, **more: Any) -> TuneResult:
    plan = plan_of(VEGA, mode=mode)
    devices, _ = run(plan, {"privateuseone:0": model}, seconds)
    whole = Plan(1, ("mlp-train", "conv-train"), (), devices=plan)
    return TuneResult(whole, "nothing-to-try", 9, 99.0, devices=devices, **more)


def screen(result: TuneResult, **look: Any) -> str:
    return plain(devices_lines(result, Look(**look), verbose=False), Look(**look))


def one_line(text: str) -> str:
    return " ".join(text.split())


VEGA_7 = Model(speed=1190.0, overhead=0.02, knee=256, spill=3.0, fits=1024)


def test_a_faster_device_is_recommended_with_its_batch_and_the_lines_to_write() -> None:
    text = screen(result_of(VEGA_7))
    said = one_line(text)
    assert "Use AMD Radeon(TM) Graphics: +" in said
    assert "against the tuned CPU on mlp train at batch 256 and conv train at batch 256" in said
    assert "faster from batch 256 to 512, not above" in said or "faster at batch 256 only" in said
    assert 'device = torch.device(os.environ.get("AMD_DOCTOR_DEVICE", "cpu"))' in text
    assert "AMD_DOCTOR_BATCH_SIZE_PRIVATEUSEONE_0" in text and "torch_directml" in text
    assert next(line for line in text.splitlines() if line.lstrip().startswith("256 ")).endswith("advised")
    assert "10 GB/s to AMD Radeon(TM) Graphics" in said


def test_a_size_that_one_side_did_not_run_is_explained() -> None:
    said = one_line(screen(result_of(Model(1190.0, fits=100))))
    assert "does not fit" in said and "-: not run. A step would take more than 2 s" in said


@pytest.mark.parametrize("width", [80, 100])
def test_every_line_fits(width: int) -> None:
    for mode in (None, "train"):
        text = screen(result_of(VEGA_7, 600.0, mode), columns=width)
        code = [line for line in text.splitlines() if line.startswith("    ") and "os.environ" in line]
        assert all(columns(line) <= width for line in text.splitlines() if line not in code)


def test_in_ascii_nothing_is_lost() -> None:
    text = screen(result_of(VEGA_7), ascii=True)
    assert text.isascii() and "?" not in text and "###" in text


def test_an_honest_cpu_is_the_better_device_here() -> None:
    said = one_line(screen(result_of(Model(300.0))))
    assert "The CPU is the better device here: AMD Radeon(TM) Graphics is -" in said
    assert "never faster up to batch" in said and "AMD_DOCTOR_DEVICE" not in said


def test_never_within_its_memory_and_what_to_do_instead() -> None:
    said = one_line(screen(result_of(Model(700.0, overhead=0.02, fits=100))))
    assert "never faster within its memory (batch 128 does not fit)" in said
    assert "mlp train, batch 128 does not fit: 64 x 2 steps, measured" in said


def test_a_broken_device_is_said_in_the_first_lines_with_a_symbol() -> None:
    result = result_of(Model(1e5, ends={"mlp-train": (0, ("hung", "it did not end in time while mlp-train ran"))}))
    text = screen(result)
    said = one_line(text)
    assert "Stay with the CPU: no other device here does the work." in said
    assert "✗ AMD Radeon(TM) Graphics (privateuseone:0): it hangs on mlp train" in said
    assert text.index("✗") < 300
    assert "advised" not in text and "faster" not in text, "nothing is said for a device that does not work"
    assert last_line(result, Around()).endswith("no device beside the CPU works (hung)")


def test_operators_that_fell_back_are_named() -> None:
    check = DeviceCheck(fell_back=("aten::lerp.Scalar_out",))
    assert "! AMD Radeon(TM) Graphics (privateuseone:0): the CPU does for it: aten::lerp" in one_line(
        screen(result_of(Model(2000.0, check=check)))
    )


def test_the_last_line_names_the_device() -> None:
    assert last_line(result_of(VEGA_7), Around()).startswith(
        "amd-doctor: nothing to try; keep the default; device privateuseone:0 +"
    )
    assert "device cpu (privateuseone:0 slower, -" in last_line(result_of(Model(300.0)), Around())
    assert devices_last_words(DevicesResult("no-device")) == ""


def test_the_next_step_keeps_the_device_or_gives_it_more_time() -> None:
    kept = next_step(result_of(VEGA_7), Around(saved=True))
    assert kept.command == "amd-doctor tune --resume --write-env"
    short = result_of(Model(2000.0), 60.0)
    assert short.devices is not None and short.devices.ending == "budget-too-small"
    step = next_step(short, Around(repeated=" --device all"))
    assert step.command.startswith("amd-doctor tune --device all --budget ")
    assert "too small to prove anything" in one_line(screen(short))


def test_a_note_is_one_line_and_nothing_else() -> None:
    devices = DevicesResult("no-device", note="The CPU alone is measured: this PyTorch sees no other device.")
    plan = Plan(1, ("mlp-train",), (), devices=DevicesPlan((), note=devices.note))
    text = screen(TuneResult(plan, "nothing-to-try", 0, 0.0, devices=devices))
    assert text.splitlines() == ["Devices, on the same work", devices.note]
    assert screen(TuneResult(Plan(1, ("mlp-train",), ()), "nothing-to-try", 0, 0.0)) == ""


def test_the_memory_of_an_integrated_gpu_is_told_with_its_setting() -> None:
    facts = IgpuFacts("AMD Radeon(TM) Graphics", "windows", 2 * GIB, 7 * GIB, 14 * GIB, "both")
    grown = (Grown(0, free_bytes=10 * GIB), Grown(4 * GIB, free_bytes=8 * GIB))
    memory = judged(facts, grown, "refused", "no more", Needed(GIB, "mlp train at 256", is_estimate=True))
    said = one_line(screen(result_of(VEGA_7, igpu_memory=memory)))
    assert "Filled with 4 GiB, until it was refused." in said
    assert (
        "about 2 GiB from what is carved out and about 2 GiB from what is shared; the RAM lost 2 GiB meanwhile" in said
    )
    assert "The advised batches need about 1 GiB (mlp train at 256)." in said
    assert "The smallest carve-out that loses nothing for them: 512 MiB" in said
    assert "The CPU gets 1.5 GiB back by it." in said and "Variable Graphics Memory" in said


def test_the_setting_that_won_is_told_apart() -> None:
    plan = plan_of(CARD)
    devices, _ = run(plan, {"cuda:0": Model(2000.0)}, 500.0, settings={"TORCH_BLAS_PREFER_HIPBLASLT=1": 0.6})
    result = TuneResult(Plan(1, ("mlp-train",), (), devices=plan), "nothing-to-try", 9, 99.0, devices=devices)
    said = one_line(screen(result))
    assert "with products by hipBLASLt" in said
    assert "Of that, products by hipBLASLt alone: faster, +6" in said


@pytest.mark.parametrize(
    ("crossing", "unit", "words"),
    [
        (Crossover("from", 100_000, 1_000_000, 1_000_000), "points", "faster from 100,000 points on"),
        (
            Crossover("always", 4, 256, 256, 1024),
            "batch",
            "faster at every size that was tried, batch 4 to 256 (batch 1,024 does not fit)",
        ),
        (Crossover("up-to", 4, 16, 64), "batch", "faster up to batch 16, not above"),
        (Crossover("between", 16, 64, 256), "batch", "faster from batch 16 to 64, not above"),
        (Crossover("never", largest=4096), "side", "never faster up to size 4,096"),
        (Crossover("always", 0, 0, 0), "", "faster"),
        (Crossover("unknown", too_large=4), "batch", "not known: nothing ran on both (batch 4 does not fit)"),
    ],
)
def test_crossovers_in_words(crossing: Crossover, unit: str, words: str) -> None:
    assert crossover_words(crossing, unit) == words


def test_the_bar_leans_to_the_side_of_the_faster_one() -> None:
    assert bar(1.0).strip() == "│"
    assert bar(2.0) == " " * 9 + "│" + "━━━" + " " * 6
    assert bar(0.5) == " " * 6 + "━━━" + "│" + " " * 9
    assert bar(1e9) == " " * 9 + "│" + "━" * 9 and len(bar(1e-9)) == 19


def test_who_uses_a_gpu_in_words() -> None:
    assert gpu_user_words(GpuUser("blender", 0.5, 310 << 20)) == "blender (50 % of its time, 310 MiB of its memory)"


def test_the_plan_is_part_of_the_result() -> None:
    result = result_of(VEGA_7)
    assert msgspec.json.decode(msgspec.json.encode(result), type=TuneResult) == result
