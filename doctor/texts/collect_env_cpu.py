"""The block beneath "CPU:" of collect_env where it is not lscpu's: Windows in two spellings, and macOS.

    Architecture=9               wmic, up to torch 2.5, with blank lines and lone carriage returns between the rows
    Name: AMD Ryzen 7 5800X …    PowerShell, from 2.6 on; several sockets are separated by dashes

`Family` is a number of SMBIOS (107: Zen), not the family of CPUID. `Revision` holds CPUID's model and stepping:
8448 is 0x2100, model 0x21, stepping 0. `MaxClockSpeed` is the base clock.
"""

from __future__ import annotations

import re

from doctor.machine.model import Cpu

_ROW = re.compile(r"[ \t]*([A-Za-z0-9]{2,30})[ \t]*[=:][ \t]*(.*)")
_KEYS = frozenset({"name", "manufacturer", "family", "revision", "deviceid", "maxclockspeed", "architecture"})
_ENOUGH = 3
_APPLE = re.compile(r"Apple M\d\w*(?: \w+)?|Intel\(R\) .+", re.ASCII)


def read_windows_cpu(block: str) -> Cpu | None:
    """Name, vendor, model and stepping of the first processor. None where the block is of another kind.

    The last line counts only where a newline ends it: a text may be cut.
    """
    values: dict[str, str] = {}
    for line in block.split("\n")[:-1]:
        row = _ROW.fullmatch(line.rstrip())
        if row is not None and row[1].lower() in _KEYS:
            values.setdefault(row[1].lower(), row[2].strip())
    if len(values) < _ENOUGH:
        return None
    revision = values.get("revision", "")
    number = int(revision) if re.fullmatch(r"[0-9]{1,5}", revision) else None
    amd = values.get("manufacturer") == "AuthenticAMD"
    return Cpu(
        vendor=values.get("manufacturer") or None,
        name=" ".join(values.get("name", "").split()) or None,
        model=number >> 8 if amd and number is not None else None,
        stepping=number & 0xFF if amd and number is not None else None,
    )


def read_macos_cpu(block: str) -> Cpu | None:
    """The one line that `sysctl -n machdep.cpu.brand_string` prints."""
    lines = [line.strip() for line in block.split("\n")[:-1] if line.strip()]
    return Cpu(name=lines[0]) if len(lines) == 1 and _APPLE.fullmatch(lines[0]) else None
