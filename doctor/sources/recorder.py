"""Remembers what a source answered, and writes it as a recording: the same questions get the same answers again."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from doctor.sources.base import Access, Json, Missing, Origin, Reply, Source
from doctor.sources.recording import SCHEMA, question
from doctor.sources.whole_file import write_whole

T = TypeVar("T")


class Recorder:
    """Stands around a source, passes everything on, and keeps it. What nobody asked is not in the recording."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parts: dict[str, dict[str, Any]] = {}
        self._environment: Mapping[str, str] | None = None
        self._missing: dict[str, Missing] = {}

    @property
    def origin(self) -> Origin:
        return self._source.origin

    def text(self, path: str) -> str | Missing:
        answer = self._source.text(path)
        if isinstance(answer, Missing) or path not in self._parts.get("files", {}):
            self._keep("files", "text", path, answer)
        return answer

    def data(self, path: str) -> bytes | Missing:
        answer = self._source.data(path)
        self._keep("files", "text", path, answer if isinstance(answer, Missing) else _as_text(answer))
        return answer

    def names(self, path: str) -> tuple[str, ...] | Missing:
        return self._keep("folders", "names", path, self._source.names(path))

    def access(self, path: str) -> Access | Missing:
        return self._keep("access", "access", path, self._source.access(path))

    def command(self, name: str) -> Reply | Missing:
        return self._keep("commands", "command", name, self._source.command(name))

    def environment(self) -> Mapping[str, str] | Missing:
        answer = self._source.environment()
        if isinstance(answer, Missing):
            self._missing[question("environment")] = answer
        else:
            self._environment = answer
        return answer

    def registry(self, key: str, value: str) -> str | int | Missing:
        answer = self._source.registry(key, value)
        if isinstance(answer, Missing):
            self._missing[question("registry", f"{key} {value}")] = answer
        else:
            self._parts.setdefault("registry", {}).setdefault(key, {})[value] = answer
        return answer

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        return self._keep("registry_keys", "registry_keys", key, self._source.registry_keys(key))

    def api(self, name: str) -> Json | Missing:
        return self._keep("api", "api", name, self._source.api(name))

    def exercise(self, name: str) -> Json | Missing:
        return self._keep("exercises", "exercise", name, self._source.exercise(name))

    def _keep(self, part: str, kind: str, subject: str, answer: T | Missing) -> T | Missing:
        if isinstance(answer, Missing):
            self._missing[question(kind, subject)] = answer
        else:
            self._parts.setdefault(part, {})[subject] = answer
        return answer

    def recording(self) -> dict[str, Any]:
        """The recording so far, as plain values in a fixed order."""
        missing: dict[str, list[str]] = {}
        for asked, why in sorted(self._missing.items()):
            missing.setdefault(why.reason, []).append(asked)
        details = {asked: why.detail for asked, why in sorted(self._missing.items()) if why.detail}
        origin = self._source.origin
        plain: dict[str, Any] = {"schema": SCHEMA, "platform": origin.platform, "taken_at": origin.taken_at}
        plain |= {part: dict(sorted(answers.items())) for part, answers in sorted(self._parts.items())}
        plain |= {"env": self._environment, "missing": missing, "details": details, "complete_folders": True}
        builtins: dict[str, Any] = msgspec.to_builtins({key: part for key, part in plain.items() if part is not None})
        return builtins


def _as_text(content: bytes) -> str | dict[str, bytes]:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": content}


def encoded(plain: Mapping[str, Any]) -> bytes:
    """A recording as it stands in a file: gzipped JSON, the same bytes for the same values."""
    return gzip.compress(msgspec.json.encode(plain), mtime=0)


def write_recording(path: Path, plain: Mapping[str, Any]) -> int:
    """Write a recording whole or not at all, and tell its size in bytes. An older file is replaced. Raises OSError."""
    content = encoded(plain)
    write_whole(path, content)
    return len(content)
