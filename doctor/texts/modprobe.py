"""modprobe.d(5): options of kernel modules, and modules that are kept from loading."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

_CONTINUED = re.compile(r"\\\r?\n")

#: What stands behind `install` where a module is not to be loaded.
_NOTHING = ("/bin/true", "/bin/false", "/usr/bin/true", "/usr/bin/false", "true", "false")


class Modprobe(msgspec.Struct, frozen=True):
    """`options` maps a module to its options in the order of the files, `blacklisted` names modules."""

    options: dict[str, str] = {}
    blacklisted: tuple[str, ...] = ()


def read_modprobe(texts: Iterable[str]) -> Modprobe:
    """The files of modprobe in the order in which they are read. Never raises; other directives are passed over."""
    options: dict[str, list[str]] = {}
    blacklisted: list[str] = []
    for text in texts:
        for line in _CONTINUED.sub(" ", text).splitlines():
            words = line.partition("#")[0].split()
            if len(words) < 2:
                continue
            module = words[1].replace("-", "_")
            if words[0] == "options":
                options.setdefault(module, []).extend(words[2:])
            elif words[0] == "blacklist" or (words[0] == "install" and words[2:3] and words[2] in _NOTHING):
                blacklisted.append(module)
    found = {module: " ".join(values) for module, values in options.items() if values}
    return Modprobe(found, tuple(dict.fromkeys(blacklisted)))


def read_modules(text: str) -> tuple[str, ...]:
    """The names in `/proc/modules`, or in what `lsmod` prints."""
    names = (line.split(" ", 1)[0].split("\t", 1)[0] for line in text.splitlines())
    return tuple(name for name in names if re.fullmatch(r"[A-Za-z0-9_]{1,64}", name) and name != "Module")
