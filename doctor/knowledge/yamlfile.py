"""Reads a YAML file of ours strictly: no aliases, no anchors, no duplicate keys, no surprise types.

The C loader is used where PyYAML has it (an order of magnitude faster; a rule set has scores of files).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

T = TypeVar("T")


class BadFile(Exception):
    """A rule or table file that cannot be used. The message is one sentence that names the file and the reason."""


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_Base):  # type: ignore[misc]
    def construct_object(self, node: Any, deep: bool = False) -> Any:
        # The C composer resolves an alias to the very node of its anchor: the second visit gives it away.
        if node in self.constructed_objects:
            raise yaml.MarkedYAMLError(problem="anchors and aliases are not allowed", problem_mark=node.start_mark)
        return super().construct_object(node, deep)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def read_yaml(path: Path, up_to: str | None = None) -> Any:
    """The plain value in a file, or in its part before the first line that starts with `up_to`. Raises BadFile."""
    try:
        text = path.read_text(encoding="utf-8")
        return yaml.load(text.partition(f"\n{up_to}")[0] if up_to else text, Loader=_StrictLoader)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{path}: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise BadFile(f"{path}: {getattr(error, 'problem', None) or error}{where}") from error


def read_typed(path: Path, kind: type[T]) -> T:
    """The file decoded strictly as `kind`. Raises BadFile."""
    try:
        return msgspec.convert(read_yaml(path), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadFile(f"{path}: {error}") from error
