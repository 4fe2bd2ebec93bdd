"""The devices on the screen of `tune`: what was shown, from which size on, what does not work, and what to write."""

from __future__ import annotations

import math
from collections.abc import Iterator

from doctor.measure.verdict import gain_of
from doctor.present.findings import block
from doctor.present.language import joined, phrase, say, told
from doctor.present.status import ERROR, OK, WARNING
from doctor.present.terminal import Line, Look, Span, line
from doctor.present.text import bytes_text, columns, listed, plural, wrap
from doctor.present.tune_devices_words import (
    ITEMS,
    UNITS,
    crossover_words,
    named,
    number_words,
    outcome_words,
    rate_words,
    rungs_words,
    times_words,
    title_of,
)
from doctor.present.tune_words import gain_words, needed_words, signed_percent, workload_words
from doctor.tune.devices.device import CPU_NAME
from doctor.tune.devices.findings import problems_of
from doctor.tune.devices.ladder import Family
from doctor.tune.devices.memory import IgpuMemory
from doctor.tune.devices.result import (
    BATCH_VARIABLE,
    DEVICE_VARIABLE,
    Compared,
    DeviceReport,
    DevicesResult,
    batch_name,
)
from doctor.tune.devices.sizes import Row
from doctor.tune.result import TuneResult

#: The picture beside a table: a line in the middle is the CPU, each step a third of a doubling.
_HALF_COLUMNS = 9
_STEPS_PER_DOUBLING = 3
_SIZE_COLUMNS, _CPU_COLUMNS, _DEVICE_COLUMNS, _TIMES_COLUMNS = 10, 14, 18, 9
#: A way to write the code is worth its lines from here on.
_WORTH_IT = 0.02
_MOST_DEVICES = 2

_STYLES = {"faster": OK.style, "slower": WARNING.style}


def devices_lines(result: TuneResult, look: Look, *, verbose: bool = False) -> list[Line]:
    """Everything about devices; nothing where none was asked for."""
    found = result.devices
    if found is None:
        return []
    parts = [
        [line(say("Devices, on the same work"), "bold"), *_conclusion(found, look)],
        _problems(found, look),
        *_tables(result, found, look, verbose=verbose),
        _around(found, look, verbose=verbose),
        _code(found, look),
    ]
    if result.igpu_memory is not None:
        parts.append(memory_lines(result.igpu_memory, look))
    lines: list[Line] = []
    for part in parts:
        if part:
            lines += [line(), *part] if lines else part
    return lines


def _conclusion(found: DevicesResult, look: Look) -> list[Line]:
    return [row for sentence in devices_sentences(found) for row in block(sentence, look, 0)]


def devices_sentences(found: DevicesResult) -> list[str]:
    """What the comparison showed, and what was not compared."""
    sentences = [told(found.note)] if found.note else []
    for device in found.told if not found.note else ():
        why = told(device.why_not or "")
        sentences.append(say("{device} is here as well: {reason}.", device=device.title, reason=why))
    if found.ending == "none-works":
        sentences.append(_none_works(found))
    elif found.ending == "budget-too-small":
        more = math.ceil(found.needed_seconds or 0.0)
        words = phrase("The budget was too small to prove anything: about {seconds} s more would do.")
        sentences.append(say(words, seconds=more))
    elif found.compared is not None:
        sentences += _verdict_sentences(found, found.compared)
    return [sentence for sentence in sentences if sentence]


def _none_works(found: DevicesResult) -> str:
    unable = [report for report in found.reports if report.device.name != CPU_NAME and report.state == "measured"]
    if unable:
        lacking = listed([report.device.title for report in unable])
        return say("Stay with the CPU: {devices} cannot run all of the work.", devices=lacking)
    return say("Stay with the CPU: no other device here does the work.")


