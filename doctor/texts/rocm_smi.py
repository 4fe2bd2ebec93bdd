"""`rocm-smi`: with `--json` one object per card, without it lines such as `GPU[0] : PCI Bus: 0000:04:00.0`.

The keys changed with the releases.

The same card is `"GPU ID": "0x73df"` up to ROCm 5.7, `"Device ID"` from 6.0 on, and `"Card series"` became
`"Card Series"` with 6.1, which also added `"GFX Version"`. A name that the tool does not know is a number
(`"Card series": "0x1002"`). Lines of another kind may stand in front of the object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_CARD = re.compile(r"card(\d{1,4})")
_ADDRESS = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GFX = re.compile(r"gfx[0-9a-f]{3,5}")
_ROW = re.compile(r"GPU\[(\d{1,4})\][ \t]*: ([A-Za-z][^:\n]{0,60}):(.*)")
_HEAD = re.compile(r"GPU +DID +.*\bBUS *")
_NAMES = ("device name", "card series", "card model")


class SmiCard(msgspec.Struct, frozen=True):
    """A card as a management tool tells it. What it does not tell is None."""

    pci_address: str | None = None  # 0000:03:00.0
    pci_id: str | None = None  # 1002:744c
    gfx: str | None = None
    name: str | None = None
    vram_total_bytes: int | None = None
    gtt_total_bytes: int | None = None
    compute_units: int | None = None


def read_rocm_smi(text: str) -> tuple[SmiCard, ...]:
    """The cards in the order of their numbers. Never raises; a text of something else gives none."""
    plain = json_in(text)
    if not isinstance(plain, dict):
        return ()
    cards = {int(match[1]): value for key, value in plain.items() if (match := _CARD.fullmatch(str(key)))}
    return tuple(_card(cards[at]) for at in sorted(cards) if isinstance(cards[at], dict))


def read_rocm_smi_text(text: str) -> tuple[SmiCard, ...]:
    """The same of the output for people: its rows, and the table of `--showhw`. Never raises."""
    fields: dict[int, dict[str, str]] = {}
    columns: list[str] = []
    for line in map(str.strip, text.splitlines()):
        row = _ROW.fullmatch(line)
        if row is not None:
            fields.setdefault(int(row[1]), {}).setdefault(row[2], row[3].strip())
        elif _HEAD.fullmatch(line):
            columns = line.split()
        elif columns:
            card = _table_row(line.split(), columns)
            columns = columns if card else []
            for number, told in card.items():
                fields.setdefault(number, {}).update(told)
    return tuple(_card(fields[number]) for number in sorted(fields))


def _table_row(words: list[str], columns: list[str]) -> dict[int, dict[str, str]]:
    """The number, the device and the bus. Some heads are of two words, so only the first two and the last are sure."""
    if len(words) < 3 or columns[:2] != ["GPU", "DID"] or not re.fullmatch(r"\d{1,4}", words[0]):
        return {}
    return {int(words[0]): {"Device ID": f"0x{words[1].removeprefix('0x')}", "PCI Bus": words[-1]}}


def json_in(text: str) -> Any:
    """The JSON value in a text, whatever stands in front of it; None where there is none."""
    starts = sorted(at for at in (text.find("{"), text.find("[")) if at >= 0)
    for start in starts:
        try:
            return msgspec.json.decode(text[start:])
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
    return None


def _card(card: Mapping[str, Any]) -> SmiCard:
    fields = {key.lower(): value.strip() for key, value in card.items() if isinstance(value, str)}
    device = fields.get("device id") or fields.get("gpu id") or ""
    return SmiCard(
        pci_address=address(fields.get("pci bus")),
        pci_id=pci_id(device),
        gfx=gfx(fields.get("gfx version")),
        name=next((name for key in _NAMES if (name := named(fields.get(key)))), None),
        vram_total_bytes=_bytes(fields.get("vram total memory (b)")),
        gtt_total_bytes=_bytes(fields.get("gtt total memory (b)")),
    )


def address(text: str | None) -> str | None:
    """`0000:03:00.0`, in lower case and with the domain."""
    lower = (text or "").lower()
    if not _ADDRESS.fullmatch(lower):
        return None
    return lower if lower.count(":") == 2 else f"0000:{lower}"


def pci_id(device: str | None) -> str | None:
    """`1002:744c` for `0x744c`."""
    match = re.fullmatch(r"0x([0-9a-f]{1,4})", (device or "").lower())
    return f"1002:{int(match[1], 16):04x}" if match else None


def gfx(text: str | None) -> str | None:
    """`gfx90a` for `gfx90a:sramecc+:xnack-`."""
    name = (text or "").lower().partition(":")[0]
    return name if _GFX.fullmatch(name) else None


def named(text: str | None) -> str | None:
    """A name; not a number, and not the tool's word for none."""
    return None if not text or text.lower() in ("n/a", "unknown") or text.lower().startswith("0x") else text


def _bytes(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 20 else None
