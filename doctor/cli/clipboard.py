"""Puts a text on the clipboard with what the system has for that; as the last resort the terminal is asked to.

A library was looked at (pyperclip 1.11): it starts programs by name and without a timeout, waits for xclip for ever
where stdout is a pipe (pyperclip#116), and knows no terminal.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which

import msgspec

from doctor.present.terminal import to_ascii
from doctor.processes.feed import feed

_TIMEOUT_SECONDS = 5.0

#: Terminals cut or refuse a longer sequence (xterm, tmux: about 74 kB of base64).
_MOST_FOR_TERMINAL_BYTES = 55_000


class Tool(msgspec.Struct, frozen=True):
    """A program that takes a clipboard's text on stdin. `ascii_only`: it reads the code page of the system."""

    path: str
    arguments: tuple[str, ...] = ()
    ascii_only: bool = False

    @property
    def name(self) -> str:
        return Path(self.path).name


class Copied(msgspec.Struct, frozen=True):
    """How it went, in one sentence."""

    done: bool
    says: str


def copy_text(text: str, environ: Mapping[str, str] | None = None) -> Copied:
    """Put a text on the clipboard. Never raises for one that is not there."""
    env = os.environ if environ is None else environ
    failed = []
    for tool in tools(env, sys.platform):
        content = to_ascii(text).encode() if tool.ascii_only else text.encode("utf-8", "replace")
        why = feed([tool.path, *tool.arguments], content, timeout_seconds=_TIMEOUT_SECONDS)
        if not why:
            return Copied(True, f"Copied to the clipboard with {tool.name}.")
        failed.append(f"{tool.name}: {why}")
    if _asked_terminal(text):
        return Copied(True, "Sent to the clipboard of the terminal (OSC 52); not every terminal takes it.")
    if failed:
        return Copied(False, f"Not copied: no clipboard took it ({'; '.join(failed)}).")
    return Copied(False, f"Not copied: there is no clipboard here{_hint(env)}.")


def tools(env: Mapping[str, str], platform: str) -> Iterator[Tool]:
    """The programs that may have a clipboard here, the likeliest first."""
    if platform == "win32":
        yield Tool(str(Path(env.get("SystemRoot", "C:\\Windows")) / "System32" / "clip.exe"), ascii_only=True)
        return
    wanted: list[tuple[str, tuple[str, ...], bool]] = []
    if platform == "darwin":
        wanted.append(("pbcopy", (), False))
    if env.get("WAYLAND_DISPLAY"):
        wanted.append(("wl-copy", (), False))
    if env.get("DISPLAY"):
        wanted += [("xclip", ("-selection", "clipboard"), False), ("xsel", ("--clipboard", "--input"), False)]
    if env.get("WSL_DISTRO_NAME"):
        wanted.append(("/mnt/c/Windows/System32/clip.exe", (), True))
    for name, arguments, ascii_only in wanted:
        path = which(name, path=env.get("PATH"))
        if path is not None and Path(path).is_absolute():
            yield Tool(path, arguments, ascii_only)


def _hint(env: Mapping[str, str]) -> str:
    if env.get("WAYLAND_DISPLAY"):
        return " (wl-clipboard brings one)"
    return " (xclip brings one)" if env.get("DISPLAY") else ""


def _asked_terminal(text: str) -> bool:
    """Ask the terminal itself. It does not answer: whether it did is not known."""
    content = text.encode("utf-8", "replace")
    if not sys.stderr.isatty() or os.environ.get("TERM") in (None, "dumb") or len(content) > _MOST_FOR_TERMINAL_BYTES:
        return False
    sequence = f"\x1b]52;c;{base64.b64encode(content).decode()}\x07"
    try:
        sys.stderr.write(sequence)
        sys.stderr.flush()
    except OSError:
        return False
    return True
