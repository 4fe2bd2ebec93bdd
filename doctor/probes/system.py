"""The system: distribution, kernel, WSL, container, hypervisor, and who the user is."""

from __future__ import annotations

from typing import Any

from doctor.machine.model import Os
from doctor.probes.found import Found
from doctor.probes.kernel_modules import blacklisted_on, kernel_modules, modprobe
from doctor.probes.surroundings import container, hypervisor, wsl
from doctor.sources.base import Missing, Source, value_or
from doctor.texts.modprobe import Modprobe
from doctor.texts.os_release import read_os_release

_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")


def probe(source: Source) -> Found:
    """The area `os` of the document."""
    if source.origin.platform == "windows":
        from doctor.probes import system_windows

        return system_windows.probe(source)
    if source.origin.platform != "linux":
        return Found({"os": Os(kind=source.origin.platform)})
    return _linux(source)


def _linux(source: Source) -> Found:
    origins = {}
    distribution, file = _distribution(source)
    if file:
        origins = {"os.name": file, "os.version": file}
    kernel = _kernel(source)
    wsl_ = wsl(source, kernel)
    cmdline = source.text("/proc/cmdline")
    user = source.api("identity")
    known = user if isinstance(user, dict) else {}
    options = modprobe(source)
    system = Os(
        kind="linux",
        name=distribution.get("PRETTY_NAME") or distribution.get("NAME"),
        version=distribution.get("VERSION_ID"),
        kernel=kernel,
        wsl=wsl_,
        container=container(source),
        hypervisor=hypervisor(source, wsl_),
        kernel_cmdline=None if isinstance(cmdline, Missing) else cmdline.strip(),
        kernel_modules=kernel_modules(source),
        modprobe_options=None if options is None else options.options,
        blacklisted_modules=_blacklisted(options, cmdline),
        group_ids=_tuple(known.get("gids")),
        group_names=_tuple(known.get("group_names")),
        groups_in_file=_tuple(known.get("groups_in_file")),
        is_root=known["euid"] == 0 if isinstance(known.get("euid"), int) else None,
    )
    return Found({"os": system}, origins=origins)


def _blacklisted(options: Modprobe | None, cmdline: str | Missing) -> tuple[str, ...] | None:
    """Modules that are kept from loading, by file or on the command line; None where neither place was read."""
    if options is None or isinstance(cmdline, Missing):
        return None
    return tuple(dict.fromkeys((*options.blacklisted, *blacklisted_on(cmdline))))


def _distribution(source: Source) -> tuple[dict[str, str], str]:
    for path in _RELEASE_FILES:
        text = source.text(path)
        if not isinstance(text, Missing) and (found := read_os_release(text)):
            return found, path
    return {}, ""


def _kernel(source: Source) -> str | None:
    answer = source.api("uname")
    if isinstance(answer, dict) and isinstance(answer.get("release"), str):
        release: str = answer["release"]
        return release
    text = source.text("/proc/sys/kernel/osrelease")
    if not isinstance(text, Missing) and text.strip():
        return text.strip()
    words = value_or(source.text("/proc/version"), "").split()
    return words[2] if words[:2] == ["Linux", "version"] and len(words) > 2 else None


def _tuple(value: Any) -> tuple[Any, ...] | None:
    return tuple(value) if isinstance(value, list | tuple) else None
