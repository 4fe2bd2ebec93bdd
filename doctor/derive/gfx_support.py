"""Can a PyTorch wheel run on a GPU target, by itself or as another target?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from packaging.version import Version

from doctor.derive.versions import parsed
from doctor.knowledge.gfx import GfxRow, generic_target, gfx_row, wheel_archs
from doctor.machine.model import Machine, Package

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"

#: What the runtime takes: three numbers and nothing else (libhsakmt, topology.c).
_OVERRIDE_VERSION = re.compile(r"(\d{1,2})\.(\d{1,3})\.(\d{1,3})")
_WHEEL_ROCM = re.compile(r"rocm(\d{1,2}(?:\.\d{1,2}){1,2})")

#: Who builds torch for other targets than the wheels of download.pytorch.org hold.
_BUILD_THEIR_OWN = ("conda", "distro")


def bare(gfx: str) -> str:
    """`gfx90a` for `gfx90a:sramecc+:xnack-`."""
    return gfx.partition(":")[0]


def targets_of_torch(machine: Machine) -> tuple[str, ...] | None:
    """The targets that the installed PyTorch has code for: as it says itself, else by table for a released wheel of
    download.pytorch.org. None where neither is known."""
    torch = machine.torch
    if torch is None:
        return None
    if torch.arch_list is not None:
        return tuple(dict.fromkeys(bare(arch) for arch in torch.arch_list))
    installer = (machine.packages or {}).get("torch", Package()).installer
    version = parsed(torch.version)
    if version is None or version.is_prerelease or installer in _BUILD_THEIR_OWN:
        return None
    return _targets_of_wheel(version)


def _targets_of_wheel(version: Version) -> tuple[str, ...] | None:
    built_for = _WHEEL_ROCM.fullmatch(version.local or "")
    return wheel_archs(f"{version.major}.{version.minor}", built_for[1]) if built_for else None


def covered(gfx: str, targets: Sequence[str]) -> bool:
    """Is there code for the target: its own, or that of its generic target?"""
    if bare(gfx) in targets:
        return True
    return any(target.endswith("-generic") for target in targets) and generic_target(gfx) in targets


def gfx_of_version(version: str) -> str | None:
    """`gfx1030` for `10.3.0`, `gfx90c` for `9.0.12`; None where the runtime would not take it."""
    match = _OVERRIDE_VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor, stepping = (int(part) for part in match.groups())
    if major > 63 or minor > 15 or stepping > 15:
        return None
    return f"gfx{major}{minor:x}{stepping:x}"


def major_of(gfx: str) -> str:
    """`10` for `gfx1030`, `9` for `gfx90c`."""
    return bare(gfx).removeprefix("gfx")[:-2]


def override_verdict(version: str, gfx: str, targets: Sequence[str] | None) -> str | None:
    """What a value of HSA_OVERRIDE_GFX_VERSION does to a target, under a wheel with code for `targets`:

    unparsable   the runtime refuses it
    redundant    it names the target itself
    wrong-family another generation: crashes or wrong results
    native       the wheel has the target's own code, and this hides it
    harmful      page faults, lock-ups or wrong results were reported for this target
    useless      the instruction sets differ
    not-in-wheel the wheel has no code for what it names either
    needed       the wheel lacks the target, and the code of the other one is known to run on it
    unreliable   the same, with reports of failure
    unlisted     nothing is known of this pair
    None where it depends on what the wheel has, and that is unknown.
    """
    named, row = gfx_of_version(version), gfx_row(gfx)
    if named is None:
        return "unparsable"
    if named == bare(gfx):
        return "redundant"
    if major_of(named) != major_of(gfx):
        return "wrong-family"
    if targets is not None and covered(gfx, targets):
        return "native"
    known = _known_verdict(row, version)
    if known in ("harmful", "useless"):
        return known
    if targets is None:
        return None
    if named not in targets:
        return "not-in-wheel"
    return {"works": "needed", "old-wheels": "needed"}.get(known or "", known or "unlisted")


def _known_verdict(row: GfxRow | None, version: str) -> str | None:
    """What the table knows of the pair. What harms a target does so with any other number of its generation."""
    if row is None or row.override is None:
        return None
    same = row.override.version == version
    return row.override.verdict if same or row.override.verdict == "harmful" else None


def helpful_override(gfx: str, targets: Sequence[str] | None) -> str | None:
    """The override that lets a wheel with code for `targets` run on a target that it lacks; `"none"` where no one is
    known to. AMD supports none of them."""
    row = gfx_row(gfx)
    override = row.override if row is not None else None
    if override is None or override.verdict not in ("works", "old-wheels"):
        return "none"
    if targets is None:
        return None
    named = gfx_of_version(override.version)
    return override.version if named in targets and not covered(gfx, targets) else "none"
