"""Every format by its name, and which one a file is in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from doctor.envfile.block import BOM, blocks_in
from doctor.envfile.cmd import CMD
from doctor.envfile.conda import CONDA
from doctor.envfile.docker import DOCKER
from doctor.envfile.dotenv import DOTENV
from doctor.envfile.fish import FISH
from doctor.envfile.json_format import JSON, JsonFormat
from doctor.envfile.line_format import LineFormat
from doctor.envfile.posix import POSIX
from doctor.envfile.powershell import POWERSHELL
from doctor.envfile.systemd import SYSTEMD

Format = LineFormat | JsonFormat

FORMATS: Mapping[str, Format] = {
    each.name: each for each in (DOTENV, POSIX, FISH, POWERSHELL, CMD, SYSTEMD, DOCKER, CONDA, JSON)
}

#: What gives away a file without a telling name: the beginning of any of its lines.
_SIGNS: tuple[tuple[re.Pattern[bytes], Format], ...] = (
    (re.compile(rb"\s*\{"), JSON),
    (re.compile(rb"(?im)^[ \t]*set[ \t]+-[a-zA-Z-]+[ \t]+[A-Za-z_]"), FISH),
    (re.compile(rb"(?im)^[ \t]*\$(?:env:|\{env:)"), POWERSHELL),
    (re.compile(rb"(?im)^[ \t]*@?set[ \t]+\"?[A-Za-z_][A-Za-z0-9_]*="), CMD),
)


def format_of(path: Path, data: bytes) -> Format:
    """The format of a file: as its managed block says, else its name, else a telling line. Raises BadBlock."""
    found = blocks_in(data)
    if found and found[0].format in FORMATS:
        return FORMATS[found[0].format]
    if path.parent.name in ("activate.d", "deactivate.d") and path.suffix == ".sh":
        return CONDA
    for each in FORMATS.values():
        if path.suffix.lower() in each.suffixes:
            return each
    text = data.removeprefix(BOM)
    return next((each for sign, each in _SIGNS if (sign.match(text) if each is JSON else sign.search(text))), DOTENV)
