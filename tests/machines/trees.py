"""Small machines, written by hand as one text file each, as the files of /proc and /sys.

A line is `path = content`; a brace holds a CPU list and stands for one file per number:

    /sys/devices/system/cpu/cpu{0-2,6-8}/cache/index3/id = 0

Paths that do not start with a slash lie under /sys/devices/system. `cpuinfo {0-11}` begins a block for
/proc/cpuinfo: its indented lines are repeated for every processor. `#` begins a comment line.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from doctor.machine.cpulist import parse_cpulist

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.tree"))


def truths() -> dict[str, Any]:
    """What is true of each machine, in the shape of the recorded corpus."""
    whole: dict[str, Any] = json.loads((FOLDER / "machines.json").read_text())
    return whole


def tree(name: str) -> dict[str, str]:
    """The files of a machine by absolute path."""
    return read_tree((FOLDER / f"{name}.tree").read_text())


def read_tree(text: str) -> dict[str, str]:
    files: dict[str, str] = {}
    block: dict[int, list[str]] = {}
    open_for: list[int] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith((" ", "\t")):
            for cpu in open_for:
                block[cpu].append(line.strip())
        elif header := re.fullmatch(r"cpuinfo \{(.*)\}", line):
            open_for = sorted(parse_cpulist(header[1]))
            block |= {cpu: [f"processor\t: {cpu}"] for cpu in open_for}
        else:
            path, _, content = line.partition("=")
            assert path not in files, f"{path} stands twice"
            for one in _expanded(path.strip()):
                files[one if one.startswith("/") else f"/sys/devices/system/{one}"] = content.strip() + "\n"
    if block:
        files["/proc/cpuinfo"] = "".join("\n".join(lines) + "\n\n" for _, lines in sorted(block.items()))
    return files


def _expanded(path: str) -> list[str]:
    brace = re.search(r"\{(.*?)\}", path)
    if brace is None:
        return [path]
    filled = (path[: brace.start()] + str(number) + path[brace.end() :] for number in sorted(parse_cpulist(brace[1])))
    return [one for part in filled for one in _expanded(part)]


def write_tree(files: dict[str, str], folder: Path) -> Path:
    """The files below `folder`, which is returned."""
    for path, content in files.items():
        file = folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder
