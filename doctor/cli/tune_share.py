"""`tune --share`: the result of a run as a file for others, without what names a person, a host or their programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.present.check_json import json_text
from doctor.sources.redaction import KEYS_OF_EXERCISES, Redactor
from doctor.sources.whole_file import write_whole

DEFAULT_NAME = "amd-doctor-tune.json"

#: Names of programs that somebody else runs: they say nothing about the measurement.
_OTHERS = "other_processes"
_NAMED = re.compile(r"(other processes used [^:]*): .*")
#: Our own words, which are no one's name.
_OWN_KEYS = KEYS_OF_EXERCISES | {"workload", "family", "workloads", "arm", "variant", "axis", "stage", "word", "state"}


def shared_document(document: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The document of a run as it may be sent: the machine's part holds no names already, error texts may."""
    without = _without_others(dict(document))
    redacted = redactor.json(without, _OWN_KEYS)
    assert isinstance(redacted, dict)
    return redacted


def _without_others(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_others(inner) for name, inner in value.items() if name != _OTHERS}
    if isinstance(value, list | tuple):
        return [_without_others(inner) for inner in value]
    return _NAMED.sub(r"\1", value) if isinstance(value, str) else value


def write_shared(path: Path, document: Mapping[str, Any]) -> None:
    """Write it. Raises OSError."""
    from doctor.sources.personal_names import redactor_of_this_machine

    write_whole(path, json_text(shared_document(document, redactor_of_this_machine())).encode())
