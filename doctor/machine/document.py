"""The machine document as JSON, in and out. What a newer version added is kept and given back."""

from __future__ import annotations

from typing import Any

import msgspec

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import SCHEMA, Machine

_FAMILY = "amd-doctor/machine/"
_DECODER = msgspec.json.Decoder()


class BadDocument(Exception):
    """A text that is not a machine document. The message is one sentence."""


class Document(msgspec.Struct, frozen=True):
    """A machine, and the document it was read from (`{}` for a machine that was not read from one)."""

    machine: Machine
    read_from: dict[str, Any] = {}

    def to_builtins(self, machine: Machine | None = None) -> dict[str, Any]:
        """The document as plain values: `machine` (or the one that was read) over everything it was read from."""
        known = msgspec.to_builtins(machine or self.machine)
        known["schema"] = self.read_from.get("schema", SCHEMA)
        whole = _over(known, self.read_from)
        assert isinstance(whole, dict)
        return whole


def _over(known: Any, before: Any) -> Any:
    """`known` wins; keys and list items that only `before` has are kept where both have the same shape."""
    if isinstance(known, dict):
        before = before if isinstance(before, dict) else {}
        kept = {key: value for key, value in before.items() if key not in known and value is not None}
        return {**{key: _over(value, before.get(key)) for key, value in known.items()}, **kept}
    if isinstance(known, list | tuple):
        same = isinstance(before, list) and len(known) == len(before)
        return [_over(new, old) for new, old in zip(known, before if same else [None] * len(known), strict=True)]
    return known


def parse_json(text: bytes | str) -> Any:
    """Plain values of a JSON text. Raises BadDocument, also for nesting too deep to read."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise BadDocument("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadDocument(f"not valid JSON: {error}") from error


def read_document(plain: Any) -> Document:
    """The machine document in plain values; also the one inside a `check --json` document. Raises BadDocument."""
    if isinstance(plain, dict) and str(plain.get("schema", "")).startswith("amd-doctor/check/"):
        plain = plain.get("machine")
    if not isinstance(plain, dict):
        raise BadDocument("not a machine document: no JSON object")
    schema = str(plain.get("schema", ""))
    if not schema.startswith(_FAMILY):
        raise BadDocument(f"not a machine document: its schema is {schema[:60]!r}")
    if schema.removeprefix(_FAMILY).split(".")[0] != SCHEMA.removeprefix(_FAMILY):
        raise BadDocument(f"{schema[:60]} is newer than this version reads ({SCHEMA}): update amd-doctor")
    try:
        machine = msgspec.convert(plain, Machine)
    except RecursionError as error:
        raise BadDocument("nested too deeply") from error
    except msgspec.ValidationError as error:
        raise BadDocument(str(error)) from error
    _check_cpulists(machine)
    return Document(machine=machine, read_from=plain)


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
