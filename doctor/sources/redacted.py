"""A source whose answers hold no personal data: it stands around another one and redacts as it answers.

The live source is one, and so is every input that somebody else made. Questions may hold the pseudonyms of earlier
answers (a control group named after a container): they are led back to the real path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from doctor.sources.base import Access, Json, Missing, Origin, Reply, Source
from doctor.sources.redaction import KEYS_OF_EXERCISES, Redactor
from doctor.sources.smbios_redaction import structures_without_serials

T = TypeVar("T")

#: Nothing below these is about a person, and CPU flags or cache types must not be taken for somebody's name.
_IMPERSONAL_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/")
_IMPERSONAL_CALLS = frozenset(
    {"affinity", "rlimits", "memory", "battery", "logical-processors", "firmware-table", "cpuinfo", "dxgi-adapters"}
)

#: Files that hold one identifier and nothing else.
_IDENTIFIER = re.compile(
    r"/(?:(?P<serial>[\w-]*(?:serial|serial_number|asset_tag|wwid|wwn))|(?P<uuid>[\w-]*uuid|unique_id|machine-id|boot_id))$"
)
#: Serial numbers of chips in the topology of AMD's compute driver.
_CHIP_NUMBERS = re.compile(r"^(unique_id|hive_id) [0-9]+$", re.MULTILINE)
_SMBIOS = re.compile(r"/sys/firmware/dmi/(?:tables/DMI|entries/[^/]+/raw)$")


class RedactedSource:
    """What `inner` answers, without personal data."""

    def __init__(self, inner: Source, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor
        self._exercises: dict[str, Json | Missing] = {}

    @property
    def origin(self) -> Origin:
        return self._inner.origin

    @property
    def removed(self) -> Mapping[str, int]:
        """How many different values of each kind were replaced so far."""
        return self._redactor.removed

    @property
    def notes(self) -> tuple[str, ...]:
        """What the inner source ignored, one sentence each."""
        return tuple(getattr(self._inner, "notes", ()))

    def text(self, path: str) -> str | Missing:
        if path.startswith(_IMPERSONAL_FILES):
            return self._why(self._inner.text(path))
        if _SMBIOS.search(path):
            table = self.data(path)
            return table if isinstance(table, Missing) else table.decode("utf-8", "replace")
        answer = self._asked(path, self._inner.text)
        return answer if isinstance(answer, Missing) else self._file(path, answer)

    def data(self, path: str) -> bytes | Missing:
        answer = self._asked(path, self._inner.data)
        if isinstance(answer, Missing) or path.startswith(_IMPERSONAL_FILES):
            return answer
        if _SMBIOS.search(path):
            table = structures_without_serials(answer)
            return Missing("probe-failed", "not an SMBIOS table") if table is None else table
        text = self._file(path, answer.decode("utf-8", "surrogateescape"))
        return text.encode("utf-8", "surrogateescape")

    def _file(self, path: str, text: str) -> str:
        identifier = _IDENTIFIER.search(path)
        if identifier is not None:
            return self._redactor.whole(identifier.lastgroup or "serial", text)
        if path.startswith("/sys/class/kfd/"):
            text = _CHIP_NUMBERS.sub(r"\1 0", text)
        return self._redactor.text(text)

    def names(self, path: str) -> tuple[str, ...] | Missing:
        answer = self._asked(path, self._inner.names)
        if isinstance(answer, Missing) or path.startswith(_IMPERSONAL_FILES):
            return answer
        return tuple(sorted(self._redactor.text(name, keyed=False) for name in answer))

    def access(self, path: str) -> Access | Missing:
        answer = self._asked(path, self._inner.access)
        if isinstance(answer, Missing) or not answer.group:
            return answer
        return msgspec.structs.replace(answer, group=self._redactor.text(answer.group, keyed=False))

    def command(self, name: str) -> Reply | Missing:
        answer = self._inner.command(name)
        if isinstance(answer, Missing):
            return self._why(answer)
        stderr = self._redactor.text(answer.stderr, keyed=False)
        return Reply(answer.status, self._output(answer.stdout), stderr)

    def _output(self, stdout: str) -> str:
        if stdout.lstrip().startswith(("{", "[")):
            try:
                return msgspec.json.encode(self._redactor.json(msgspec.json.decode(stdout))).decode()
            except (msgspec.DecodeError, RecursionError):
                pass
        return self._redactor.text(stdout)

    def environment(self) -> Mapping[str, str] | Missing:
        answer = self._inner.environment()
        if isinstance(answer, Missing):
            return self._why(answer)
        return {name: self._redactor.text(value, keyed=False) for name, value in answer.items()}

    def registry(self, key: str, value: str) -> str | int | Missing:
        answer: str | int | Missing = self._asked(key, lambda real: self._inner.registry(real, value))
        return self._redactor.text(answer, keyed=False) if isinstance(answer, str) else answer

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        answer = self._asked(key, self._inner.registry_keys)
        if isinstance(answer, Missing):
            return answer
        return tuple(sorted(self._redactor.text(name, keyed=False) for name in answer))

    def api(self, name: str) -> Json | Missing:
        answer = self._inner.api(name)
        if isinstance(answer, Missing):
            return self._why(answer)
        return answer if name in _IMPERSONAL_CALLS else self._redactor.json(answer)

    def exercise(self, name: str) -> Json | Missing:
        # Several probes read the same long answer.
        if name not in self._exercises:
            answer = self._inner.exercise(name)
            known = not isinstance(answer, Missing)
            self._exercises[name] = self._redactor.json(answer, KEYS_OF_EXERCISES) if known else self._why(answer)
        return self._exercises[name]

    def _asked(self, path: str, ask: Callable[[str], T | Missing]) -> T | Missing:
        """The first answer for the real paths that `path` may stand for."""
        candidates = self._redactor.restored(path)
        answers = (ask(candidate) for candidate in candidates)
        first = next(answers)
        for answer in answers:
            if not isinstance(first, Missing):
                break
            first = answer
        return self._why(first)

    def _why(self, answer: T | Missing) -> T | Missing:
        if isinstance(answer, Missing) and answer.detail:
            return Missing(answer.reason, self._redactor.text(answer.detail, keyed=False))
        return answer
