"""Which Python a backend has wheels for, whether the present one is among them, and how to get one that is."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from doctor.derive.plan_model import Choice, LookUp, PythonChoice
from doctor.derive.versions import parsed
from doctor.knowledge.official_pages import official_page
from doctor.knowledge.python_support import wheels_for
from doctor.machine.model import Machine, Python

#: What the present Python is called where no wheel of any release is for its kind.
NO_WHEEL_FOR_ITS_KIND = "none"

_MACHINES = {"linux": "x86_64", "windows": "AMD64"}
#: What the Python of a system calls the processors that it runs on.
ARCHITECTURES = {"linux": ("x86_64", "aarch64"), "windows": ("AMD64",), "macos": ("arm64", "x86_64")}
_X86_VENDORS = ("AuthenticAMD", "GenuineIntel", "HygonGenuine")


def python_choice(machine: Machine, choice: Choice) -> PythonChoice:
    """Does the present Python do for a backend, and if not, which does?"""
    present = present_python(machine.python)
    if not choice.pythons:
        return PythonChoice(present, None, None, "Which Python it needs, the page to look up says.")
    allowed = _range(choice.pythons)
    if present is None:
        return PythonChoice(None, None, None, f"Which Python this is, is not known; there are wheels for {allowed}.")
    if present in choice.pythons:
        return PythonChoice(present, True, None, "There are wheels for it.")
    reason = f"There are wheels for {allowed}, and this is {python_words(machine.python)}."
    return PythonChoice(present, False, choice.newest, reason, how_to_get(machine, choice.newest))


def present_python(python: Python | None) -> str | None:
    """`3.12`, `3.13t` without the global lock, `none` for a kind that has no wheels; None where it is unknown."""
    if python is None:
        return None
    if python.bits == 32 or python.implementation not in (None, "cpython"):
        return NO_WHEEL_FOR_ITS_KIND
    version = parsed(python.version)
    if version is None or len(version.release) < 2:
        return None
    return f"{version.major}.{version.minor}{'t' if python.free_threaded else ''}"


def python_words(python: Python | None) -> str:
    """`Python 3.9.2`, `a 32-bit Python 3.11.8`, `PyPy 3.10`."""
    if python is None:
        return "an unknown Python"
    version = python.version or "of an unknown version"
    if python.implementation not in (None, "cpython"):
        return f"{ {'pypy': 'PyPy'}.get(python.implementation or '', python.implementation)} {version}"
    kind = "32-bit " if python.bits == 32 else "free-threaded " if python.free_threaded else ""
    return f"a {kind}Python {version}" if kind else f"Python {version}"


def torch_tags(machine: Machine) -> dict[str, tuple[str, str]]:
    """The tags that torch itself has wheels for here, ascending, with the first and the last release of each. Where the
    processor is not known, those that every processor of this system has. Empty where the table does not know."""
    kind = machine.os.kind if machine.os else None
    arch = platform_machine(machine)
    if kind is None:
        return {}
    if arch is not None:
        return wheels_for(kind, arch) or {}
    known = [tags for each in ARCHITECTURES.get(kind, ()) if (tags := wheels_for(kind, each)) is not None]
    return {tag: known[0][tag] for tag in known[0] if all(tag in tags for tags in known)} if known else {}


def newest_settled(tags: Mapping[str, tuple[str, str]]) -> str | None:
    """The newest Python that more than the last release has wheels for: with the last release alone, other indexes and
    packages may not have caught up."""
    if not tags:
        return None
    last = max(Version(until) for _, until in tags.values())
    settled = [tag for tag, (since, _) in tags.items() if Version(since) < last and not tag.endswith("t")]
    return version_of(settled[-1]) if settled else None


def platform_machine(machine: Machine) -> str | None:
    """The processor as its Python calls it; by its vendor where no Python told."""
    if machine.python is not None and machine.python.machine is not None:
        return machine.python.machine
    kind = machine.os.kind if machine.os else None
    x86 = machine.cpu is not None and machine.cpu.vendor in _X86_VENDORS
    return _MACHINES.get(kind or "") if x86 else None


def version_of(tag: str) -> str:
    """`3.12` of `cp312`, `3.13t` of `cp313t`."""
    return f"{tag[2]}.{tag[3:]}"


def tag_of(version: str) -> str:
    """`cp312` of `3.12`."""
    return "cp" + version.replace(".", "", 1)


def versions_between(first: str, last: str) -> tuple[str, ...]:
    """`3.10` to `3.14`, both among them."""
    low, high = Version(first), Version(last)
    return tuple(f"{low.major}.{minor}" for minor in range(low.minor, high.minor + 1))


def how_to_get(machine: Machine, version: str | None) -> LookUp | None:
    """Who gets that Python on this machine."""
    if version is None:
        return None
    manager = machine.python.manager if machine.python else None
    if manager == "conda":
        return LookUp(f"conda gets Python {version}", official_page("conda-python").address)
    if machine.os is not None and machine.os.kind == "windows" and manager != "uv":
        return LookUp(f"winget gets Python {version}, and py starts it", official_page("python-windows").address)
    return LookUp(f"uv gets Python {version}; if uv itself is missing, get it first", official_page("uv").address)


def _range(versions: tuple[str, ...]) -> str:
    plain = [version for version in versions if not version.endswith("t")]
    return f"Python {plain[0]} to {plain[-1]}" if len(plain) > 1 else f"Python {versions[0]}"
