"""Finds the well-known error families in a log. A line that was pasted proves nothing about the machine: it hints.

    ERROR: No matching distribution found for torch-directml              pip-no-distribution (uv: No solution found …)
    ImportError: libamdhip64.so.6: cannot open shared object file: …      import-error
    RuntimeError: HIP error: invalid device function                      invalid-device-function
    RuntimeError: Could not allocate tensor with 234881024 bytes. …       out-of-device-memory
    OMP: Error #15: Initializing libiomp5md.dll, but found … already …    omp-duplicate
    UserWarning: Attempting to use hipBLASLt on an unsupported architecture! …   hipblaslt
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

LONGEST_LINE = 300
_MOST_LINES = 20
_MOST_HITS = 5000

_PACKAGE = r"(?P<about>[A-Za-z0-9][\w.-]{0,60})"
_LIBRARY = r"(?P<about>lib[\w.+-]{1,80})"

#: kind, words in lower case of which one is in every such line, and what the line must look like. A group `about`
#: holds what it names.
_FAMILIES: tuple[tuple[str, tuple[str, ...], tuple[re.Pattern[str], ...]], ...] = (
    (
        "pip-no-distribution",
        ("no matching distribution found", "could not find a version that", "no solution found when resolving"),
        (
            re.compile(rf"ERROR: No matching distribution found for {_PACKAGE}", re.IGNORECASE),
            re.compile(rf"ERROR: Could not find a version that satisfies the requirement {_PACKAGE}", re.IGNORECASE),
            re.compile(r"No solution found when resolving (?:tool )?dependencies"),
        ),
    ),
    (
        "import-error",
        ("importerror:", "modulenotfounderror:", "[winerror ", "oserror: lib"),
        (
            re.compile(r"\bModuleNotFoundError: No module named '(?P<about>[\w.]{1,80})'"),
            re.compile(r"\bImportError: DLL load failed(?: while importing (?P<about>\w{1,60}))?"),
            re.compile(rf"\b(?:Import|OS)Error: (?:[^\s:]{{0,200}}[\\/])?{_LIBRARY}: (?:cannot open|undefined sym)"),
            re.compile(r"\bOSError: \[WinError \d{1,5}\].{0,300}?(?P<about>[\w.+-]{1,80}\.dll)", re.I),
            re.compile(r"\bImportError: cannot import name '(?P<about>\w{1,80})'"),
            re.compile(r"\bImportError: \S"),
        ),
    ),
    (
        "invalid-device-function",
        ("invalid device function", "hiperrorinvaliddevicefunction", "nobinaryforgpu", "no kernel image is available"),
        (
            re.compile(r"\b(?:HIP|CUDA) error: (?:invalid device function|no kernel image is available)", re.I),
            re.compile(r"\bhipErrorInvalidDeviceFunction\b|\bhipErrorNoBinaryForGpu\b"),
        ),
    ),
    (
        "out-of-device-memory",
        ("could not allocate tensor", "out of memory", "hiperroroutofmemory"),
        (
            re.compile(r"\bCould not allocate tensor with (?P<about>\d{1,15} bytes)"),
            re.compile(r"\b(?:HIP|CUDA) out of memory\.(?: Tried to allocate (?P<about>[\d.]{1,12} [KMGT]i?B))?"),
            re.compile(r"\bhipErrorOutOfMemory\b|\b(?:HIP|CUDA) error: out of memory"),
        ),
    ),
    (
        "omp-duplicate",
        ("error #15: initializing",),
        (re.compile(r"(?:OMP: )?Error #15: Initializing (?P<about>[\w.+-]{1,60}), but found"),),
    ),
    (
        "hipblaslt",
        ("hipblaslt on a",),
        (re.compile(r"Attempting to use hipBLASLt on an? unsupported architecture"),),
    ),
)
_TARGET = re.compile(r"\bgfx[0-9a-f]{3,5}\b")


class LogError(msgspec.Struct, frozen=True):
    """A line of a known family. `about` is what it names, None where it names nothing; `times` counts such lines."""

    kind: str
    text: str
    line: int
    about: str | None = None
    times: int = 1


def read_log_errors(text: str) -> tuple[LogError, ...]:
    """Each kind of error once for each thing that it names, in the order of the text. Never raises."""
    lower = text.lower() if text.isascii() else "".join(_lower(char) for char in text)
    found: dict[tuple[str, str | None], LogError] = {}
    for hit in sorted(_hits(text, lower), key=lambda hit: hit.line):
        before = found.get((hit.kind, hit.about))
        if before is not None:
            found[hit.kind, hit.about] = msgspec.structs.replace(before, times=before.times + 1)
        elif len(found) < _MOST_LINES:
            found[hit.kind, hit.about] = hit
    return tuple(found.values())


def _lower(char: str) -> str:
    """In lower case, and still one character: every place in the text stays where it is."""
    lower = char.lower()
    return lower if len(lower) == 1 else char


def _hits(text: str, lower: str) -> Iterator[LogError]:
    for kind, words, patterns in _FAMILIES:
        seen: set[int] = set()
        for word in words:
            for at in _places(lower, word):
                start = text.rfind("\n", 0, at) + 1
                if start not in seen:
                    seen.add(start)
                    yield from _hit(kind, patterns, text, start, at)


def _places(lower: str, word: str) -> Iterator[int]:
    at = lower.find(word)
    for _ in range(_MOST_HITS):
        if at < 0:
            return
        yield at
        # One line counts once, however often the word stands in it.
        line_end = lower.find("\n", at)
        at = -1 if line_end < 0 else lower.find(word, line_end)


def _hit(
    kind: str, patterns: tuple[re.Pattern[str], ...], text: str, start: int, at: int
) -> Iterator[LogError]:
    """The error in the line around `at`, unless it is quoted within a sentence."""
    end = text.find("\n", start)
    line = text[max(start, at - LONGEST_LINE) : at + 3 * LONGEST_LINE if end < 0 else min(end, at + 3 * LONGEST_LINE)]
    for pattern in patterns:
        found = pattern.search(line)
        if found is None or "`" in line[: found.start()]:
            continue
        named = found.groupdict().get("about")
        if named is None and kind in ("invalid-device-function", "hipblaslt"):
            target = _TARGET.search(line)
            named = target[0] if target else None
        shown = " ".join(line[max(found.start() - 80, 0) :].split())[:LONGEST_LINE]
        yield LogError(kind, shown, text.count("\n", 0, start), named)
        return
