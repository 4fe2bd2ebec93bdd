"""JSON: one object `{schema, variables, evidence}`, replaced as a whole. A variable that is `null` is taken out."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from doctor.envfile.block import BOM, BadBlock
from doctor.envfile.content import NAME, SCHEMA, EnvContent, Evidence, checked_value
from doctor.envfile.evidence import evidence_in
from doctor.envfile.reading import Assigned, EnvRead, Problem


class JsonFormat(msgspec.Struct, frozen=True):
    name: str = "json"
    title: str = "JSON"
    file_name: str = "amd-doctor.json"
    use: str = "amd-doctor run --env FILE -- COMMAND"
    suffixes: tuple[str, ...] = (".json",)

    def write(self, content: EnvContent) -> bytes:
        """The whole file. Raises CannotWrite."""
        for name, value in content.variables.items():
            checked_value(name, value or "")
        return _document(
            {
                "schema": SCHEMA,
                "variables": content.variables,
                "evidence": msgspec.to_builtins(content.evidence),
                "notes": [*content.head, *content.tail],
            }
        )

    def merged(self, old: bytes, content: EnvContent) -> bytes:
        """The whole file anew. Raises BadBlock where the old one is none of ours, CannotWrite."""
        if old.strip() and self._plain(old) is None:
            raise BadBlock("there is such a file, and it is no env file of amd-doctor")
        return self.write(content)

    def without(self, old: bytes) -> bytes:
        """A file of ours without its variables and its evidence. Raises BadBlock."""
        if self._plain(old) is None:
            raise BadBlock("it is no env file of amd-doctor")
        return _document({"schema": SCHEMA, "variables": {}, "evidence": None})

    def _plain(self, data: bytes) -> dict[str, Any] | None:
        """The object in a file of ours; None for anything else."""
        try:
            plain = json.loads(data.removeprefix(BOM))
        except (ValueError, RecursionError):
            return None
        ours = isinstance(plain, dict) and str(plain.get("schema", "")).startswith("amd-doctor/env/")
        return plain if ours else None

    def read(self, data: bytes) -> EnvRead:
        """What a file says. What is no JSON object with an object `variables` is a problem."""
        try:
            plain = json.loads(data.removeprefix(BOM))
        except (ValueError, RecursionError) as error:
            return EnvRead(self.name, problems=(Problem(getattr(error, "lineno", 1), "this is no JSON"),), by_hand=True)
        variables = plain.get("variables") if isinstance(plain, dict) else None
        if not isinstance(variables, dict):
            wrong = "this is no env file: it has no object 'variables'"
            return EnvRead(self.name, problems=(Problem(1, wrong),), by_hand=True)
        ours = self._plain(data) is not None
        text = data.decode("utf-8", "replace")
        assigned, problems = [], []
        for name, value in variables.items():
            at = text.find(json.dumps(name), text.find('"variables"'))
            line = text.count("\n", 0, max(at, 0)) + 1
            if not NAME.fullmatch(name):
                problems.append(Problem(line, f"{name[:40]!r} is no name of a variable"))
            elif value is not None and (isinstance(value, bool) or not isinstance(value, (str, int))):
                problems.append(Problem(line, f"the value of {name} is no text"))
            else:
                assigned.append(Assigned(name, None if value is None else str(value), line, ours))
        evidence, broken = _evidence(plain)
        problems += [Problem(1, broken, stops=False)] if broken else []
        return EnvRead(self.name, tuple(assigned), tuple(problems), evidence, int(ours), not ours)


def _evidence(plain: dict[str, Any]) -> tuple[Evidence | None, str]:
    if plain.get("evidence") is None:
        return None, ""
    return evidence_in(json.dumps(plain["evidence"]))


def _document(plain: dict[str, Any]) -> bytes:
    return (json.dumps(plain, indent=2, ensure_ascii=True) + "\n").encode()


JSON = JsonFormat()
