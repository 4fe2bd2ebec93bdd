"""Text of a machine in Markdown, where it may do nothing: in code spans and fenced blocks only.

A GPU may be called `<script>`, a process `@someone`: GitHub, GitLab and Gitea would act on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.present.text import clean

_TICKS = re.compile(r"`+")

#: What Markdown, HTML and trackers give a meaning to inside of a sentence: `#12` and `@name` are links.
_MEANS_SOMETHING = re.compile(r"[*`<>&\[\]|#@~$\\!]|_(?![A-Za-z0-9])|(?<![A-Za-z0-9])_|://|www\.|\b[0-9a-f]{7,40}\b")


def code(text: str) -> str:
    """A code span; its fence is longer than any run of backticks inside. Line ends become blanks."""
    line = clean(text).strip()
    if not line:
        return ""
    fence = "`" * (_longest(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: str) -> str:
    """A sentence, each word of it in which something could mean anything as a code span."""
    return " ".join(_word(word) for word in clean(text).split())


def _word(word: str) -> str:
    bare = word.rstrip(".,;:")
    return code(bare) + word[len(bare) :] if _MEANS_SOMETHING.search(bare) else word


def block(lines: Iterable[str], language: str = "") -> list[str]:
    """A fenced block; the fence is longer than any run of backticks inside."""
    inside = [clean(line).rstrip() for line in lines]
    fence = "`" * max(3, max(map(_longest, inside), default=0) + 1)
    return [f"{fence}{language}", *inside, fence]


def folded(title: str, lines: Iterable[str]) -> list[str]:
    """What is shown after a click. Without the blank lines the Markdown inside would be shown as it is written."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]


def _longest(line: str) -> int:
    return max((len(run) for run in _TICKS.findall(line)), default=0)
