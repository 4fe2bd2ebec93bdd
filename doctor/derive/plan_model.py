"""What an install plan is: a backend with its reason, a Python, steps with exact commands, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

#: Shells that commands are written for, by `os.kind`. cmd and PowerShell quote differently.
SHELLS: Mapping[str, tuple[str, ...]] = {"linux": ("sh",), "macos": ("sh",), "windows": ("cmd", "powershell")}

#: The same lines for each shell of the machine: `{"sh": ("python3 -m pip install torch",)}`.
Lines = Mapping[str, tuple[str, ...]]


class TableRow(msgspec.Struct, frozen=True):
    """A row of a knowledge table that the plan rests on."""

    table: str
    row: str
    date: str
    source: str


class LookUp(msgspec.Struct, frozen=True):
    """What no table knows, and the official page that does."""

    what: str
    page: str


class Refusal(msgspec.Struct, frozen=True):
    """A backend that cannot work here, and why. `option` is its word for `--backend`."""

    option: str
    reason: str


class OtherWay(msgspec.Struct, frozen=True):
    """A backend that would work too, and what speaks against it. `is_default`: the plan takes it where nobody asks."""

    option: str
    title: str
    why_not: str | None = None
    is_default: bool = False


class OpenFact(msgspec.Struct, frozen=True):
    """A fact that is unknown and would change the plan, and how to find it out."""

    fact: str
    matters: str
    find_out: str


class Install(msgspec.Struct, frozen=True):
    """What one command asks an index for. No index: that of PyPI."""

    requirements: tuple[str, ...]
    index_url: str | None = None


class Choice(msgspec.Struct, frozen=True):
    """A backend that can work on a machine, and everything about it that does not depend on the Python.

    `gives_up` are things, `notes` sentences on what it needs or what else to know.
    `pythons` are the versions that it has wheels for, ascending (`"3.13t"`: without the global lock), and `newest` is
    the one to get where the present one is none of them. With no `installs` nothing proves what to install: the page
    in `look_up` says it.
    """

    backend: str  # rocm-pytorch rocm-amd rocm-windows rocm-wsl directml cpu cuda
    option: str  # rocm directml cpu cuda
    title: str
    reason: str
    gives_up: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    installs: tuple[Install, ...] = ()
    pythons: tuple[str, ...] = ()
    newest: str | None = None
    why_not: str | None = None  # why it is not taken unless it is asked for
    override: str | None = None  # the HSA_OVERRIDE_GFX_VERSION that it needs
    native: bool = False  # it has the GPU's own code: an override would hide it
    enable_dxg: bool = False  # ROCm in WSL is told to look at /dev/dxg
    sources: tuple[TableRow, ...] = ()
    look_up: tuple[LookUp, ...] = ()


class PythonChoice(msgspec.Struct, frozen=True):
    """The Python to use. `fits`: does the present one do? None where it is not known which it is."""

    present: str | None
    fits: bool | None
    take: str | None  # the version to get where the present one does not do: "3.14"
    reason: str
    get_it: LookUp | None = None  # how to get it, with the page that says so


class Step(msgspec.Struct, frozen=True):
    """One thing to do. `kind` is container, save, environment, remove, install, variable, group, look-up, verify or
    constraints."""

    kind: str
    text: str
    commands: Lines = {}


class WayBack(msgspec.Struct, frozen=True):
    """How to undo the plan. `restore` are the commands for it, none where the text says it all."""

    text: str
    restore: Lines = {}


class Plan(msgspec.Struct, frozen=True):
    """The install for one machine. Pure data: nothing of it was done.

    `action` is keep (what is there does), install, replace (in the present environment), environment (in a new one),
    look-up (no table proves what to install) or refused (what was asked for cannot work here; `reason` says why).
    """

    backend: str
    option: str
    title: str
    action: str
    reason: str
    asked: str | None = None
    gives_up: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    python: PythonChoice | None = None
    steps: tuple[Step, ...] = ()
    way_back: WayBack | None = None
    constraints: tuple[str, ...] = ()  # lines of a constraints file that keep what is there, or what is to come
    other_ways: tuple[OtherWay, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    look_up: tuple[LookUp, ...] = ()
    unknowns: tuple[OpenFact, ...] = ()
    sources: tuple[TableRow, ...] = ()
