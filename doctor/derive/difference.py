"""What changed between two looks at a machine, likeliest cause first. Facts are compared, never judged.

A fact that both documents know and state differently has changed. One that only one of them knows has not: it is told
apart, since a pasted text, a look without root and a PyTorch that cannot be imported all know less. Facts that change
by themselves (see `difference_weight`) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from doctor.derive.difference_weight import ABOUT, ABOUT_SHARE, LEFT_OUT, is_version, near_pytorch, weight_of
from doctor.derive.versions import direction, parsed
from doctor.machine.model import Exercise, Fact, Machine, Package
from doctor.machine.unknowns import is_partial

#: The word for what is known not to be there, as in the document itself.
NONE = "none"


class Change(msgspec.Struct, frozen=True):
    """A fact that both machines know, and its two values as the document writes them.

    `fact` names an item of a list by its key: `gpus[1002:744c].driver_version`, `exercises[matmul cpu].outcome`; a
    package stands for its version. What is not there on one side is the word "none". `direction` of a version: `up`,
    `down`, `build` (another build of the same). `added` and `removed`: the members of a set.
    """

    fact: str
    before: Any
    after: Any
    weight: str
    direction: str | None = None
    added: tuple[Any, ...] = ()
    removed: tuple[Any, ...] = ()


class OneSided(msgspec.Struct, frozen=True):
    """A fact that one machine knows and the other does not. A part of the document that is wholly unknown on the other
    side is one such fact."""

    fact: str
    value: Any
    weight: str


class Difference(msgspec.Struct, frozen=True):
    """`unknown_now` was known and is not, `known_now` the other way round. Each is in the order of its weight."""

    changes: tuple[Change, ...] = ()
    unknown_now: tuple[OneSided, ...] = ()
    known_now: tuple[OneSided, ...] = ()


def difference(old: Machine, new: Machine) -> Difference:
    """What differs between two completed machines."""
    walk = _Walk(old, new)
    walk.structs("", old, new)
    changes = tuple(_ranked(_without_echoes(walk.changes), walk.near))
    return Difference(changes, *(tuple(_ranked(rows, walk.near)) for rows in (walk.unknown_now, walk.known_now)))


def plain_name(fact: str) -> str:
    """A fact without the keys of list items: `gpus[1002:744c].gfx` as `gpus.gfx`."""
    head, bracket, rest = fact.partition("[")
    return head + rest.rpartition("]")[2] if bracket else fact


def _ranked(rows: Sequence[Any], near: frozenset[str]) -> list[Any]:
    return sorted(rows, key=lambda row: weight_of(plain_name(row.fact), near)[1])


#: Maps in which a missing name means that there is no such thing.
_CLOSED = ("env", "packages", "os.modprobe_options")

#: A struct whose other fields mean nothing where this one is false.
_GATES = {"torch": "installed", "torch_directml": "installed", "nodes": "exists"}

#: Lists whose order means something.
_ORDERED = frozenset({"rocm.library_path", "rocm.hsa_runtimes", "torch_directml.device_names"})

#: Lists of rows that are one picture: a row of them says nothing alone.
_WHOLE = frozenset({"cpu.cores", "cpu.l3_groups", "cpu.numa_nodes"})

#: What tells the rows of a list apart, best first: the first that is known and different for every row, on both sides,
#: is taken. A GPU keeps its identity when another one moves its address or its number. No name: the place in the list.
_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gpus": (("pci_id",), ("name",), ("pci_address",), ("gfx",)),
    "memory.modules": (("locator",), ("bank", "locator")),
    "libraries": (("kind", "name"), ("kind", "name", "package"), ("path",)),
    "exercises": (("name", "device"), ("name", "device", "with_mask")),
    "log": (("kind", "about"),),
}

#: Lists in which a row that is missing was not looked at.
_OPEN = frozenset({"exercises"})


class _Walk:
    """Goes through both documents at once and keeps what differs."""

    def __init__(self, old: Machine, new: Machine) -> None:
        self.near = near_pytorch(old, new)
        self.changes: list[Change] = []
        self.unknown_now: list[OneSided] = []
        self.known_now: list[OneSided] = []
        self._of_one_kind = {
            version: _first_word(old, *kind) == _first_word(new, *kind) for version, kind in _KIND_OF_VERSION.items()
        }
        self._partial = {name: (_lacks_names(old, name), _lacks_names(new, name)) for name in ("env", "packages")}

    def values(self, fact: str, before: Any, after: Any) -> None:
        """Two values of one fact; None is unknown."""
        name = plain_name(fact)
        if name in LEFT_OUT or (before is None and after is None):
            return
        if before is None or after is None:
            self.one_sided(fact, before, after)
        elif isinstance(before, Fact):
            self.structs(fact, before, after)
        elif isinstance(before, dict):
            self.maps(fact, before, after)
        elif isinstance(before, tuple):
            self.lists(fact, name, before, after)
        elif name == "os.kernel_cmdline":
            self.parameters(fact, before, after)
        elif not _same(name, before, after):
            ordered = is_version(name) and self._of_one_kind.get(name, True)
            self.changed(fact, before, after, direction(str(before), str(after)) if ordered else None)

    def structs(self, fact: str, before: Fact, after: Fact) -> None:
        """Field by field; what is not there has no fields."""
        gate = _GATES.get(fact.partition("[")[0].partition(".")[0])
        fields = before.__struct_fields__
        if gate is not None and gate in fields and False in (getattr(before, gate), getattr(after, gate)):
            fields = (gate,)
        for field in fields:
            name = f"{fact}.{field}" if fact else field
            self.values(name, _told(before, field), _told(after, field))

    def maps(self, fact: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        for key in dict.fromkeys(chain(before, after)):
            name = f"{fact}.{key}" if fact in _CLOSED else f"{fact}[{key}]"
            self.entry(fact, name, before.get(key), after.get(key))

    def entry(self, fact: str, name: str, old: Any, new: Any) -> None:
        """One name of a map, None where it is missing there."""
        some = self._partial.get(fact, (False, False))
        if fact not in _CLOSED or (old is None and some[0]) or (new is None and some[1]):
            self.values(name, old, new)
        elif fact == "packages":
            self.package(name, old, new)
        else:
            self.values(name, NONE if old is None else old, NONE if new is None else new)

    def package(self, name: str, old: Any, new: Any) -> None:
        """A package stands for its version; one without a known version is still there."""
        if old is None or new is None:
            self.changed(name, _version_of(old), _version_of(new))
            return
        self.values(name, old.version, new.version)
        self.values(f"{name}.installer", old.installer, new.installer)

    def lists(self, fact: str, name: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        if any(isinstance(row, Fact) for row in (*before, *after)):
            if name in _WHOLE:
                self.pictures(fact, name, before, after)
            else:
                self.rows(fact, name, before, after)
        elif name in _ORDERED:
            if before != after:
                self.changed(fact, before, after)
        elif set(before) != set(after):
            self.members(fact, before, after)

    def parameters(self, fact: str, before: str, after: str) -> None:
        """The kernel's command line is a set of parameters."""
        old, new = _parameters(before), _parameters(after)
        if set(old) != set(new):
            self.members(fact, old, new)

    def members(self, fact: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        added = tuple(value for value in dict.fromkeys(after) if value not in set(before))
        removed = tuple(value for value in dict.fromkeys(before) if value not in set(after))
        self.changed(fact, before, after, added=added, removed=removed)

    def pictures(self, fact: str, name: str, before: tuple[Fact, ...], after: tuple[Fact, ...]) -> None:
        """Rows that say one thing together. Those that only know more than the others have not changed."""
        if len(before) == len(after) and all(_agree(name, *pair) for pair in zip(before, after, strict=True)):
            return
        self.changed(fact, msgspec.to_builtins(before), msgspec.to_builtins(after))

    def rows(self, fact: str, name: str, before: tuple[Fact, ...], after: tuple[Fact, ...]) -> None:
        key = _key_of(name, before, after)
        old, new = ({key(at, row): row for at, row in enumerate(rows)} for rows in (before, after))
        for item in dict.fromkeys(chain(old, new)):
            label, one, other = f"{fact}[{item}]", old.get(item), new.get(item)
            if (one is not None and other is not None) or name in _OPEN:
                self.values(label, one, other)
            else:
                self.changed(label, _plain_row(one), _plain_row(other))

    def changed(
        self,
        fact: str,
        before: Any,
        after: Any,
        moved: str | None = None,
        added: tuple[Any, ...] = (),
        removed: tuple[Any, ...] = (),
    ) -> None:
        weight, _ = weight_of(plain_name(fact), self.near)
        self.changes.append(Change(fact, before, after, weight, moved, added, removed))

    def one_sided(self, fact: str, before: Any, after: Any) -> None:
        weight, _ = weight_of(plain_name(fact), self.near)
        rows, value = (self.unknown_now, before) if after is None else (self.known_now, after)
        if _says_something(value):
            rows.append(OneSided(fact, msgspec.to_builtins(value), weight))


def _lacks_names(machine: Machine, name: str) -> bool:
    """Was a map told in part only, or cut for a report?"""
    return is_partial(machine, name) or (name == "packages" and bool(machine.packages_left_out))


#: Versions that have an order only among releases of one thing, and the fact whose first word names it.
_KIND_OF_VERSION = {"os.version": ("os", "name"), "torch.blas_version": ("torch", "blas")}


def _first_word(machine: Machine, area: str, field: str) -> str:
    return str(getattr(getattr(machine, area), field, None) or "").partition(" ")[0]


def _told(owner: Fact, field: str) -> Any:
    """A field's value. An exercise that ended without a word has no detail: that is known."""
    value = getattr(owner, field)
    if value is None and field == "detail" and isinstance(owner, Exercise) and owner.outcome is not None:
        return NONE
    return value


def _says_something(value: Any) -> bool:
    """False for a part of the document that knows nothing."""
    if isinstance(value, Fact):
        return any(_says_something(getattr(value, field)) for field in value.__struct_fields__)
    return value is not None


def _plain_row(row: Fact | None) -> Any:
    return NONE if row is None else msgspec.to_builtins(row)


def _version_of(package: Package | None) -> str:
    return NONE if package is None else package.version or "installed"


def _same(name: str, before: Any, after: Any) -> bool:
    """Equal, or an amount that is as good as equal."""
    if name in ABOUT and all(isinstance(value, int | float) for value in (before, after)):
        return bool(abs(before - after) <= ABOUT_SHARE * max(abs(before), abs(after)))
    return bool(before == after) and isinstance(before, bool) == isinstance(after, bool)


#: Parameters of the kernel's command line that name the kernel and the disk: the first is `os.kernel`'s business.
_BOOT = ("BOOT_IMAGE=", "initrd=", "root=", "resume=", "rd.luks", "cryptdevice=")


def _parameters(cmdline: str) -> tuple[str, ...]:
    return tuple(word for word in cmdline.split() if not word.startswith(_BOOT))


def _agree(name: str, one: Fact, other: Fact) -> bool:
    """Do two rows say the same, as far as both know?"""
    for field in one.__struct_fields__:
        before, after = getattr(one, field), getattr(other, field)
        if before is not None and after is not None and not _same(f"{name}.{field}", before, after):
            return False
    return True


def _key_of(name: str, before: Sequence[Fact], after: Sequence[Fact]) -> Callable[[int, Fact], str]:
    """What names a row: the first of `_KEYS` that tells all rows apart on both sides, else the place in the list."""
    for fields in _KEYS.get(name, ()):
        named = [[_named(fields, at, row) for at, row in enumerate(rows)] for rows in (before, after)]
        if all("" not in names and len(set(names)) == len(names) for names in named):
            return partial(_named, fields)
    return lambda at, _: str(at)


def _named(fields: Sequence[str], _at: int, row: Fact) -> str:
    values = [getattr(row, field) for field in fields]
    return " ".join(str(value) for value in values if value is not None) if values[0] is not None else ""


#: A package, and the fact that says the same of it and more.
_ECHOES = {"packages.torch": "torch.version", "packages.torch-directml": "torch_directml.version"}


def _without_echoes(changes: Sequence[Change]) -> list[Change]:
    """One change is told once: the version in a wheel's metadata is that in its files, perhaps without the build."""
    said = {change.fact: change for change in changes}
    return [change for change in changes if not _is_echo(change, said.get(_ECHOES.get(change.fact, "")))]


def _is_echo(change: Change, better: Change | None) -> bool:
    if better is None:
        return False
    return all(
        _release(one) == _release(other)
        for one, other in ((change.before, better.before), (change.after, better.after))
    )


def _release(text: str) -> str:
    version = parsed(text)
    return text if version is None else version.public
