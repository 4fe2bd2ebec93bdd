"""A source that answers from a recording: what another machine said, at another time.

The format is gzipped (or plain) JSON, `"schema": "amd-doctor/recording/1"`; every part is optional. What a recording
does not hold is `Missing("not-in-source")`, unless `missing` says why the recorded machine had no answer. The same
class answers for pasted texts and for the small machines of the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doctor.sources.base import Access, Json, Missing, Origin, Reply
from doctor.sources.unpack import BadPacking, unpacked

SCHEMA = "amd-doctor/recording/1"
_FAMILY = "amd-doctor/recording/"
PLATFORMS = ("linux", "windows", "macos")

#: A single file and the output of a command are cut here, as the live source does.
FILE_CAP_BYTES = 1024 * 1024

_NOT_HERE = Missing("not-in-source")


class BadRecording(Exception):
    """Not a recording that can be read. The message is one sentence, without the file's name."""


class Encoded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that is not UTF-8 text."""

    base64: bytes


class Recording(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parts of a recording. `missing` maps a reason to the questions that had no answer, `details` a question to
    a sentence about it. With `complete_folders` a folder that is not listed is unknown; without, the paths of the
    files tell what is in it. Questions read `text:/path`, `names:/path`, `access:/path`, `command:name`, `environment`,
    `registry:KEY value`, `registry_keys:KEY`, `api:name`, `exercise:name`."""

    schema: str = SCHEMA
    platform: str = "linux"
    taken_at: str | None = None
    files: dict[str, str | Encoded] = {}
    folders: dict[str, tuple[str, ...]] = {}
    access: dict[str, Access] = {}
    commands: dict[str, Reply] = {}
    env: dict[str, str] | None = None
    registry: dict[str, dict[str, str | int]] = {}
    registry_keys: dict[str, tuple[str, ...]] = {}
    api: dict[str, Any] = {}
    exercises: dict[str, Any] = {}
    missing: dict[str, tuple[str, ...]] = {}
    details: dict[str, str] = {}
    complete_folders: bool = False


def read_recording(plain: Any) -> Recording:
    """The recording in plain values. Raises BadRecording."""
    if not isinstance(plain, dict):
        raise BadRecording("not a recording: no JSON object")
    schema = str(plain.get("schema", SCHEMA))
    if not schema.startswith(_FAMILY):
        raise BadRecording(f"not a recording: its schema is {schema[:60]!r}")
    if schema.removeprefix(_FAMILY).split(".")[0] != SCHEMA.removeprefix(_FAMILY):
        raise BadRecording(f"{schema[:60]} is newer than this version reads ({SCHEMA}): update amd-doctor")
    strange = sorted(set(plain) - set(Recording.__struct_fields__))
    if strange and schema == SCHEMA:
        raise BadRecording(f"it has a part that no recording has: {str(strange[0])[:60]!r}")
    try:
        recording = msgspec.convert(plain, Recording)
    except RecursionError as error:
        raise BadRecording("nested too deeply") from error
    except msgspec.ValidationError as error:
        raise BadRecording(str(error)) from error
    if recording.platform not in PLATFORMS:
        raise BadRecording(f"its platform is {recording.platform[:60]!r}, not one of {', '.join(PLATFORMS)}")
    return recording


def decode_recording(data: bytes) -> dict[str, Any]:
    """The plain values of a recording file, gzipped or not. Raises BadRecording."""
    try:
        plain = msgspec.json.decode(unpacked(data))
    except BadPacking as error:
        raise BadRecording(str(error)) from error
    except RecursionError as error:
        raise BadRecording("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRecording(f"not valid JSON: {error}") from error
    if not isinstance(plain, dict):
        raise BadRecording("not a recording: no JSON object")
    return plain


class RecordingSource:
    """Answers from the plain values of a recording. Raises BadRecording where they have another shape."""

    def __init__(self, plain: Mapping[str, Any], name: str, *, kind: str = "recording") -> None:
        self._recording = read_recording(dict(plain))
        self._origin = Origin(kind, name, self._recording.platform, self._recording.taken_at)
        self._missing = {
            question: Missing(_reason(reason), self._recording.details.get(question))
            for reason, questions in self._recording.missing.items()
            for question in questions
        }
        self._listings: dict[str, tuple[str, ...]] | None = None

    @property
    def origin(self) -> Origin:
        return self._origin

    def text(self, path: str) -> str | Missing:
        content = self._recording.files.get(path)
        if content is None:
            return self._none("text", path)
        text = content if isinstance(content, str) else content.base64.decode("utf-8", "replace")
        return text[:FILE_CAP_BYTES]

    def data(self, path: str) -> bytes | Missing:
        content = self._recording.files.get(path)
        if content is None:
            return self._none("text", path)
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content.base64
        return data[:FILE_CAP_BYTES]

    def names(self, path: str) -> tuple[str, ...] | Missing:
        if path in self._recording.folders:
            return tuple(sorted(self._recording.folders[path]))
        if self._recording.complete_folders or question("names", path) in self._missing:
            return self._none("names", path)
        if self._listings is None:
            self._listings = listings([*self._recording.files, *self._recording.folders])
        return self._listings.get(path.rstrip("/") or "/") or _NOT_HERE

    def access(self, path: str) -> Access | Missing:
        return self._recording.access.get(path) or self._none("access", path)

    def command(self, name: str) -> Reply | Missing:
        reply = self._recording.commands.get(name)
        if reply is not None and reply.status == 0 and not reply.stdout.strip():
            return Missing("probe-failed", f"{name} answered nothing")
        if reply is None:
            return self._none("command", name)
        return Reply(reply.status, reply.stdout[:FILE_CAP_BYTES], reply.stderr[:FILE_CAP_BYTES])

    def environment(self) -> Mapping[str, str] | Missing:
        known = self._recording.env
        return self._none("environment") if known is None else known

    def registry(self, key: str, value: str) -> str | int | Missing:
        found = self._recording.registry.get(key, {}).get(value)
        return self._none("registry", f"{key} {value}") if found is None else found

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        found = self._recording.registry_keys.get(key)
        return self._none("registry_keys", key) if found is None else found

    def api(self, name: str) -> Json | Missing:
        return self._recording.api[name] if name in self._recording.api else self._none("api", name)

    def exercise(self, name: str) -> Json | Missing:
        known = self._recording.exercises
        return known[name] if name in known else self._none("exercise", name)

    def _none(self, kind: str, subject: str = "") -> Missing:
        return self._missing.get(question(kind, subject), _NOT_HERE)


def question(kind: str, subject: str = "") -> str:
    """How `missing` names a question: `text:/proc/cpuinfo`, `environment`."""
    return f"{kind}:{subject}" if subject else kind


def listings(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The names in every folder that a set of absolute paths implies, sorted."""
    found: dict[str, set[str]] = {}
    for path in paths:
        child = path.rstrip("/")
        while child:
            folder, _, name = child.rpartition("/")
            names = found.setdefault(folder or "/", set())
            if name in names:
                break
            names.add(name)
            child = folder
    return {folder: tuple(sorted(names)) for folder, names in found.items()}


def _reason(text: str) -> Any:
    """A reason of a newer version is still no answer: it stays as it is written."""
    return text
