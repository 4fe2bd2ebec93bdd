"""The reader of Win32_PhysicalMemory rows, as ConvertTo-Json writes them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.cim_memory import read_cim_memory, read_cim_slots
from doctor.texts.memory_table import MemoryDevice, MemoryTable

ROW: dict[str, Any] = {
    "Capacity": 17179869184,
    "ConfiguredClockSpeed": 4800,
    "DataWidth": 64,
    "BankLabel": "P0 CHANNEL A",
    "DeviceLocator": "DIMM 1",
    "FormFactor": 8,
    "Manufacturer": "Kingston",
    "PartNumber": "KF560C36-16         ",
    "SerialNumber": "SECRET",
    "SMBIOSMemoryType": 34,
    "Speed": 4800,
}
MODULE = MemoryDevice(
    present=True,
    locator="DIMM 1",
    bank="P0 CHANNEL A",
    size_bytes=17179869184,
    type="DDR5",
    form_factor="DIMM",
    width_bits=64,
    speed_mts=4800,
    configured_mts=4800,
    manufacturer="Kingston",
    part_number="KF560C36-16",
)


def test_one_module_is_an_object_and_two_are_a_list() -> None:
    assert read_cim_memory(ROW).devices == (MODULE,)
    assert read_cim_memory([ROW, ROW]).devices == (MODULE, MODULE)


def test_numbers_may_be_written_as_text() -> None:
    assert read_cim_memory({**ROW, "Capacity": "17179869184"}).devices == (MODULE,)


def test_serial_numbers_are_not_read() -> None:
    assert "SECRET" not in repr(read_cim_memory(ROW))


def test_laptop_module() -> None:
    (module,) = read_cim_memory({**ROW, "FormFactor": 12, "SMBIOSMemoryType": 26, "PartNumber": None}).devices
    assert (module.form_factor, module.type, module.part_number) == ("SODIMM", "DDR4", None)


def test_slots() -> None:
    assert read_cim_slots({"MemoryDevices": 4, "Use": 3}) == 4
    assert read_cim_slots([{"MemoryDevices": 16, "Use": 3}, {"MemoryDevices": 16, "Use": 3}]) == 32
    assert read_cim_slots([{"MemoryDevices": 4, "Use": 3}, {"MemoryDevices": 1, "Use": 6}]) == 4
    assert read_cim_slots(None) is None
    assert read_cim_slots({"MemoryDevices": 0}) is None


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ROW, "Use"]), inner, max_size=4),
)


@given(_values)
def test_never_raises(rows: Any) -> None:
    assert isinstance(read_cim_memory(rows), MemoryTable)
    slots = read_cim_slots(rows)
    assert slots is None or slots > 0
