"""What a probe may ask of a machine, wherever the answer comes from.

A `Source` answers with plain values, or with `Missing`, which says why there is none. The same probe therefore runs
on this machine, on a recording, on a tree of files and on a test's folder. No method raises for a missing answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

#: `absent`: looked, and this machine does not have it. The others are the reasons of the machine document.
MissingReason = Literal[
    "absent", "needs-root", "not-on-this-platform", "not-in-source", "probe-failed", "timed-out", "not-installed"
]


class Missing(msgspec.Struct, frozen=True):
    """No answer, and why."""

    reason: MissingReason
    detail: str | None = None

    def __bool__(self) -> bool:
        """A missing answer is falsy, so that `text or ""` reads well."""
        return False


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """What this process may do with one path. Access is tried, not computed from group names."""

    exists: bool
    readable: bool = False
    writable: bool = False
    mode: str | None = None  # "0660"
    gid: int | None = None
    group: str | None = None
    acl: bool | None = None


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an allow-listed command answered. An empty `stdout` with status 0 is no answer: sources return `Missing`."""

    status: int
    stdout: str
    stderr: str = ""


class Origin(msgspec.Struct, frozen=True):
    """Which machine this source speaks of."""

    kind: str  # live recording tree dmidecode cpuinfo …
    name: str
    platform: str  # linux windows macos
    taken_at: str | None = None  # UTC, ISO 8601; None where nothing tells


Json: TypeAlias = Any
T = TypeVar("T")


class Source(Protocol):
    """One machine's raw material. Paths are absolute POSIX paths of that machine, on every platform."""

    @property
    def origin(self) -> Origin: ...

    def text(self, path: str) -> str | Missing:
        """A file's text (UTF-8, wrong bytes replaced), at most 1 MiB of it."""

    def data(self, path: str) -> bytes | Missing:
        """A file's bytes, at most 1 MiB of them."""

    def names(self, path: str) -> tuple[str, ...] | Missing:
        """The names in a folder, sorted."""

    def access(self, path: str) -> Access | Missing:
        """What this process may do with a path; `Access(exists=False)` where there is none."""

    def command(self, name: str) -> Reply | Missing:
        """The answer of a command named in `doctor.sources.commands`."""

    def environment(self) -> Mapping[str, str] | Missing:
        """The tuning variables of the environment that the target inherits, from the published allow-list."""

    def registry(self, key: str, value: str) -> str | int | Missing:
        """A value of the Windows registry. `key` starts with `HKLM\\` or `HKCU\\`."""

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        """The names of the subkeys of a registry key."""

    def api(self, name: str) -> Json | Missing:
        """What a system call answered, as JSON: see `doctor.sources.live` for the names and their shapes."""

    def exercise(self, name: str) -> Json | Missing:
        """What a script of `doctor/inside/` answered in the target interpreter, as JSON."""


def value_or(answer: T | Missing, default: T) -> T:
    """The answer, or a default where it is missing."""
    return default if isinstance(answer, Missing) else answer
