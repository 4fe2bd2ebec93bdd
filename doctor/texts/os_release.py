"""os-release(5): what the distribution calls itself."""

from __future__ import annotations

import re
import shlex

_LINE = re.compile(r"\s*([A-Z][A-Z0-9_]*)=(.*)")


def read_os_release(text: str) -> dict[str, str]:
    """The assignments of an os-release file, unquoted. Comments and lines of another form are passed over."""
    found = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        try:
            words = shlex.split(match[2])
        except ValueError:
            continue
        found[match[1]] = " ".join(words)
    return found
