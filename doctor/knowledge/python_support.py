"""Which Python versions have PyTorch wheels at all (`rules/knowledge/python_support.yaml`)."""

from __future__ import annotations

from functools import cache

import msgspec

from doctor.knowledge.location import rules_folder
from doctor.knowledge.yamlfile import read_typed

#: (os.kind, python.machine in lower case) -> platform of the table.
_PLATFORMS = {
    ("linux", "x86_64"): "linux_x86_64",
    ("linux", "aarch64"): "linux_aarch64",
    ("windows", "amd64"): "win_amd64",
    ("macos", "arm64"): "macos_arm64",
    ("macos", "x86_64"): "macos_x86_64",
}


class PythonSupport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`platforms[platform][tag]` is the first and the last release of torch with a wheel."""

    source: str
    date: str
    platforms: dict[str, dict[str, tuple[str, str]]]


@cache
def python_support() -> PythonSupport:
    """The whole table. Raises BadFile."""
    return read_typed(rules_folder() / "knowledge" / "python_support.yaml", PythonSupport)


def wheels_for(os_kind: str, machine: str) -> dict[str, tuple[str, str]] | None:
    """The tags with wheels on a platform, in ascending order; None for a platform that the table does not know."""
    platform = _PLATFORMS.get((os_kind, machine.lower()))
    return None if platform is None else python_support().platforms[platform]
