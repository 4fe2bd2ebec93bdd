"""Kernel modules that concern GPUs: which are there, with which options, and which are kept from loading."""

from __future__ import annotations

from doctor.sources.base import Missing, Source, value_or
from doctor.texts.modprobe import Modprobe, read_modprobe, read_modules

#: Drivers of GPUs and of the memory that they share. Others are nobody's business here.
_CONCERNED = frozenset(
    {"amdgpu", "radeon", "ttm", "amdttm", "amdkcl", "amdxdna", "nvidia", "nvidia_drm", "nouveau", "i915", "xe"}
    | {"vfio_pci", "pci_stub"}
)

#: Where modprobe looks; a file of the same name in an earlier folder takes the place of a later one.
_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")


def kernel_modules(source: Source) -> tuple[str, ...] | None:
    """The modules that are loaded or built in; None where the machine does not tell.

    `/sys/module` has those that are built in, too, as far as they have options: all of these have.
    """
    names = source.names("/sys/module")
    if isinstance(names, Missing):
        text = source.text("/proc/modules")
        if isinstance(text, Missing):
            return None
        names = read_modules(text)
    return tuple(sorted(_CONCERNED & set(names)))


def modprobe(source: Source) -> Modprobe | None:
    """What modprobe's files say of these modules; None where its folder could not be listed."""
    if not _looked(source):
        return None
    files: dict[str, str] = {}
    for folder in _FOLDERS:
        for name in value_or(source.names(folder), ()):
            if name.endswith(".conf") and name not in files:
                files[name] = value_or(source.text(f"{folder}/{name}"), "")
    found = read_modprobe(files[name] for name in sorted(files))
    return Modprobe(
        options={module: text for module, text in found.options.items() if module in _CONCERNED},
        blacklisted=tuple(module for module in found.blacklisted if module in _CONCERNED),
    )


def _looked(source: Source) -> bool:
    """Does the source know whether there are such files?"""
    answer = source.names(_FOLDERS[0])
    return not isinstance(answer, Missing) or answer.reason == "absent"


def blacklisted_on(cmdline: str) -> tuple[str, ...]:
    """The modules that the kernel's command line keeps from loading."""
    found: list[str] = []
    for word in cmdline.split():
        name, _, value = word.partition("=")
        if name in ("modprobe.blacklist", "module_blacklist"):
            found += [module.replace("-", "_") for module in value.split(",") if module]
    return tuple(module for module in dict.fromkeys(found) if module in _CONCERNED)
