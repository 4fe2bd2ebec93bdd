from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.amdgpu_firmware import card_of_name, read_firmware_info

INFO = """\
VCE feature version: 0, firmware version: 0x00000000
UVD feature version: 0, firmware version: 0x00000000
ME feature version: 35, firmware version: 0x0000000d
PFP feature version: 35, firmware version: 0x0000000f
MES_KIQ feature version: 6, firmware version: 0x0000006e
MES feature version: 1, firmware version: 0x00000083
VPE feature version: 60, firmware version: 0x00000014
SMC feature version: 0, program: 0, firmware version: 0x0b544900 (11.84.73)
VBIOS version: 113-STRXLGEN-001
"""


def test_each_firmware_has_its_version() -> None:
    read = read_firmware_info(INFO)
    assert (read["MES"], read["MES_KIQ"], read["VCE"]) == (0x83, 0x6E, 0)
    assert "VBIOS" not in read and "SMC" not in read


def test_the_card_of_a_folder() -> None:
    assert card_of_name("amdgpu dev=0000:c6:00.0 unique=0000:c6:00.0\n") == "0000:c6:00.0"
    assert card_of_name("i915 unique=x") is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(0 <= version < 2**32 for version in read_firmware_info(text).values())
    card_of_name(text)
