"""A source whose answers hold no personal data: it stands around another one and redacts as it answers.

The live source is one, and so is every input that somebody else made. Questions may hold the pseudonyms of earlier
answers (a control group named after a container): they are led back to the real path.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from doctor.sources.base import Access, Json, Missing, Origin, Reply, Source
from doctor.sources.redaction import KEYS_OF_EXERCISES, Redactor, Removals, is_name_of_version
from doctor.sources.smbios_redaction import structures_without_serials, without_serials

T = TypeVar("T")

#: What is said here of CPUs and caches is no one's own, but for words of three letters and more.
_IMPERSONAL_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/")
#: CPU flags must not be taken for somebody's name; the name of the processor is free text.
_NAME_OF_CPU = re.compile(r"^(model name|vendor_id)([ \t]*:[ \t]*)(.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]{3}")
#: Answers that are bytes in base64.
_BYTES_CALLS = frozenset({"logical-processors"})
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")

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
    def removals(self) -> Removals:
        """What was replaced so far."""
        return self._redactor.removals

    @property
    def notes(self) -> tuple[str, ...]:
        """What the inner source ignored, one sentence each."""
        return tuple(getattr(self._inner, "notes", ()))

    def text(self, path: str) -> str | Missing:
        if path.startswith(_IMPERSONAL_FILES):
            answer = self._why(self._inner.text(path))
            return answer if isinstance(answer, Missing) else self._impersonal(path, answer)
        if _SMBIOS.search(path):
            table = self.data(path)
            return table if isinstance(table, Missing) else table.decode("utf-8", "replace")
        answer = self._asked(path, self._inner.text)
        return answer if isinstance(answer, Missing) else self._file(path, answer)

    def data(self, path: str) -> bytes | Missing:
        answer = self._asked(path, self._inner.data)
        if isinstance(answer, Missing):
            return answer
        if path.startswith(_IMPERSONAL_FILES):
            return self._impersonal(path, answer.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if _SMBIOS.search(path):
            table = structures_without_serials(answer)
            return Missing("probe-failed", "not an SMBIOS table") if table is None else table
        encoding = _encoding(answer)
        text = self._file(path, answer.decode(encoding, "surrogateescape" if encoding == "utf-8" else "surrogatepass"))
        return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "surrogatepass")

    def _impersonal(self, path: str, text: str) -> str:
        if path == "/proc/cpuinfo":
            return _NAME_OF_CPU.sub(lambda line: f"{line[1]}{line[2]}{self._redactor.text(line[3], keyed=False)}", text)
        is_word = path.startswith("/sys/") and _WORD.search(text) is not None
        return self._redactor.text(text, keyed=False) if is_word else text

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
        if not isinstance(answer, str):
            return answer
        return self._redactor.text(answer, keyed=False, is_version=is_name_of_version(value))

    def registry_keys(self, key: str) -> tuple[str, ...] | Missing:
        answer = self._asked(key, self._inner.registry_keys)
        if isinstance(answer, Missing):
            return answer
        return tuple(sorted(self._redactor.text(name, keyed=False) for name in answer))

    def api(self, name: str) -> Json | Missing:
        answer = self._inner.api(name)
        if isinstance(answer, Missing):
            return self._why(answer)
        if name == "firmware-table":
            return _without_serials(answer)
        if name == "cpuinfo" and isinstance(answer, Mapping):
            return {key: value if key == "flags" else self._redactor.json(value) for key, value in answer.items()}
        is_bytes = name in _BYTES_CALLS and isinstance(answer, str) and _BASE64.fullmatch(answer) is not None
        return answer if is_bytes else self._redactor.json(answer)

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


def _encoding(content: bytes) -> str:
    """Windows writes texts as UTF-16: read as bytes, each letter of a name would stand alone."""
    half = len(content) // 2
    if half == 0 or len(content) % 2 or content.count(0) * 4 < half * 3:
        return "utf-8"
    for name, zeros in (("utf-16-le", content[1::2]), ("utf-16-be", content[::2])):
        if zeros.count(0) * 4 >= half * 3:
            try:
                content.decode(name, "surrogatepass")
            except UnicodeDecodeError:
                return "utf-8"
            return name
    return "utf-8"


def _without_serials(answer: Json) -> Json | Missing:
    """The firmware table of Windows, in base64. Of this machine it has no serial numbers any more, of others it may."""
    try:
        table = without_serials(base64.b64decode(str(answer), validate=True))
    except ValueError:
        table = None
    return Missing("probe-failed", "not an SMBIOS table") if table is None else base64.b64encode(table).decode()
