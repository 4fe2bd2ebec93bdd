"""How devices, sizes and speeds are said."""

from __future__ import annotations

from doctor.measure.gpu_users import GpuUser
from doctor.present.language import phrase, say
from doctor.present.text import bytes_text
from doctor.present.tune_words import gain_words, percent, workload_words
from doctor.tune.devices.device import CPU_NAME
from doctor.tune.devices.result import Compared, DeviceReport, DevicesResult
from doctor.tune.devices.sizes import Crossover, Row

#: What a size counts, in words.
UNITS = {"batch": phrase("batch"), "points": phrase("points"), "side": phrase("size"), "": ""}
#: What is counted by the second.
ITEMS = {
    "batch": phrase("samples/s"),
    "points": phrase("points/s"),
    "side": phrase("products/s"),
    "": phrase("steps/s"),
}

OUTCOMES = {
    "out-of-memory": phrase("does not fit"),
    "killed": phrase("ends the process"),
    "hung": phrase("hangs"),
    "wrong": phrase("wrong numbers"),
    "rubbish": phrase("fails"),
}


def title_of(result: DevicesResult, name: str) -> str:
    """`AMD Radeon(TM) Graphics`: what the hardware is called."""
    report = result.report(name)
    return name if report is None else report.device.title


def named(report: DeviceReport) -> str:
    """`AMD Radeon(TM) Graphics (privateuseone:0)`."""
    device = report.device
    return device.title if device.name == CPU_NAME else f"{device.title} ({device.name})"


def number_words(value: float) -> str:
    """`31`, `5,210`, `1.24 million`: three figures are enough for a speed."""
    if value >= 1e6:
        return say("{count:.3g} million", count=value / 1e6)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rate_words(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e9:.3g} GB/s"


def times_words(ratio: float) -> str:
    """`1.19 x`, `0.3 x`."""
    return f"{ratio:.2f} x" if ratio < 10 else f"{ratio:.0f} x"


def outcome_words(row: Row) -> str:
    return say(OUTCOMES.get(row.outcome, phrase("fails")))


def size_words(unit: str, size: int) -> str:
    """`batch 256`, `1,000,000 points`, `size 1,024`."""
    if unit == "points":
        return say("{count:,} points", count=size)
    return say("batch {count:,}", count=size) if unit == "batch" else say("size {count:,}", count=size)


def crossover_words(crossing: Crossover, unit: str) -> str:
    """`faster from batch 64 on`, `never, up to batch 1,024`: where a device is ahead of the CPU."""
    words = _ahead_words(crossing, unit)
    if crossing.too_large is None or (not unit and crossing.word != "unknown"):
        return words
    return say("{what} ({size} does not fit)", what=words, size=size_words(unit, crossing.too_large))


def _ahead_words(crossing: Crossover, unit: str) -> str:
    """Where it is ahead, without what does not fit."""
    if crossing.word == "unknown" or crossing.largest is None:
        return say("not known: nothing ran on both")
    if not unit:
        return say("faster") if crossing.word == "always" else say("not faster")
    if crossing.word == "never":
        if crossing.too_large is not None:
            return say("never faster within its memory")
        return say("never faster up to {size}", size=size_words(unit, crossing.largest))
    first, last = crossing.from_size or 0, crossing.to_size or 0
    if crossing.word == "always":
        words = phrase("faster at every size that was tried, {first} to {last:,}")
        return say(words, first=size_words(unit, first), last=last)
    if crossing.word == "from":
        return say("faster from {size} on", size=size_words(unit, first))
    if crossing.word == "up-to":
        return say("faster up to {size}, not above", size=size_words(unit, last))
    if first == last:
        return say("faster at {size} only", size=size_words(unit, first))
    return say("faster from {first} to {last:,}, not above", first=size_words(unit, first), last=last)


def devices_last_words(result: DevicesResult) -> str:
    """For the last line of a run; empty where there was nothing to compare."""
    found = result.compared
    if result.ending == "none-works":
        failed = next((report for report in result.reports if report.state == "failed"), None)
        return f"no device beside the CPU works{'' if failed is None else f' ({failed.outcome})'}"
    if found is None:
        return "devices not compared" if result.ending == "budget-too-small" else ""
    if found.failed:
        return f"{found.device} failed"
    if found.exportable:
        return f"device {found.setting.options['device']} {gain_words(found.verdict)}"
    word = "mixed" if found.verdict.word == "faster" else found.verdict.word
    return f"device cpu ({found.device} {word}, {gain_words(found.verdict)})"


def gpu_user_words(user: GpuUser) -> str:
    """`firefox (12 % of its time, 310 MiB of its memory)`."""
    held = {"share": percent(user.share), "size": bytes_text(user.held_bytes)}
    return say("{name} ({share} of its time, {size} of its memory)", name=user.name, **held)


def rungs_words(found: Compared) -> str:
    """`mlp train at batch 256 and fit at 1,000,000 points`."""
    words = []
    for rung in found.rungs:
        name = workload_words(rung.workload)
        if rung.options.get("batch"):
            size = size_words("points" if rung.family == "fit" else "batch", rung.size)
            words.append(say("{work} at {size}", work=name, size=size))
        else:
            words.append(name)
    return say(" and ").join(words)
