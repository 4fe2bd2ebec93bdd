"""The commands that a source may run, each by absolute path. PATH is never searched: it may name anything.

Nothing here writes, asks a question or needs the network. `{system}` stands for the system folder of Windows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from doctor.processes.run import Ended, run
from doctor.sources.base import Missing, Reply

TIMEOUT_SECONDS = 5.0
_OUTPUT_CAP_BYTES = 1024 * 1024


class Command(msgspec.Struct, frozen=True):
    """One command: the places where it may lie, and all of its arguments. `*` in a place stands for a release."""

    name: str
    platform: str
    candidates: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    timeout_seconds: float = TIMEOUT_SECONDS
    needs_root: bool = False
    variables: tuple[tuple[str, str], ...] = ()  # what the child sees beside the usual


#: What is asked of Windows through CIM: classes, and the properties that are read. No serial number is among them.
CIM_CLASSES: dict[str, tuple[str, ...]] = {
    "Win32_PhysicalMemory": (
        "BankLabel",
        "Capacity",
        "ConfiguredClockSpeed",
        "DataWidth",
        "DeviceLocator",
        "FormFactor",
        "Manufacturer",
        "PartNumber",
        "SMBIOSMemoryType",
        "Speed",
    ),
    "Win32_PhysicalMemoryArray": ("MemoryDevices", "Use"),
}

#: Prints one object, `{class: [rows]}`, as JSON in UTF-8. Where policy restricts the language of PowerShell, the
#: encoding cannot be set: then it stays the console's, and what is asked for here is ASCII on every machine known.
#: No double quote stands in it: a program would see it doubled or not at all, depending on how it splits its line.
CIM_SCRIPT = (
    "try { [Console]::OutputEncoding = New-Object Text.UTF8Encoding $false } catch { }; "
    "Import-Module CimCmdlets; $told = @{}; "
    + "".join(
        f"$told['{name}'] = @(Get-CimInstance -ClassName {name} | Select-Object -Property {','.join(properties)}); "
        for name, properties in CIM_CLASSES.items()
    )
    + "ConvertTo-Json -InputObject $told -Depth 3 -Compress"
)

COMMANDS: tuple[Command, ...] = (
    # Processors, memory arrays and memory devices; no other structure is read, so that none is recorded.
    Command(
        "dmidecode",
        "linux",
        ("/usr/sbin/dmidecode", "/sbin/dmidecode", "/usr/bin/dmidecode", "/run/current-system/sw/bin/dmidecode"),
        ("--type", "4,16,17"),
        needs_root=True,
    ),
    # What the runtime sees of the GPUs. Without the user's environment: no override changes their names.
    Command(
        "rocminfo",
        "linux",
        ("/opt/rocm/bin/rocminfo", "/opt/rocm-*/bin/rocminfo", "/usr/bin/rocminfo"),
    ),
    # In WSL the runtime looks at /dev/dxg only where it is told to.
    Command(
        "rocminfo-wsl",
        "linux",
        ("/opt/rocm/bin/rocminfo", "/opt/rocm-*/bin/rocminfo", "/usr/bin/rocminfo"),
        variables=(("HSA_ENABLE_DXG_DETECTION", "1"),),
    ),
    Command(
        "amd-smi",
        "linux",
        ("/opt/rocm/bin/amd-smi", "/opt/rocm-*/bin/amd-smi", "/usr/bin/amd-smi"),
        ("static", "--asic", "--bus", "--vram", "--json"),
    ),
    Command(
        "rocm-smi",
        "linux",
        ("/opt/rocm/bin/rocm-smi", "/opt/rocm-*/bin/rocm-smi", "/usr/bin/rocm-smi"),
        ("--showid", "--showbus", "--showproductname", "--showmeminfo", "vram", "gtt", "--json"),
    ),
    # One process for all classes: PowerShell takes about a second to start, on a busy machine several.
    Command(
        "powershell-cim",
        "windows",
        (r"{system}\WindowsPowerShell\v1.0\powershell.exe",),
        ("-NoLogo", "-NoProfile", "-NonInteractive", "-Command", CIM_SCRIPT),
        timeout_seconds=10.0,
    ),
)

_BY_NAME = {command.name: command for command in COMMANDS}

#: A child sees only this: the language of its answers, and a PATH for what it may start itself.
_POSIX_ENVIRONMENT = {"LC_ALL": "C", "LANG": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

Runner: TypeAlias = Callable[..., Ended]


def answer(
    name: str, platform: str, *, is_root: bool, system_folder: str = "", runner: Runner = run
) -> Reply | Missing:
    """Run an allow-listed command. `system_folder` is that of Windows; elsewhere it is not used."""
    command = _BY_NAME.get(name)
    if command is None:
        return Missing("not-on-this-platform", f"no command is named {name}")
    if command.platform != platform:
        return Missing("not-on-this-platform")
    if command.needs_root and not is_root:
        return Missing("needs-root", "run the same command with sudo to add it")
    # Without the system folder a candidate would name the root of the current drive, where anybody may put something.
    known = [candidate for candidate in command.candidates if system_folder or "{system}" not in candidate]
    candidates = [candidate.replace("{system}", system_folder) for candidate in known]
    found = next((place for candidate in candidates for place in _places(candidate) if Path(place).is_file()), None)
    if found is None:
        return Missing("not-installed", f"{name} is not installed")
    ended = runner(
        [found, *command.arguments],
        timeout_seconds=command.timeout_seconds,
        env={**_environment(platform), **dict(command.variables)},
        cwd=str(Path(found).parent),
        cap_bytes=_OUTPUT_CAP_BYTES,
    )
    return _reply(name, ended)


def _places(candidate: str) -> list[str]:
    """The paths that a candidate stands for. A `*` in it is a release: the highest comes first."""
    if "*" not in candidate:
        return [candidate]
    return sorted((str(path) for path in Path("/").glob(candidate.lstrip("/"))), key=_numbers, reverse=True)


def _numbers(path: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]{1,9}", path))


def _reply(name: str, ended: Ended) -> Reply | Missing:
    if ended.outcome == "timeout":
        return Missing("timed-out", f"{name}: {ended.name}")
    if ended.outcome != "exited" or ended.status is None:
        return Missing("probe-failed", f"{name}: {ended.name}")
    stdout = ended.stdout.decode("utf-8", "replace")
    if ended.status == 0 and not stdout.strip():
        return Missing("probe-failed", f"{name} answered nothing")
    return Reply(ended.status, stdout, ended.stderr.decode("utf-8", "replace"))


def _environment(platform: str) -> Mapping[str, str]:
    if platform != "windows":
        return _POSIX_ENVIRONMENT
    # Windows programs do not start without these two.
    return {name: os.environ[name] for name in ("SystemRoot", "SystemDrive") if name in os.environ}
