"""Options of kernel modules: from the kernel's command line, which goes first, and from modprobe's files."""

from __future__ import annotations

from doctor.machine.model import Machine, NoneWord


def module_option(machine: Machine, module: str, option: str) -> str | NoneWord | None:
    """The value that is set; `"none"` where both places were read and neither sets it."""
    system = machine.os
    if system is None:
        return None
    on_cmdline = _last(system.kernel_cmdline or "", f"{module}.{option}=")
    in_files = _last((system.modprobe_options or {}).get(module, ""), f"{option}=")
    found = on_cmdline if on_cmdline is not None else in_files
    if found is not None:
        return found
    return None if system.kernel_cmdline is None or system.modprobe_options is None else "none"


def has_options(machine: Machine, module: str) -> bool | None:
    """Is any option of the module set? None where a place that may set one was not read."""
    system = machine.os
    if system is None:
        return None
    on_cmdline = any(word.startswith(f"{module}.") for word in (system.kernel_cmdline or "").split())
    if on_cmdline or (system.modprobe_options or {}).get(module):
        return True
    return None if system.kernel_cmdline is None or system.modprobe_options is None else False


def number_option(machine: Machine, module: str, option: str) -> int | NoneWord | None:
    """An option that is a number. One that cannot be read is unknown."""
    value = module_option(machine, module, option)
    if value is None or value == "none":
        return value  # type: ignore[return-value]
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None


def _last(text: str, start: str) -> str | None:
    """What follows the last word that starts so: the last one counts."""
    found = [word[len(start) :] for word in text.split() if word.startswith(start)]
    return found[-1] if found else None