def _verdict_sentences(found: DevicesResult, compared: Compared) -> Iterator[str]:
    shown = {
        "device": title_of(found, compared.device),
        "gain": gain_words(compared.verdict),
        "work": rungs_words(compared),
        "pairs": plural(compared.verdict.pairs, "pair"),
    }
    if compared.failed:
        words = phrase("Stay with the CPU: {device} failed while it was confirmed ({reason}).")
        yield say(words, device=shown["device"], reason=told(compared.failed))
    elif compared.exportable:
        words = phrase("Use {device}: {gain} against the tuned CPU on {work}, in {pairs}.")
        if compared.arm:
            words = phrase("Use {device}: {gain} against the tuned CPU on {work}, with {setting}, in {pairs}.")
        yield say(words, setting=told(compared.arm or ""), **shown)
        if compared.own is not None:
            own = {"setting": told(compared.arm or ""), "verdict": told(compared.own.word)}
            yield say("Of that, {setting} alone: {verdict}, {gain}.", gain=gain_words(compared.own), **own)
    elif compared.verdict.word == "faster":
        words = phrase(
            "It depends on the work: {device} is {gain} against the tuned CPU on the whole, but slower on {slower}."
        )
        yield say(words, slower=_slower_words(compared), device=shown["device"], gain=shown["gain"])
    elif compared.verdict.word == "slower":
        words = phrase(
            "The CPU is the better device here: {device} is {gain} against it, tuned, on {work}, in {pairs}."
        )
        yield say(words, **shown)
    elif compared.verdict.word == "same":
        words = phrase("Stay with the CPU: {device} is the same within ±3 % ({gain}) on {work}, in {pairs}.")
        yield say(words, **shown)
    else:
        words = phrase(
            "Not decided: {device} is {gain} against the tuned CPU on {work}, in {pairs}; stay with the CPU."
        )
        yield say(words, **shown)
        needed = needed_words(compared.verdict)
        if needed:
            yield say("{needed} would have decided it.", needed=f"{needed[:1].upper()}{needed[1:]}")


def _slower_words(compared: Compared) -> str:
    words = [(workload_words(name), gain_words(compared.by_workload[name])) for name in compared.slower_on]
    return listed([say("{what} ({gain})", what=work, gain=gain) for work, gain in words])


def _problems(found: DevicesResult, look: Look) -> list[Line]:
    lines: list[Line] = []
    for report in found.reports:
        for problem in problems_of(report):
            status = ERROR if problem.breaks else WARNING
            text = say("{what}: {reason}", what=named(report), reason=told(problem.words))
            lines += [line(part, status.style) for part in wrap(f"{status.symbol} {text}", look.columns, hang=2)]
    return lines


def _tables(result: TuneResult, found: DevicesResult, look: Look, *, verbose: bool) -> Iterator[list[Line]]:
    plan, cpu = result.plan.devices, found.cpu
    others = [report for report in found.reports if report.device.name != CPU_NAME and report.rows]
    if plan is None or cpu is None or not others:
        return
    for family in plan.families:
        if family.unit == "" and not verbose:
            continue
        for report in others if verbose else others[:_MOST_DEVICES]:
            yield _table(family, cpu, report, look)


def _table(family: Family, cpu: DeviceReport, report: DeviceReport, look: Look) -> list[Line]:
    """Sizes downwards; the speed of both, how many times that is, and the same as a picture."""
    own = {row.size: row for row in report.of_family(family.name)}
    theirs = {row.size: row for row in cpu.of_family(family.name)}
    if not own:
        return []
    head = joined((workload_words(family.name), say(ITEMS[family.unit]), say("estimates")))
    works = report.state == "measured"
    crossing = report.crossovers.get(family.name)
    lines = [line(head, "bold")]
    if crossing is not None and works:
        ahead = crossover_words(crossing, family.unit)
        lines += block(say("{what}: {reason}.", what=report.device.title, reason=ahead), look, 0)
    title = report.device.title
    title = title if columns(title) <= _DEVICE_COLUMNS - 2 else report.device.name
    columns_line = _right(say(UNITS[family.unit]), _SIZE_COLUMNS) + _right("CPU", _CPU_COLUMNS)
    columns_line += _right(title, _DEVICE_COLUMNS)
    lines.append(line(columns_line, "dim"))
    advised = report.sizes.get(family.name)
    for size in sorted(own.keys() | theirs.keys()):
        lines.append(_row(size, theirs.get(size), own.get(size), look, advised=works and size == advised))
    if own.keys() != theirs.keys() and works:
        why = say("-: not run. A step would take more than 2 s, or memory or time ran short.")
        lines += [line(part, "dim") for part in wrap(why, look.columns, 2)]
    return lines


