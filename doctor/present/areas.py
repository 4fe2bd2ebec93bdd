"""The areas of the screen: each with its status and the facts one would ask for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from doctor.diagnosis.model import AREAS, Diagnosis
from doctor.machine.model import Machine
from doctor.present import gpu, hardware, software, status
from doctor.present.language import phrase, say
from doctor.present.says import Says
from doctor.present.status import Status

TITLES = {
    "cpu": "CPU",
    "topology": phrase("Topology"),
    "memory": phrase("Memory"),
    "limits": phrase("Limits"),
    "power": phrase("Power"),
    "system": phrase("System"),
    "python": "Python",
    "pytorch": "PyTorch",
    "environment": phrase("Environment"),
    "gpu": "GPU",
    "rocm": "ROCm",
    "directml": "DirectML",
}

_SAYS: dict[str, Callable[[Machine], Says]] = {
    "cpu": hardware.cpu_says,
    "topology": hardware.topology_says,
    "memory": hardware.memory_says,
    "limits": hardware.limits_says,
    "power": hardware.power_says,
    "system": hardware.system_says,
    "python": software.python_says,
    "pytorch": software.pytorch_says,
    "environment": software.environment_says,
    "gpu": gpu.gpu_says,
    "rocm": software.rocm_says,
    "directml": software.directml_says,
}

#: Names of probes that differ from their area.
_AREA_OF_PROBE = {"torch": "pytorch", "gpus": "gpu", "nodes": "gpu", "rocm-devices": "rocm", "allocation": "memory"}


class Area(msgspec.Struct, frozen=True):
    """One row of the screen: status, title, and lines of facts."""

    name: str
    title: str
    status: Status
    says: Says


def areas_of(machine: Machine, diagnosis: Diagnosis, only: frozenset[str] = frozenset()) -> tuple[Area, ...]:
    """Every area in the order of the screen, or those named in `only`."""
    return tuple(_area(name, machine, diagnosis) for name in AREAS if not only or name in only)


def _area(name: str, machine: Machine, diagnosis: Diagnosis) -> Area:
    says = _SAYS[name](machine)
    state = _status(name, says, diagnosis)
    if state is status.CRASHED:
        says = Says(facts=says.facts, missing=(say("the doctor failed while it read this; see below"),))
    return Area(name, say(TITLES[name]), state, says)


def _status(name: str, says: Says, diagnosis: Diagnosis) -> Status:
    severities = {finding.severity for finding in diagnosis.findings if finding.area == name}
    for severity in ("error", "warning"):
        if severity in severities:
            return status.OF_SEVERITY[severity]
    if any(crash_area(crash.part) == name for crash in diagnosis.crashed):
        return status.CRASHED
    if says.not_applicable:
        return status.NOT_APPLICABLE
    return status.UNKNOWN if says.missing else status.OK


def crash_area(part: str) -> str | None:
    """The area whose probe failed: `probe:torch` is `pytorch`; None for a rule."""
    kind, _, name = part.partition(":")
    return _AREA_OF_PROBE.get(name, name) if kind == "probe" else None
