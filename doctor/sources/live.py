"""The machine that this process runs on. The only place, with its Windows half, that looks at it.

Names of `api` and their shapes (JSON values; `Missing` where the platform has none):

    affinity            the CPUs of this process, a CPU list such as "0-7"                            linux, windows
    rlimits             {"nproc", "as", "stack"}: the soft limit, or "none"                           linux
    uname               {"system", "release", "version", "machine"}                                   all
    identity            {"euid", "gids", "group_names", "groups_in_file"}: the groups of this         linux
                        process, and those that the group database gives its user
    library-path        the folders in LD_LIBRARY_PATH that name ROCm: ["/opt/rocm-6.2/lib"]            linux
    memory              {"total_bytes", "available_bytes"}                                            windows, macos
    battery             {"plugged": true, false or null, "percent": number or null}                   windows, macos
    cpuinfo             {"brand_raw", "vendor_id_raw", "family", "model", "stepping", "flags"}        without /proc
    logical-processors, firmware-table, power-scheme, windows-version: see `live_windows`             windows
    dxgi-adapters: see `windows_adapters`                                                             windows
"""

from __future__ import annotations

import datetime
import errno
import os
import platform
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from doctor.machine.cpulist import format_cpulist
from doctor.processes.run import run
from doctor.sources import commands
from doctor.sources.base import Access, Json, Missing, MissingReason, Origin, Reply
from doctor.sources.personal_names import redactor_of_this_machine
from doctor.sources.recording import FILE_CAP_BYTES
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import Redactor

_PLATFORMS = {"win32": "windows", "darwin": "macos"}
_CPUINFO_TIMEOUT_SECONDS = 10.0
_CPUINFO_KEYS = ("brand_raw", "vendor_id_raw", "family", "model", "stepping", "flags")
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

#: A sysfs attribute that its driver does not fill answers one of these: looked, and there is nothing.
_NOTHING_THERE = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ENODATA, errno.EINVAL, errno.EOPNOTSUPP}
)


class Exercising(Protocol):
    """Whatever answers exercises in the target interpreter (`doctor.sources.exercises.Exercises`)."""

    def exercise(self, name: str) -> Json | Missing: ...


class LiveSource(RedactedSource):
    """This machine, without personal data. `exercises=None`: nothing is started in a target interpreter."""

    def __init__(self, exercises: Exercising | None = None, *, redactor: Redactor | None = None) -> None:
        super().__init__(ThisMachine(exercises), redactor or redactor_of_this_machine())


class ThisMachine:
    """This machine, as it is."""

    def __init__(self, exercises: Exercising | None = None) -> None:
        self._exercises = exercises
        now = datetime.datetime.now(datetime.timezone.utc)
        self._origin = Origin(
            kind="live",
            name="this machine",
            platform=_PLATFORMS.get(sys.platform, sys.platform),
            taken_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    @property
    def origin(self) -> Origin:
        return self._origin

    def data(self, path: str) -> bytes | Missing:
        try:
            # Opening a FIFO or a device would wait for something, or set it off.
            if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
                return Missing("absent", "not a regular file")
            with open(os.open(path, _FLAGS), "rb") as opened:
                return opened.read(FILE_CAP_BYTES)
        except (OSError, ValueError) as error:
            return _failure(error)

    def text(self, path: str) -> str | Missing:
        content = self.data(path)
        return content if isinstance(content, Missing) else content.decode("utf-8", "replace")

    def names(self, path: str) -> tuple[str, ...] | Missing:
        try:
            return tuple(sorted(os.listdir(path)))  # noqa: PTH208
        except (OSError, ValueError) as error:
            return _failure(error)

    def access(self, path: str) -> Access | Missing:
        try:
            found = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError) as error:
            why = _failure(error)
            return Access(exists=False) if why.reason == "absent" else why
        return Access(
            exists=True,
            readable=_may(path, os.R_OK),
            writable=_may(path, os.W_OK),
            mode=f"{stat.S_IMODE(found.st_mode):04o}",
            gid=found.st_gid,
            group=_group_name(found.st_gid),
            acl=_has_acl(path),
        )

    def command(self, name: str) -> Reply | Missing:
        where = self._origin.platform
        return commands.answer(name, where, is_root=_is_root(), system_folder=_system_folder())

    def environment(self) -> Mapping[str, str] | Missing:
        from doctor.knowledge.env_vars import is_tuning_name

        return {name: value for name, value in sorted(os.environ.items()) if is_tuning_name(name)}

    def registry(self, key: str, value: str) -> str | int | Missing:
        if sys.platform != "win32":
            return Missing("not-on-this-platform")
        from doctor.sources.windows_registry import registry

        return registry(key, value)

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        if sys.platform != "win32":
            return Missing("not-on-this-platform")
        from doctor.sources.windows_registry import registry_keys

        return registry_keys(key)

    def api(self, name: str) -> Json | Missing:
        if sys.platform == "win32" and name not in _CALLS["windows"]:
            from doctor.sources.live_windows import api

            return api(name)
        call = _CALLS.get(self._origin.platform, {}).get(name)
        if call is None:
            return Missing("not-on-this-platform")
        try:
            return call()
        except OSError as error:
            return Missing("probe-failed", error.strerror or str(error))

    def exercise(self, name: str) -> Json | Missing:
        if self._exercises is None:
            return Missing("not-in-source", "exercises are switched off")
        return self._exercises.exercise(name)


