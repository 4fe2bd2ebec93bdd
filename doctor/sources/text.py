"""A source of one pasted text: the text stands where a probe looks for it, and everything else is not in it."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.sources.recording import RecordingSource


def text_source(
    kind: str,
    name: str,
    *,
    files: Mapping[str, str] | None = None,
    commands: Mapping[str, str] | None = None,
    platform: str = "linux",
) -> RecordingSource:
    """A source that answers the given files by path and the given commands' output by name."""
    replies = {command: {"status": 0, "stdout": stdout} for command, stdout in (commands or {}).items()}
    plain = {"platform": platform, "files": dict(files or {}), "commands": replies}
    return RecordingSource(plain, name, kind=kind)
