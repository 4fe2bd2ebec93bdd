"""Ratings out of part numbers: right where the coding is known, and nothing where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.dmidecode import read_dmidecode
from doctor.texts.part_number import Rating, rating_of
from tests.texts.memory_corpus import memory_cases

BY_PROFILE = {
    # G.Skill
    "F4-3200C16-8GIS": 3200,
    "F4-4266C19-8GTZR": 4266,
    "F5-6000J3038F16G": 6000,
    "F5-5600U3636C16G": 5600,
    "F5-6400R3239G16G": 6400,
    "F3-1600C9-8GXM": 1600,
    "F3-12800CL9-4GBXL": 1600,
    "F3-17000CL11-4GBXL": 2133,
    # Corsair
    "CMK16GX4M1A2666C16": 2666,
    "CMK32GX5M2B6000Z30": 6000,
    "CMK32GX4M2Z3200C16W": 3200,
    "CMSX16GX4M2A3000C16": 3000,
    "CML16GX3M2A1600C10": 1600,
    "CMD8GX3M4A1600C8": 1600,
    "CMP32GX5M2X7200C34": 7200,
    # Kingston FURY and HyperX
    "KF552C40-16": 5200,
    "KF556C40BB-16": 5600,
    "KF560C36-16": 6000,
    "KF560R32-32": 6000,
    "KF584CU40-24": 8400,
    "KF432C16BB/8": 3200,
    "KF426C16BB/8": 2666,
    "KF3200C16D4/8GX": 3200,
    "KF2666C16D4/8G": 2666,
    "HX432C16FB3/8": 3200,
    "HX429C15PB3/8": 2933,
    "HX318C10F/8": 1866,
    "KHX3200C16D4/8GX": 3200,
    "KHX1866C10D3/8G": 1866,
    # Crucial Ballistix and Pro
    "BL8G32C16U4B.8FE": 3200,
    "BL16G36C16U4B.M16FE": 3600,
    "BLM8G44C19U4BL.M8FE1": 4400,
    "BLS8G4D240FSB.16FBD2": 2400,
    "BLS8G4D32AESBK.M8FE1": 3200,
    "BLS8G3D1609DS1S00.": 1600,
    "CP16G60C36U5B.M8D1": 6000,
    # ADATA, Team, Patriot, GeIL, GOODRAM
    "AX4U320038G16A-CB10": 3200,
    "AX5U6000C3016G-B": 6000,
    "TEAMGROUP-UD4-3600": 3600,
    "UD5-6000": 6000,
    "TLZGD416G3200HC16CDC01": 3200,
    "CTCED532G6000HC38ADC01": 6000,
    "3200 C16 Series": 3200,
    "CL16-18-18 D4-3200": 3200,
    "IR-X3200D464L16S/8G": 3200,
    "DDR4 3000 2OZ": 3000,
}
BY_GRADE = {
    "CT32G56C46U5.M16D1": 5600,
    "CT8G48C40U5.M4A1": 4800,
    "CT8G4DFS8266.C8FE": 2666,
    "CT16G4DFRA32A.M16FR": 3200,
    "CT16G4DFD824A.C16FBD": 2400,
    "8ATF1G64HZ-2G6E1": 2666,
    "36ASF8G72PZ-3G2F1": 3200,
    "MTA18ASF1G72PDZ-2G3A2": 2400,
    "4ATF51264HZ-2G3B1": 2400,
    "8KTF51264HZ-1G6E1": 1600,
    "M378A1K43BB2-CRC": 2400,
    "M471A5244CB0-CTD": 2666,
    "M393A4K40CB2-CVF": 2933,
    "M393A4K40DB3-CWE": 3200,
    "M471B5173DB0-YK0": 1600,
    "M321R8GA0BB0-CQKZJ": 4800,
    "M425R2GA3BB0-CWMOD": 5600,
    "HMA851S6CJR6N-XN": 3200,
    "HMA81GU6AFR8N-UH": 2400,
    "HMT351S6CFR8C-PB": 1600,
    "KVR26N19S8/8": 2666,
    "KVR48U40BS8-16": 4800,
    "AD4U266638G19": 2666,
    "GR2666D464L19S/8G": 2666,
    "RMSA3270ME86H9F-2666": 2666,
}
#: Capacities, dates, speeds of chips and codes that no source explains.
NOTHING = [
    None,
    "",
    "9905701-132.A00G",
    "9965698-001.A00G",
    "D12.2755BS.001",
    "W644GU44J2320NH",
    "H9JCNNNCP3MLYR-N6E",
    "K3LKBKB0BM-MGCP",
    "MT62F1G64D4AH-023 WT",
    "MT53E1G32D2NP-046",
    "MT40A1G16TB-062E:F",
    "HMCG66AGBSA095N",
    "840758-191",
    "SP016GBSFU320F02",
    "R9S48G3206S2S",
    "16G2666CL19",
    "3200",
    "F5-100J3038F16G",
    "F4-9999C16-8GIS",
    "CMK16GX4M1A0016C16",
    "KF599C40-16",
    "UD4-8192",
]


@pytest.mark.parametrize(("part", "mts"), BY_PROFILE.items())
def test_rated_by_profile(part: str, mts: int) -> None:
    assert rating_of(part) == Rating(mts, by_profile=True)


@pytest.mark.parametrize(("part", "mts"), BY_GRADE.items())
def test_rated_by_jedec_grade(part: str, mts: int) -> None:
    assert rating_of(part) == Rating(mts, by_profile=False)


@pytest.mark.parametrize("part", NOTHING)
def test_no_rating(part: str | None) -> None:
    assert rating_of(part) is None


def test_case_and_padding_do_not_matter() -> None:
    assert rating_of("  kf560c36-16   ") == Rating(6000, by_profile=True)


def test_the_ratings_of_the_manifest(shared: Path) -> None:
    stated = {
        truth["part"].strip(): truth["rated_from_part"]
        for case in memory_cases(shared)
        for truth in case.truth["dimms"]
        if truth.get("rated_from_part")
    }
    assert len(stated) >= 5
    for part, mts in stated.items():
        rating = rating_of(part)
        assert rating is not None
        assert rating.mts == mts, part


def test_jedec_grades_agree_with_the_firmware(shared: Path) -> None:
    """A module without a profile shows its grade as SMBIOS speed. Where a processor is slower than the module, some
    firmware writes the processor's speed; a grade below what the firmware shows would be wrong."""
    seen = 0
    for case in memory_cases(shared):
        for module in read_dmidecode(case.text).modules:
            rating = rating_of(module.part_number)
            if rating is None or rating.by_profile or module.speed_mts is None:
                continue
            seen += 1
            assert rating.mts >= module.speed_mts - 1, (case.name, module.part_number)
    assert seen >= 60



@given(st.text() | st.from_regex(r"(F[345]-|CMK|KF5|KF|HX4|KHX|BL8G|CT8G4|M378A|HMA8)[A-Z0-9-]{0,20}"))
def test_never_raises_and_never_leaves_the_plausible(part: str) -> None:
    rating = rating_of(part)
    assert rating is None or 800 <= rating.mts <= 12_000
