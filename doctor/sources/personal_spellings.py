"""How a name or a folder is written in a URL, in JSON or in C: the same person all the same."""

from __future__ import annotations

import json
import re

#: A word may begin behind these: `\\n` and `\\t` in JSON and C, `%2F` in a URL, `\\u002f`.
AFTER_ESCAPE = r"(?<=\\[abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})"

_SLASH = r"(?:\\?/|%2F|\\u002f)"
_BACKSLASH = r"(?:\\{1,4}|/|%5C|%2F)"
_UNICODE = re.compile(r"\\u([0-9A-Fa-f]{4})")


def word_pattern(name: str) -> str:
    """A pattern for the ways in which a name is written."""
    return "|".join(dict.fromkeys(re.escape(each) for each in (name, _quoted(name), json.dumps(name)[1:-1])))


def path_pattern(path: str) -> str:
    """A pattern for the ways in which a folder is written."""
    between = _BACKSLASH if "\\" in path else _SLASH
    parts = re.split(r"[\\/]", path)
    return between.join(f"(?:{word_pattern(part)})" if part else "" for part in parts)


def _quoted(name: str) -> str:
    """As in a URL."""
    letters = (chr(byte) for byte in name.encode("utf-8", "surrogateescape"))
    plain = re.compile(r"[A-Za-z0-9._~-]")
    return "".join(letter if plain.fullmatch(letter) else f"%{ord(letter):02X}" for letter in letters)


def plainly(text: str) -> str:
    """A value without the escapes of URLs, JSON and C: `jane%20doe` is `jane doe`."""
    if "%" in text:
        from urllib.parse import unquote

        text = unquote(text)
    if "\\" in text:
        text = _UNICODE.sub(lambda found: chr(int(found[1], 16)), text).replace("\\/", "/").replace("\\\\", "\\")
    return text
