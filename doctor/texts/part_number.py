"""The speed that a memory module's part number states, where its maker's coding is known for certain.

Firmware does not tell: AMD boards write the standard (JEDEC) speed in SMBIOS `Speed` while the module is sold for more.
Sources, read 2026-11-30: Corsair, "How to: Read the CORSAIR memory part number" (help.corsair.com 8528259685901);
Micron, "DDR4 Module Part Numbering System" and the data sheet of MTA18ASF1G72PDZ; Samsung, DDR3 and DDR4 product
guides, and SK hynix, both as tabled by GLPI Agent (`GLPI/Agent/Tools/PartNumber`); G.Skill, HyperX, Patriot, Team and
GeIL as explained in raisonjohn.blogspot.com 2019/01. Codes that were not found there are not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

import msgspec


class Rating(msgspec.Struct, frozen=True):
    """What a part number states. `by_profile`: reached through the module's own EXPO or XMP profile; otherwise it is
    the JEDEC grade, which needs no setting but a processor and board that drive it."""

    mts: int
    by_profile: bool


#: Plausible data rates of a DDR generation, in MT/s: a number outside is a capacity or a date, not a rating.
_RANGES = {"3": (800, 3200), "4": (2133, 5600), "5": (4800, 12_000)}

_KINGSTON_DDR3 = {"13": 1333, "16": 1600, "18": 1866, "21": 2133, "24": 2400, "26": 2666, "28": 2800}
_KINGSTON_DDR4 = (
    {"21": 2133, "24": 2400, "26": 2666, "28": 2800, "29": 2933, "30": 3000, "32": 3200, "33": 3333, "34": 3466}
    | {"36": 3600, "37": 3733, "40": 4000, "41": 4133, "42": 4266, "44": 4400, "46": 4600, "48": 4800, "50": 5000}
    | {"51": 5133, "53": 5333}
)
_DDR5 = {str(hundreds): hundreds * 100 for hundreds in range(48, 97, 2)}
_VALUERAM = (
    {"13": 1333, "16": 1600, "18": 1866, "21": 2133, "24": 2400, "26": 2666, "29": 2933, "32": 3200}
    | {"48": 4800, "52": 5200, "56": 5600, "64": 6400}
)
_BALLISTIX = {"24": 2400, "26": 2666, "30": 3000, "32": 3200, "36": 3600, "40": 4000, "44": 4400, "51": 5100}
_BALLISTIX_DDR3 = {"13": 1333, "16": 1600, "18": 1866, "21": 2133}
_CRUCIAL_DDR4 = {"213": 2133, "24A": 2400, "266": 2666, "293": 2933, "32A": 3200}
_MICRON = (
    {"1G1": 1066, "1G4": 1333, "1G6": 1600, "1G9": 1866}
    | {"2G1": 2133, "2G3": 2400, "2G4": 2400, "2G6": 2666, "2G9": 2933, "3G2": 3200}
)
_SAMSUNG = (
    {"F8": 1066, "H9": 1333, "K0": 1600, "MA": 1866, "NB": 2133}
    | {"PB": 2133, "RB": 2133, "RC": 2400, "TC": 2400, "TD": 2666, "VF": 2933, "YF": 2933, "WE": 3200, "AE": 3200}
    | {"QK": 4800, "WM": 5600}
)
_HYNIX = (
    {"G7": 1066, "H9": 1333, "PB": 1600, "RD": 1866}
    | {"TF": 2133, "UH": 2400, "UL": 2400, "VK": 2666, "VN": 2666, "WM": 2933, "WR": 2933, "XN": 3200, "XS": 3200}
)

#: G.Skill names DDR3 by data rate or by bandwidth: F3-12800CL9 moves 12,800 MB/s.
_DDR3_BANDWIDTH = (
    {"8500": 1066, "10600": 1333, "10666": 1333, "12800": 1600, "14900": 1866, "15000": 1866, "16000": 2000}
    | {"17000": 2133, "17066": 2133, "19200": 2400, "21300": 2666}
)

_Reading = Callable[["re.Match[str]"], "int | None"]


def _stated(found: re.Match[str]) -> int | None:
    """The number as it stands (`mts`), where it is a rate of its DDR generation (`ddr`, where the part names one)."""
    mts = int(found["mts"])
    low, high = _RANGES.get(found.groupdict().get("ddr") or "", (800, 12_000))
    return mts if low <= mts <= high else None


def _stated_by_gskill(found: re.Match[str]) -> int | None:
    return _DDR3_BANDWIDTH.get(found["mts"]) if found["ddr"] == "3" and int(found["mts"]) > 3200 else _stated(found)


def _coded(table: Mapping[str, int]) -> _Reading:
    return lambda found: table.get(found["code"])


#: (pattern of the whole beginning, how to read it, by profile). The first that matches decides.
_PATTERNS: tuple[tuple[str, _Reading, bool], ...] = (
    # G.Skill F4-3600C16-16GTZN, F5-6000J3038F16G, F3-12800CL9
    (r"F(?P<ddr>[345])-(?P<mts>\d{4,5})[A-Z]{1,2}\d", _stated_by_gskill, True),
    # Corsair CMK32GX5M2B6000Z30, CMSX16GX4M2A3000C16
    (r"CM[A-Z]{1,3}\d{1,3}GX(?P<ddr>[345])M\d{1,2}[A-Z]?(?P<mts>\d{4})[CLZ]\d", _stated, True),
    # Kingston FURY KF560C36-16, KF432C16BB/8, KF316C10BB; in the SPD also KF3200C16D4/8GX
    (r"KF5(?P<code>\d\d)(?:C|S|R|CU|CS)\d\d(?!\d)", _coded(_DDR5), True),
    (r"KF4(?P<code>\d\d)[CSR]\d\d(?!\d)", _coded(_KINGSTON_DDR4), True),
    (r"KF3(?P<code>\d\d)L?[CS]\d", _coded(_KINGSTON_DDR3), True),
    (r"KF(?P<mts>\d{4})C\d\d(?:[DS](?P<ddr>[345]))?", _stated, True),
    # HyperX HX432C16FB3/8, HX318C10F/8, KHX3200C16D4/8GX, KHX1866C10D3/8G
    (r"HX4(?P<code>\d\d)[CSI]C?\d", _coded(_KINGSTON_DDR4), True),
    (r"HX3(?P<code>\d\d)L?[CS]\d", _coded(_KINGSTON_DDR3), True),
    (r"KHX(?P<mts>\d{4})C\d{1,2}A?[DS](?P<ddr>[34])", _stated, True),
    # Kingston ValueRAM and server memory KVR26N19S8/8, KVR48U40BS8-16, KSM32ED8/16HD
    (r"KVR(?P<code>\d\d)L?[NSERU]L?\d\d", _coded(_VALUERAM), False),
    (r"KSM(?P<code>\d\d)[A-Z]{2,3}\d", _coded(_VALUERAM), False),
    # Crucial Ballistix BL8G32C16U4B, BLM8G44C19U4B, BLS8G4D26BFSB, BLS8G4D240FSB, BLS8G3D1609DS1S00
    (r"BLM?\d{1,2}G(?P<code>\d\d)C\d\d[US]4", _coded(_BALLISTIX), True),
    (r"BL[STEM]\d{1,2}G4[DS](?P<code>24|26|30|32)0?[A-Z]", _coded(_BALLISTIX), True),
    (r"BL[STE]\d{1,2}G3[DNS](?P<code>\d\d)\d", _coded(_BALLISTIX_DDR3), True),
    # Crucial Pro CP16G60C36U5B; Crucial CT32G56C46U5, CT8G4DFS8266, CT16G4DFRA32A
    (r"CP\d{1,3}G(?P<code>\d\d)C\d\d(?:[US]|CU|CS)5", _coded(_DDR5), True),
    (r"CT\d{1,3}G(?P<code>\d\d)C\d\d(?:[USR]|CU|CS)5", _coded(_DDR5), False),
    (r"CT\d{1,3}G4[A-Z]F[A-Z][A468](?P<code>213|24A|266|293|32A)", _coded(_CRUCIAL_DDR4), False),
    # Micron 8ATF1G64HZ-2G6E1, MTA36ASF8G72PZ-3G2F1, 8KTF51264HZ-1G6E1
    (r"(?:MT)?A?\d{1,2}[AJK][A-Z]{2}\d{1,5}G?\d{0,2}[A-Z]{1,4}-(?P<code>[123]G\d)", _coded(_MICRON), False),
    # Samsung M378A1K43BB2-CRC, M471B5173DB0-YK0, M321R8GA0BB0-CQKZJ
    (r"M[34]\d\d[AB][0-9A-Z]{7}-[A-Z](?P<code>[A-Z][A-Z0-9])", _coded(_SAMSUNG), False),
    (r"M[34]\d\dR[0-9A-Z]{7}-[A-Z](?P<code>QK|WM)", _coded(_SAMSUNG), False),
    # SK hynix HMA851S6CJR6N-XN, HMT351S6CFR8C-PB
    (r"HM[AT][0-9A-Z]{9,11}-(?P<code>[A-Z][A-Z0-9])(?![A-Z0-9])", _coded(_HYNIX), False),
    # ADATA XPG AX4U320038G16A; ADATA AD4U266638G19
    (r"AX(?P<ddr>[345])[US](?P<mts>\d{4})", _stated, True),
    (r"AD(?P<ddr>[345])[US](?P<mts>\d{4})", _stated, False),
    # Team TEAMGROUP-UD4-3600, UD5-6000, TLZGD416G3200HC16CDC01, CTCED532G6000HC38ADC01
    (r"(?:TEAMGROUP-)?[US]D(?P<ddr>[345])-(?P<mts>\d{4})$", _stated, True),
    (r"[A-Z][A-Z0-9]{1,5}D(?P<ddr>[345])\d{1,2}G(?P<mts>\d{4})H?C\d\d", _stated, True),
    # Patriot "3200 C16 Series"
    (r"(?P<mts>\d{4}) (?:C\d\d )?SERIES$", _stated, True),
    # GeIL "CL16-18-18 D4-3200"; GOODRAM IR-X3200D464L16S/8G, GR2666D464L19S/8G
    (r"CL\d\d-\d\d-\d\d D(?P<ddr>[345])-(?P<mts>\d{4})", _stated, True),
    (r"IRP?-[A-Z]{0,3}(?P<mts>\d{4})D(?P<ddr>[345])V?64L\d", _stated, True),
    (r"GR(?P<mts>\d{4})[DS](?P<ddr>[345])V?64L\d", _stated, False),
    # Ramaxel RMSA3270ME86H9F-2666
    (r"RM[A-Z]{2}\d{4}[0-9A-Z]{5,8}-(?P<mts>\d{4})$", _stated, False),
    # Makers that write no more than "DDR4 3200"
    (r"DDR(?P<ddr>[345])[ -](?P<mts>\d{4})(?!\d)", _stated, True),
)


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], _Reading, bool], ...]:
    """The patterns, compiled when the first module is looked at."""
    return tuple((re.compile(pattern), reading, by_profile) for pattern, reading, by_profile in _PATTERNS)


def rating_of(part_number: str | None) -> Rating | None:
    """The rating that a part number states, in MT/s. None unless its coding is known for certain. Never raises."""
    part = " ".join((part_number or "").upper().split())
    for pattern, reading, by_profile in _compiled():
        if found := pattern.match(part):
            mts = reading(found)
            return None if mts is None else Rating(mts, by_profile)
    return None
