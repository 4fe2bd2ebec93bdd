"""Runs in the Windows Python: asks Windows everything that `doctor.sources.live_windows` asks, and the probes on it.

Prints one line of ASCII JSON: {"api": …, "registry": …, "facts": …, "python": …}.
"""

from __future__ import annotations

import json
import os
import sys

import msgspec

from doctor.probes import cpu_windows, limits_windows, power_windows, system_windows, topology_windows
from doctor.sources import live_windows, windows_registry
from doctor.sources.base import Json, Missing, Origin


class Windows:
    """The part of a Source that the Windows probes ask for."""

    origin = Origin("live", "this machine", "windows")

    def api(self, name: str) -> Json | Missing:
        return Missing("not-in-source") if name == "cpuinfo" else live_windows.api(name)

    def registry(self, key: str, value: str) -> str | int | Missing:
        return windows_registry.registry(key, value)

    def exercise(self, name: str) -> Json | Missing:
        return Missing("not-in-source")


def plain(answer: Json | Missing) -> Json:
    return {"missing": answer.reason, "detail": answer.detail} if isinstance(answer, Missing) else answer


def main() -> None:
    source = Windows()
    facts: dict[str, Json] = {}
    for module in (system_windows, cpu_windows, topology_windows, limits_windows, power_windows):
        for area, found in module.probe(source).facts.items():
            facts.setdefault(area, {}).update(msgspec.to_builtins(found))
    print(
        json.dumps(
            {
                "api": {name: plain(live_windows.api(name)) for name in live_windows.CALLS},
                "folder": plain(live_windows.system_folder()),
                "keys": plain(windows_registry.registry_keys(r"HKLM\HARDWARE\DESCRIPTION\System\CentralProcessor")),
                "nothing": plain(windows_registry.registry(r"HKLM\SOFTWARE\amd-doctor-no-such-key", "x")),
                "facts": facts,
                "python": {
                    "build": sys.getwindowsversion().build,
                    "cpu_count": os.cpu_count(),
                    "identifier": os.environ.get("PROCESSOR_IDENTIFIER"),
                    "stdout": sys.stdout.encoding,
                },
            }
        )
    )


if __name__ == "__main__":
    main()
