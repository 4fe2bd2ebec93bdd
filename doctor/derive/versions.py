"""Versions, read leniently: one that cannot be read has no order, and so no verdict."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version


def parsed(text: str | None) -> Version | None:
    """The version; None where it is unknown, absent or no version."""
    try:
        return None if text is None else Version(text)
    except InvalidVersion:
        return None


def release_below(text: str | None, bound: tuple[int, ...]) -> bool | None:
    """Is the release (without local part or suffix) below `bound`? None where the version cannot be read."""
    version = parsed(text)
    return None if version is None else _padded(version.release) < _padded(bound)


def _padded(release: tuple[int, ...]) -> tuple[int, ...]:
    return release + (0,) * (6 - len(release))


#: A version as kernels and drivers write it: numbers first (`6.1.0-18-amd64`), whatever follows.
_NUMBERS = re.compile(r"v?(\d{1,12}(?:[.-]\d{1,12}\b){0,7})")
#: A firmware's version, as the amdgpu driver writes it.
_FIRMWARE = re.compile(r"0x[0-9a-fA-F]{1,16}")


def direction(before: str, after: str) -> str | None:
    """`up`, `down`, or `build` for another build of the same version; None where the two have no order."""
    old, new = parsed(before), parsed(after)
    if old is not None and new is not None:
        if old.public == new.public:
            return None if old == new else "build"
        return "up" if old < new else "down"
    if _FIRMWARE.fullmatch(before) and _FIRMWARE.fullmatch(after):
        return _moved((int(before, 16),), (int(after, 16),))
    old_numbers, new_numbers = _NUMBERS.match(before), _NUMBERS.match(after)
    if old_numbers is None or new_numbers is None:
        return None
    return _moved(_numbers(old_numbers[1]), _numbers(new_numbers[1])) or (None if before == after else "build")


def _numbers(text: str) -> tuple[int, ...]:
    return _padded(tuple(int(part) for part in re.split("[.-]", text)))


def _moved(old: tuple[int, ...], new: tuple[int, ...]) -> str | None:
    return None if old == new else "up" if old < new else "down"
