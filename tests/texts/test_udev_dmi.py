"""The reader of the udev database, in the words of systemd's dmi_memory_id."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.memory_table import MemoryDevice, MemoryTable
from doctor.texts.udev_dmi import read_udev_dmi

DATABASE = """\
I:4242424
E:ID_VENDOR=ASRock
E:MEMORY_ARRAY_LOCATION=System Board Or Motherboard
E:MEMORY_ARRAY_EC_TYPE=None
E:MEMORY_ARRAY_MAX_CAPACITY=137438953472
E:MEMORY_DEVICE_0_PRESENT=0
E:MEMORY_DEVICE_0_FORM_FACTOR=Unknown
E:MEMORY_DEVICE_0_LOCATOR=DIMM 0
E:MEMORY_DEVICE_0_BANK_LOCATOR=P0 CHANNEL A
E:MEMORY_DEVICE_0_TYPE=Unknown
E:MEMORY_DEVICE_1_TOTAL_WIDTH=64
E:MEMORY_DEVICE_1_DATA_WIDTH=64
E:MEMORY_DEVICE_1_SIZE=17179869184
E:MEMORY_DEVICE_1_FORM_FACTOR=DIMM
E:MEMORY_DEVICE_1_LOCATOR=DIMM 1
E:MEMORY_DEVICE_1_BANK_LOCATOR=P0 CHANNEL A
E:MEMORY_DEVICE_1_TYPE=<OUT OF SPEC>
E:MEMORY_DEVICE_1_TYPE_DETAIL=Synchronous Unbuffered (Unregistered)
E:MEMORY_DEVICE_1_SPEED_MTS=4800
E:MEMORY_DEVICE_1_MANUFACTURER=Kingston
E:MEMORY_DEVICE_1_SERIAL_NUMBER=SECRET
E:MEMORY_DEVICE_1_ASSET_TAG=SECRET
E:MEMORY_DEVICE_1_PART_NUMBER=KF560C36-16
E:MEMORY_DEVICE_1_RANK=1
E:MEMORY_DEVICE_1_CONFIGURED_SPEED_MTS=4800
E:MEMORY_ARRAY_NUM_DEVICES=2
"""

DEVICES = (
    MemoryDevice(present=False, locator="DIMM 0", bank="P0 CHANNEL A"),
    MemoryDevice(
        present=True,
        locator="DIMM 1",
        bank="P0 CHANNEL A",
        size_bytes=17179869184,
        form_factor="DIMM",
        width_bits=64,
        speed_mts=4800,
        configured_mts=4800,
        manufacturer="Kingston",
        part_number="KF560C36-16",
    ),
)


def test_database() -> None:
    assert read_udev_dmi(DATABASE).devices == DEVICES


def test_udevadm_writes_a_blank_behind_the_letter() -> None:
    assert read_udev_dmi(DATABASE.replace("E:", "E: ")).devices == DEVICES


def test_serial_and_asset_numbers_are_not_read() -> None:
    assert "SECRET" not in repr(read_udev_dmi(DATABASE))


def test_devices_come_in_the_order_of_their_numbers() -> None:
    text = "\n".join(f"E:MEMORY_DEVICE_{at}_LOCATOR=DIMM {at}" for at in (10, 9, 1))
    assert [device.locator for device in read_udev_dmi(text).devices] == ["DIMM 1", "DIMM 9", "DIMM 10"]


@given(st.text() | st.lists(st.sampled_from(DATABASE.splitlines()) | st.text(max_size=30)).map("\n".join))
def test_never_raises(text: str) -> None:
    assert isinstance(read_udev_dmi(text), MemoryTable)