def _row(size: int, cpu: Row | None, own: Row | None, look: Look, *, advised: bool) -> Line:
    text = f"{size:>{_SIZE_COLUMNS},}" if size else " " * _SIZE_COLUMNS
    text += _right(_speed(cpu), _CPU_COLUMNS) + _right(_speed(own), _DEVICE_COLUMNS)
    if cpu is None or own is None or not cpu.items_per_second or not own.items_per_second:
        return line(text)
    ratio = own.items_per_second / cpu.items_per_second
    style = OK.style if ratio > 1 else WARNING.style
    return (
        Span(text),
        Span(f"{times_words(ratio):>{_TIMES_COLUMNS}}", style),
        Span(f"  {bar(ratio, ascii_only=look.ascii)}", style),
        Span(" " + say("advised") if advised else ""),
    )


def _right(text: str, width: int) -> str:
    """`text` at the right end of `width` columns."""
    return " " * (width - columns(text)) + text


def _speed(row: Row | None) -> str:
    if row is None:
        return "-"
    return number_words(row.items_per_second) if row.items_per_second is not None else outcome_words(row)


def bar(ratio: float, *, ascii_only: bool = False) -> str:
    """`      ━━│      `: how far a ratio lies from 1, to the left where it is smaller, in thirds of a doubling."""
    steps = min(round(abs(math.log2(ratio)) * _STEPS_PER_DOUBLING), _HALF_COLUMNS)
    mark = "#" if ascii_only else "━"
    left = (mark * steps).rjust(_HALF_COLUMNS) if ratio < 1 else " " * _HALF_COLUMNS
    right = (mark * steps).ljust(_HALF_COLUMNS) if ratio >= 1 else " " * _HALF_COLUMNS
    return f"{left}│{right}"


def _around(found: DevicesResult, look: Look, *, verbose: bool) -> list[Line]:
    """Batches that do not fit, copies, ways to write the code, and with -v the settings of the device."""
    lines: list[Line] = []
    for report in found.reports:
        for made in report.accumulated:
            if made.items_per_second is not None:
                words = phrase(
                    "{work}, batch {batch} does not fit: {split} steps, measured {speed} samples/s."
                )
            else:
                words = phrase("{work}, batch {batch} does not fit, nor does {split}.")
            facts = {"work": workload_words(made.family), "batch": made.batch, "split": f"{made.of} x {made.steps}"}
            lines += block(say(words, speed=number_words(made.items_per_second or 0.0), **facts), look, 0)
        if report.to_device_bytes_per_second and report.from_device_bytes_per_second:
            to, back = rate_words(report.to_device_bytes_per_second), rate_words(report.from_device_bytes_per_second)
            words = phrase("Copies, timed apart: {to} to {device}, {back} back.")
            lines += block(say(words, to=to, device=report.device.title, back=back), look, 0)
        for way in report.ways:
            said = say("about {gain} (an estimate)", gain=signed_percent(way.gain or 0.0))
            said = say("failed: {reason}", reason=told(way.failed)) if way.failed else said
            what = joined((report.device.title, told(way.way.title)))
            lines += block(say("{what}: {reason}.", what=what, reason=said), look, 0)
            if not way.failed and (way.gain or 0.0) > _WORTH_IT:
                lines += [line(f"    {code}", "cyan") for code in way.way.code]
        for arm in report.arms if verbose else ():
            said = say("not tried") if arm.log_ratio is None else signed_percent(gain_of(arm.log_ratio))
            said = told(arm.failed) if arm.failed else said
            what = joined((report.device.title, told(arm.title)))
            lines += block(say("{what}: {result} in the search.", what=what, result=said), look, 0)
    return lines


