"""Facts in commands. Only numbers, and words that match their field's own pattern, enter one; each is quoted for its
shell. With anything else there is no command at all: half a remedy may do harm."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from doctor.diagnosis.template import facts_of, number_shown, with_facts

#: The package indexes that a command may name.
_INDEX = (
    r"https://(pypi\.org/simple|download\.pytorch\.org/whl/(cpu|cu\d{2,4}|rocm\d[\d.]{0,8})"
    r"|repo\.amd\.com/rocm/whl-multi-arch/)"
)

#: (what the fact's name looks like, what its value must look like). The first name that fits decides. No pattern
#: lets a value begin with a dash.
_WORDS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(name), re.compile(value))
    for name, value in (
        (r"env\.\w+", r"\d{1,9}"),
        (r".*\bgfx", r"gfx[0-9a-f]{3,5}"),
        (r".*(\b|_)version", r"\d[0-9A-Za-z.+]{0,60}"),
        (r".*(\b|_)(cpus|online|affinity|cpu_list)", r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*"),
        (r".*(\b|_)packages?", r"[A-Za-z0-9]([A-Za-z0-9._-]{0,60}[A-Za-z0-9])?"),
        (r".*(\b|_)variables?", r"[A-Z][A-Z0-9_]{1,60}"),
        (r".*(\b|_)(governor|plan|profile|preference)", r"[a-z]+([_-][a-z]+){0,4}"),
        (r".*(\b|_)group", r"[a-z_][a-z0-9_-]{0,31}"),
        (r".*(\b|_)requirement", r"torch(\[device-gfx[0-9a-f]{3,5}\])?"),
        (r".*(\b|_)index_url", _INDEX),
    )
)

#: os.kind -> the field of a rule's `fix` that holds its commands.
SHELL_OF = {"linux": "linux", "macos": "macos", "windows": "windows"}

_SAFE_UNQUOTED_ON_WINDOWS = re.compile(r"[A-Za-z0-9._+-]+")


def pattern_for(fact: str) -> re.Pattern[str] | None:
    """What a word of this fact must look like to enter a command; None where none may."""
    return next((value for name, value in _WORDS if name.fullmatch(fact)), None)


def commands(templates: Sequence[str], shell: str, look_up: Callable[[str], Any]) -> tuple[str, ...]:
    """The commands with their facts, for one shell; none at all where a fact is unknown or unfit for a command."""
    words: dict[str, str] = {}
    for template in templates:
        for fact in facts_of(template):
            word = _word(fact, look_up(fact), shell)
            if word is None:
                return ()
            words[fact] = word
    return tuple(with_facts(" ".join(template.split()), words.__getitem__) for template in templates)


def _word(fact: str, value: Any, shell: str) -> str | None:
    """The value as one word of a command (several for a list), or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return number_shown(value) if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        words = [_word(fact, item, shell) for item in value]
        known = [word for word in words if word is not None]
        return " ".join(known) if known and len(known) == len(words) else None
    pattern = pattern_for(fact)
    if not isinstance(value, str) or pattern is None or not pattern.fullmatch(value) or not value.isascii():
        return None
    return quoted(value, shell)


def quoted(word: str, shell: str) -> str:
    """One word for a POSIX shell, or for cmd and PowerShell alike: both take double quotes, and no pattern above lets
    a character pass that means something inside them."""
    if shell != "windows":
        return shlex.quote(word)
    return word if _SAFE_UNQUOTED_ON_WINDOWS.fullmatch(word) else f'"{word}"'
