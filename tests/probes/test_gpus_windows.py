"""The GPUs of Windows from what DXGI and the registry answer on recorded and on invented machines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.derive.facts import complete
from doctor.machine.model import Gpu, Machine, Windows
from doctor.probes.collect import collect
from doctor.probes.found import Found
from doctor.probes.gpus import probe as probe_of_all_systems
from doctor.probes.gpus_windows import probe
from doctor.sources.recording import RecordingSource
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import Redactor

MIB = 1 << 20
CLASS = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"

RADEON_DRIVER = {
    "DriverDesc": "AMD Radeon RX 7700S",
    "ProviderName": "Advanced Micro Devices, Inc.",
    "DriverVersion": "32.0.12033.1030",
    "DriverDate": "11-29-2024",
    "MatchingDeviceId": r"PCI\VEN_1002&DEV_7480&REV_C8",
    "RadeonSoftwareVersion": "24.12.1",
}
OLD_DRIVER = {
    "DriverVersion": "21.19.0.1",
    "DriverDate": "9-3-2016",
    "MatchingDeviceId": r"pci\ven_1002&dev_67df",
    "RadeonSoftwareVersion": "16.9.1",
}
BASIC_DRIVER = {"DriverDesc": "Microsoft Basic Display Adapter", "MatchingDeviceId": r"root\basicdisplay"}


def adapter(index: int, name: str, device: int, dedicated_mib: int, **more: Any) -> dict[str, Any]:
    plain = {
        "index": index, "name": name, "vendor_id": 0x1002, "device_id": device, "dedicated_bytes": dedicated_mib * MIB,
        "shared_bytes": 15900 * MIB, "luid": f"00000000:{index:08x}", "software": False,
    }  # fmt: skip
    return {**plain, **more}


IGPU = adapter(0, "AMD Radeon(TM) 780M", 0x15BF, 512)
RADEON = adapter(1, "AMD Radeon RX 7700S", 0x7480, 8176)
SOFTWARE = adapter(2, "Microsoft Basic Render Driver", 0x8C, 0, vendor_id=0x1414, software=True)


def source(adapters: Any = None, *drivers: dict[str, str], **parts: Any) -> RecordingSource:
    names = tuple(f"{at:04d}" for at in range(len(drivers)))
    plain: dict[str, Any] = {
        "platform": "windows",
        "registry_keys": {CLASS: (*names, "Configuration", "Properties")},
        "registry": {rf"{CLASS}\{name}": driver for name, driver in zip(names, drivers, strict=True)},
        **({} if adapters is None else {"api": {"dxgi-adapters": adapters}}),
        **parts,
    }
    return RecordingSource(plain, "test")


def gpus(found: Found) -> tuple[Gpu, ...]:
    told = found.facts["gpus"]
    assert isinstance(told, tuple)
    return told


def test_a_laptop_with_two_adapters_and_the_software_one() -> None:
    found = probe(source([IGPU, RADEON, SOFTWARE], OLD_DRIVER, RADEON_DRIVER, BASIC_DRIVER))
    assert gpus(found) == (
        Gpu(
            name="AMD Radeon(TM) 780M",
            pci_id="1002:15bf",
            dedicated_bytes=512 * MIB,
            shared_bytes=15900 * MIB,
            adapter_index=0,
        ),
        Gpu(
            name="AMD Radeon RX 7700S",
            pci_id="1002:7480",
            dedicated_bytes=8176 * MIB,
            shared_bytes=15900 * MIB,
            adapter_index=1,
            driver_version="32.0.12033.1030",
            driver_date="2024-11-29",
        ),
    )
    assert found.facts["windows"] == Windows(adrenalin="24.12.1")
    assert found.unknowns == ()


def test_vendor_target_and_kind_follow_from_the_pci_id() -> None:
    told = gpus(probe(source([IGPU, RADEON, adapter(3, "NVIDIA", 0x2684, 24000, vendor_id=0x10DE)])))
    whole = complete(Machine(gpus=told)).gpus or ()
    assert [(gpu.vendor, gpu.gfx, gpu.integrated) for gpu in whole] == [
        ("amd", "gfx1103", True),
        ("amd", "gfx1102", False),
        ("nvidia", None, None),
    ]


def test_the_driver_of_a_card_that_was_taken_out_speaks_for_nobody() -> None:
    found = probe(source([RADEON], OLD_DRIVER))
    assert gpus(found)[0].driver_version is None
    assert "windows" not in found.facts


def test_an_adapter_that_is_listed_twice_is_one() -> None:
    again = {**RADEON, "index": 3}
    assert [gpu.adapter_index for gpu in gpus(probe(source([IGPU, RADEON, again])))] == [0, 1]


def test_two_cards_of_one_kind_are_two() -> None:
    other = {**RADEON, "index": 2, "luid": "00000000:000000ff"}
    told = gpus(probe(source([RADEON, other], RADEON_DRIVER)))
    assert [(gpu.adapter_index, gpu.driver_date) for gpu in told] == [(1, "2024-11-29"), (2, "2024-11-29")]


def test_looked_and_found_none() -> None:
    assert gpus(probe(source([]))) == gpus(probe(source([SOFTWARE]))) == ()


def test_without_dxgi_the_registry_alone_names_no_gpu() -> None:
    """It still holds the cards of the last ten years."""
    found = probe(source(None, RADEON_DRIVER, missing={"probe-failed": ["api:dxgi-adapters"]}))
    assert "gpus" not in found.facts
    assert [(row.fact, row.reason) for row in found.unknowns] == [("gpus", "probe-failed")]
    assert found.facts["windows"] == Windows(adrenalin="24.12.1")


def test_a_recording_without_either_says_nothing() -> None:
    found = probe(RecordingSource({"platform": "windows"}, "test"))
    assert (dict(found.facts), found.unknowns) == ({}, ())


@pytest.mark.parametrize(("text", "date"), [("1-5-2026", "2026-01-05"), ("2024-11-29", "2024-11-29"), ("", None)])
def test_dates(text: str, date: str | None) -> None:
    driver = {**RADEON_DRIVER, "DriverDate": text}
    assert gpus(probe(source([RADEON], driver)))[0].driver_date == date


@pytest.mark.parametrize("answer", [5, "x", [{"index": 0}], [5], {"index": 0}])
def test_an_answer_of_another_shape_is_a_crash_of_this_probe_only(answer: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        probe(source(answer))
    collected = collect(source(answer), (("gpus", probe),))
    assert [crash.part for crash in collected.crashed] == ["probe:gpus"]


def test_the_probe_of_all_systems_hands_over_to_this_one() -> None:
    recorded = source([RADEON], RADEON_DRIVER)
    assert probe_of_all_systems(recorded) == probe(recorded)


def test_redaction_leaves_adapters_and_drivers_as_they_are() -> None:
    """A user may well be called like a graphics card."""
    recorded = source([RADEON], RADEON_DRIVER)
    redacted = RedactedSource(recorded, Redactor(users=["radeon", "nvidia"], hosts=["rx"]))
    assert probe(redacted) == probe(recorded)
