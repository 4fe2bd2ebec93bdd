"""Which devices a run of `tune` would compare, on what: for `--dry-run`."""

from __future__ import annotations

from doctor.present.findings import block
from doctor.present.language import phrase, say, told
from doctor.present.terminal import Line, Look, line
from doctor.present.text import listed, wrap
from doctor.present.tune_words import workload_words
from doctor.tune.devices.ladder import Family
from doctor.tune.devices.plan import DevicePlan, DevicesPlan

_INDENT = 3
_ON_IT = phrase("{device}: {work}; on it {tried}")


def planned_lines(plan: DevicesPlan, look: Look) -> list[Line]:
    lines = [line(say("Then the devices, on the same work, beside the tuned CPU"), "bold")]
    lines += block(told(plan.note), look, 0) if plan.note else []
    for row in plan.devices:
        lines += [line(" " * _INDENT + part) for part in wrap(_words(row), look.columns - _INDENT, hang=2)]
    return lines


def _words(row: DevicePlan) -> str:
    device, work = f"{row.device.title} ({row.device.name})", "; ".join(map(_work, row.families))
    tried = [told(title) for title in (*(arm.title for arm in row.arms), *(way.title for way in row.ways))]
    tried += [say("its memory, until it is refused")] if row.fill_bytes else []
    return say(_ON_IT, device=device, work=work, tried=listed(tried)) if tried else f"{device}: {work}"


def _work(family: Family) -> str:
    name = workload_words(family.name)
    if not family.unit:
        return name
    return say("{work} at {sizes}", work=name, sizes=listed([f"{rung.size:,}" for rung in family.rungs]))
