"""The machine document as JSON, in and out. What a newer version added is kept and given back."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.machine import core_runs
from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import SCHEMA, Machine

_FAMILY = "amd-doctor/machine/"

#: Documents of ours that hold a machine document, and what each of them is read as here.
_AROUND = {f"amd-doctor/{kind}/": f"amd-doctor/{kind}/1" for kind in ("check", "report", "tune")}
_DECODER = msgspec.json.Decoder()


class BadDocument(Exception):
    """A text that is not a machine document. The message is one sentence."""


class Document(msgspec.Struct, frozen=True):
    """A machine, and the document it was read from (`{}` for a machine that was not read from one)."""

    machine: Machine
    read_from: dict[str, Any] = {}

    def to_builtins(self, machine: Machine | None = None) -> dict[str, Any]:
        """The document as plain values: `machine` (or the one that was read) over everything it was read from."""
        known = {"schema": self.read_from.get("schema", SCHEMA), **msgspec.to_builtins(machine or self.machine)}
        if self.read_from:
            known["schema"] = self.read_from.get("schema", SCHEMA)
            _add_kept(known, self.read_from)
        return known


def _add_kept(known: Any, before: Any) -> None:
    """Add to `known`, in place, what only `before` has: keys, and those of list items where both lists are as long."""
    if isinstance(known, dict) and isinstance(before, dict):
        for key, value in before.items():
            if key in known:
                _add_kept(known[key], value)
            elif value is not None:
                known[key] = value
    elif isinstance(known, list | tuple) and isinstance(before, list) and len(known) == len(before):
        for new, old in zip(known, before, strict=True):
            _add_kept(new, old)


def parse_json(text: bytes | str) -> Any:
    """Plain values of a JSON text. Raises BadDocument, also for nesting too deep to read."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise BadDocument("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadDocument(f"not valid JSON: {error}") from error


def read_document(plain: Any) -> Document:
    """The machine document in plain values; also the one inside a check or a report. Raises BadDocument."""
    plain = _machine_in(plain)
    if not isinstance(plain, dict):
        raise BadDocument("not a machine document: no JSON object")
    schema = str(plain.get("schema", ""))
    if not schema.startswith(_FAMILY):
        raise BadDocument(f"not a machine document: its schema is {schema[:60]!r}")
    if schema.removeprefix(_FAMILY).split(".")[0] != SCHEMA.removeprefix(_FAMILY):
        raise BadDocument(f"{schema[:60]} is newer than this version reads ({SCHEMA}): update amd-doctor")
    try:
        plain = _with_cores(plain)
        machine = msgspec.convert(plain, Machine)
    except RecursionError as error:
        raise BadDocument("nested too deeply") from error
    except (msgspec.ValidationError, ValueError) as error:
        raise BadDocument(str(error)) from error
    _check_cpulists(machine)
    return Document(machine=machine, read_from=plain)


def _machine_in(plain: Any) -> Any:
    """The machine document in one of ours that holds one; anything else as it is. Raises BadDocument."""
    schema = str(plain.get("schema", "")) if isinstance(plain, dict) else ""
    for family, known in _AROUND.items():
        if schema.startswith(family):
            if not (schema == known or schema.startswith(f"{known}.")):
                raise BadDocument(f"{schema[:60]} is newer than this version reads ({known}): update amd-doctor")
            return plain.get("machine")
    return plain


def _with_cores(plain: dict[str, Any]) -> dict[str, Any]:
    """The document with `cpu.cores` where it holds them as runs. Raises ValueError."""
    cpu = plain.get("cpu")
    if not isinstance(cpu, dict) or core_runs.FIELD not in cpu:
        return plain
    rest = {name: value for name, value in cpu.items() if name != core_runs.FIELD}
    try:
        return {**plain, "cpu": {"cores": core_runs.unpacked(cpu[core_runs.FIELD]), **rest}}
    except ValueError as error:
        raise ValueError(f"cpu.{core_runs.FIELD}: {error}") from error


def _check_cpulists(machine: Machine) -> None:
    cpu, limits = machine.cpu, machine.limits
    lists = []
    if cpu is not None:
        lists.append(("cpu.online", cpu.online))
        lists += [("cpu.cores", core.cpus) for core in cpu.cores or ()]
        lists += [("cpu.l3_groups", group.cpus) for group in cpu.l3_groups or ()]
        lists += [("cpu.numa_nodes", node.cpus) for node in cpu.numa_nodes or ()]
    if limits is not None:
        lists.append(("limits.affinity", limits.affinity))
        lists.append(("limits.cgroup.cpuset_cpus", limits.cgroup.cpuset_cpus if limits.cgroup else None))
    for fact, text in lists:
        try:
            parse_cpulist(text or "")
        except ValueError as error:
            raise BadDocument(f"{fact}: {error}") from error
