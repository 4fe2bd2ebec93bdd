"""What a run speaks of: the hardware and software whose change makes its result stale."""

from __future__ import annotations

import hashlib

from doctor.derive.budget import allowed_cpus
from doctor.machine.cpulist import format_cpulist
from doctor.machine.model import Cpu, Limits, Machine

_GIB = 1 << 30
_UNKNOWN = "unknown"

#: The value of "torch" where a Python has none.
NO_TORCH = "none"


def subject_of(machine: Machine, command: str | None = None) -> dict[str, str]:
    """Keys: cpu, cpus, torch, python, driver, hardware, and command where there is one. Never a name of a person or
    host, nor a serial number: the document has none."""
    cpu, torch, python = machine.cpu or Cpu(), machine.torch, machine.python
    allowed = allowed_cpus(machine)
    limit = (machine.limits or Limits()).cpu_budget
    installed = torch.installed if torch else None
    subject = {
        "cpu": cpu.name or _UNKNOWN,
        "cpus": format_cpulist(allowed) if allowed else _UNKNOWN if limit is None else f"{limit} CPUs",
        "torch": NO_TORCH if installed is False else (torch.version if torch else None) or _UNKNOWN,
        "python": (python.version if python else None) or _UNKNOWN,
        "driver": _drivers(machine),
        "hardware": hardware_digest(machine),
    }
    return subject if command is None else {**subject, "command": command}


def hardware_digest(machine: Machine) -> str:
    """Twelve hexadecimal digits over what a person would call another machine. Memory counts in whole GiB: the kernel
    keeps a little for itself, another amount each release."""
    cpu = machine.cpu or Cpu()
    memory = machine.memory.total_bytes if machine.memory else None
    groups = [f"{group.cores} x {group.size_bytes}" for group in cpu.l3_groups or ()]
    parts = [
        cpu.name or _UNKNOWN,
        str(cpu.physical_cores),
        *groups,
        _UNKNOWN if memory is None else str(round(memory / _GIB)),
        *sorted(gpu.name or gpu.pci_id or _UNKNOWN for gpu in machine.gpus or ()),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _drivers(machine: Machine) -> str:
    found = sorted({gpu.driver_version for gpu in machine.gpus or () if gpu.driver_version})
    return ", ".join(found) or "none"