def _failure(error: OSError | ValueError) -> Missing:
    """Why a file has no answer. A ValueError is a path that no system takes, such as one with a NUL."""
    number = getattr(error, "errno", None)
    if isinstance(error, PermissionError):
        reason: MissingReason = "probe-failed" if _is_root() else "needs-root"
        return Missing(reason, "permission denied" if _is_root() else "run the same command with sudo to add it")
    if number in _NOTHING_THERE:
        return Missing("absent")
    return Missing("probe-failed", getattr(error, "strerror", None) or str(error))


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _system_folder() -> str:
    if sys.platform != "win32":
        return ""
    from doctor.sources.live_windows import system_folder

    found = system_folder()
    return "" if isinstance(found, Missing) else found


def _may(path: str, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _group_name(gid: int) -> str | None:
    if sys.platform == "win32":
        return None
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return None


def _has_acl(path: str) -> bool | None:
    if sys.platform != "linux":
        return None
    try:
        return bool(os.getxattr(path, "system.posix_acl_access"))
    except OSError as error:
        return False if error.errno in (errno.ENODATA, errno.EOPNOTSUPP) else None


def _affinity() -> Json | Missing:
    if sys.platform != "linux":
        return Missing("not-on-this-platform")
    return format_cpulist(os.sched_getaffinity(0))


def _rlimits() -> Json | Missing:
    if sys.platform == "win32":
        return Missing("not-on-this-platform")
    import resource

    limits = {"nproc": resource.RLIMIT_NPROC, "as": resource.RLIMIT_AS, "stack": resource.RLIMIT_STACK}
    soft = {name: resource.getrlimit(limit)[0] for name, limit in limits.items()}
    return {name: "none" if value == resource.RLIM_INFINITY else value for name, value in soft.items()}


def _uname() -> Json | Missing:
    told = platform.uname()
    return {"system": told.system, "release": told.release, "version": told.version, "machine": told.machine}


def _identity() -> Json | Missing:
    if sys.platform == "win32":
        return Missing("not-on-this-platform")
    import pwd

    gids = sorted({*os.getgroups(), os.getegid()})
    try:
        user = pwd.getpwuid(os.geteuid())
        in_database = os.getgrouplist(user.pw_name, user.pw_gid)
    except KeyError:
        in_database = []
    return {
        "euid": os.geteuid(),
        "gids": gids,
        "group_names": [name for name in map(_group_name, gids) if name],
        "groups_in_file": [name for name in map(_group_name, sorted(set(in_database))) if name],
    }


def _library_path() -> Json | Missing:
    """Other folders in it are nobody's business."""
    return [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if "rocm" in folder.lower()]


def _memory() -> Json | Missing:
    import psutil

    memory = psutil.virtual_memory()
    return {"total_bytes": memory.total, "available_bytes": memory.available}


def _battery() -> Json | Missing:
    import psutil

    battery = psutil.sensors_battery()
    if battery is None:
        return Missing("absent")
    return {"plugged": battery.power_plugged, "percent": battery.percent}


#: Not `-m`, which would put the current folder first, and not `-I`, which would hide what `pip --user` installed.
_CPUINFO_CODE = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
from cpuinfo import main
sys.argv[1:] = ["--json"]
main()
"""


def _cpuinfo() -> Json | Missing:
    """py-cpuinfo, in a child: on Windows it starts processes of its own, and it may take its time."""
    if sys.platform != "win32" and Path("/proc/cpuinfo").exists():
        return Missing("not-on-this-platform", "/proc/cpuinfo says it")
    ended = run([sys.executable, "-c", _CPUINFO_CODE], timeout_seconds=_CPUINFO_TIMEOUT_SECONDS)
    if not ended.ok:
        return Missing("timed-out" if ended.outcome == "timeout" else "probe-failed", f"py-cpuinfo: {ended.name}")
    try:
        told = msgspec.json.decode(ended.stdout, type=dict[str, Json])
    except (msgspec.DecodeError, RecursionError):
        return Missing("probe-failed", "py-cpuinfo answered nothing that can be read")
    return {key: told[key] for key in _CPUINFO_KEYS if key in told}


_POSIX: dict[str, Callable[[], Json | Missing]] = {"uname": _uname, "rlimits": _rlimits, "identity": _identity}

#: What is answered here; the other names of Windows are answered by `live_windows`.
_CALLS: dict[str, dict[str, Callable[[], Json | Missing]]] = {
    "linux": {**_POSIX, "affinity": _affinity, "cpuinfo": _cpuinfo, "library-path": _library_path},
    "macos": {**_POSIX, "memory": _memory, "battery": _battery, "cpuinfo": _cpuinfo},
    "windows": {"uname": _uname, "memory": _memory, "cpuinfo": _cpuinfo},
}