def _code(found: DevicesResult, look: Look) -> list[Line]:
    """The two lines with which a program follows the env file."""
    if not found.variables or found.compared is None:
        return []
    device = found.compared.setting.options["device"]
    lines = block(say("In your program, with what the env file says:"), look, 0)
    imports = "import os, torch" + (", torch_directml" if device.startswith("privateuseone") else "")
    code = [f'device = torch.device(os.environ.get("{DEVICE_VARIABLE}", "cpu"))']
    name = batch_name(device)
    if name in found.variables:
        code.append(f'batch_size = int(os.environ.get("{name}", os.environ.get("{BATCH_VARIABLE}", "32")))')
    return [*lines, *(line(f"    {text}", "cyan") for text in (imports, *code))]


def memory_lines(memory: IgpuMemory, look: Look) -> list[Line]:
    """What filling the memory of the integrated GPU showed, and what to set."""
    lines = [line(say("Memory of {name}", name=memory.facts.device), "bold")]
    for sentence in memory_sentences(memory):
        lines += block(sentence, look, 0)
    for setting in memory.settings:
        lines += [line(part, "cyan") for part in wrap(f"    {told(setting)}", look.columns, hang=6)]
    return lines


def memory_sentences(memory: IgpuMemory) -> Iterator[str]:
    """What was filled, where it came from, what is needed."""
    ends = {
        "refused": phrase("until it was refused"),
        "limit": phrase("all that was asked for"),
        "kept-free": phrase("then it was stopped, so that the machine keeps some of its own"),
        "killed": phrase("then the process was ended"),
        "hung": phrase("then nothing moved any more"),
        "failed": phrase("then it failed"),
    }
    end = say(ends[memory.ended])
    end = say("{what} ({reason})", what=end, reason=told(_detail(memory))) if _detail(memory) else end
    yield say("Filled with {size}, {end}.", size=bytes_text(memory.held_bytes), end=end)
    wordings = (phrase("{size} from what is carved out"), phrase("{size} from what is shared"))
    if memory.parts_are_estimate:
        wordings = (phrase("about {size} from what is carved out"), phrase("about {size} from what is shared"))
    parts = zip(wordings, (memory.from_dedicated_bytes, memory.from_shared_bytes), strict=True)
    known = listed([say(words, size=bytes_text(size)) for words, size in parts if size])
    if known and memory.from_ram_bytes is not None:
        lost = bytes_text(memory.from_ram_bytes)
        yield say("Of that came {parts}; the RAM lost {size} meanwhile.", parts=known, size=lost)
    elif known:
        yield say("Of that came {parts}.", parts=known)
    if memory.needed_bytes is not None:
        words = phrase("The advised batches need {size} ({what}).")
        words = phrase("The advised batches need about {size} ({what}).") if memory.needed_is_estimate else words
        yield say(words, size=bytes_text(memory.needed_bytes), what=told(memory.needed_for or ""))
    why = told(memory.why or "")
    if memory.carve_out_bytes is None:
        yield say("No carve-out is advised: {reason}.", reason=why)
        return
    words = phrase("The smallest carve-out that loses nothing for them: {size}; {reason}.")
    yield say(words, size=bytes_text(memory.carve_out_bytes), reason=why)
    returned = memory.returned_bytes or 0
    if returned > 0:
        yield say("The CPU gets {size} back by it.", size=bytes_text(returned))
    elif returned < 0:
        yield say("It takes {size} from the CPU.", size=bytes_text(-returned))


def _detail(memory: IgpuMemory) -> str:
    return memory.detail if memory.detail and memory.ended not in ("refused", "limit") else ""

