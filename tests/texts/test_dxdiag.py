"""dxdiag /t: labels are English everywhere, dates and names are not."""

from __future__ import annotations

import pytest

from doctor.texts.dxdiag import MIB, DisplayDevice, looks_like_dxdiag, read_dxdiag

_SYSTEM = """\
------------------
System Information
------------------
      Time of this report: 11/30/2026, 09:12:44
             Machine name: DESKTOP-A1B2C3D
               Machine Id: {39BC0826-743F-4ECA-AFBE-66A14FBE5330}
         Operating System: Windows 11 专业版 64-bit (10.0, Build 22631) (22621.ni_release.220506-1250)
                 Language: Chinese (Simplified) (Regional Setting: Chinese (Simplified))
                Processor: AMD Ryzen 7 5800H with Radeon Graphics          (16 CPUs), ~3.2GHz
                   Memory: 32768MB RAM
      Available OS Memory: 31880MB RAM
"""

_DEVICE = """\
           Card name: {name}
        Manufacturer: Advanced Micro Devices, Inc.
           Chip type: AMD Radeon Graphics Processor (0x1638)
          Device Key: Enum\\PCI\\VEN_1002&DEV_1638&SUBSYS_10FC1043&REV_C6
      Display Memory: 8384 MB
    Dedicated Memory: {dedicated}
       Shared Memory: 7888 MB
        Current Mode: 1920 x 1080 (32 bit) (144Hz)
         Driver Name: C:\\WINDOWS\\System32\\DriverStore\\amdxx64.dll
 Driver File Version: 31.00.12027.9001 (English)
      Driver Version: 31.0.12027.9001
        Driver Model: WDDM 3.1
 Hardware Scheduling: Supported:True Enabled:True
    Driver Date/Size: {date}, 1946240 bytes
           Vendor ID: 0x1002
           Device ID: 0x1638
"""

_SOUND = """\
-------------
Sound Devices
-------------
            Description: Speakers (Realtek(R) Audio)
         Driver Version: 6.0.9239.1
          Date and Size: 10/12/2021, 6372896 bytes
"""


def _device(name: str = "AMD Radeon(TM) Graphics", dedicated: str = "496 MB", date: str = "29.03.2022 02:00:00") -> str:
    return _DEVICE.format(name=name, dedicated=dedicated, date=date)


_TITLE = "---------------\nDisplay Devices\n---------------\n"


def test_a_laptop() -> None:
    text = _SYSTEM + _TITLE + _device() + _SOUND
    read = read_dxdiag(text)
    assert looks_like_dxdiag(text) and read is not None
    assert (read.product, read.kernel, read.build) == ("Windows 11 专业版", "10.0.22631", 22631)
    assert (read.processor, read.cpus, read.logical_cpus) == ("AMD Ryzen 7 5800H with Radeon Graphics", 16, 16)
    assert read.total_bytes == 31880 * MIB
    assert read.devices == (
        DisplayDevice(
            name="AMD Radeon(TM) Graphics",
            pci_id="1002:1638",
            dedicated_bytes=496 * MIB,
            shared_bytes=7888 * MIB,
            driver_version="31.0.12027.9001",
            driver_date="2022-03-29",
            hardware_scheduling=True,
        ),
    )
    assert (read.first, read.end) == (6, 30)


def test_an_adapter_is_listed_once_per_screen() -> None:
    read = read_dxdiag(_TITLE + _device() + _device() + _device("NVIDIA GeForce RTX 3060", "11944 MB"))
    assert read is not None
    assert [(device.name, device.screens) for device in read.devices] == [
        ("AMD Radeon(TM) Graphics", 2),
        ("NVIDIA GeForce RTX 3060", 1),
    ]


def test_a_piece_that_somebody_filtered() -> None:
    text = "Card name: AMD Radeon(TM) 890M Graphics\nDedicated Memory: 284 MB\nShared Memory: 15932 MB\n"
    read = read_dxdiag(text)
    assert read is not None
    assert read.devices == (DisplayDevice("AMD Radeon(TM) 890M Graphics", None, 284 * MIB, 15932 * MIB),)


def test_a_remote_session_shows_no_card() -> None:
    read = read_dxdiag(_SYSTEM + _TITLE + _DEVICE.format(name="", dedicated="n/a", date=""))
    assert read is not None and read.devices == ()


def test_drivers_of_other_devices_are_not_the_cards() -> None:
    device = "\n".join(line for line in _device().split("\n") if "Driver Version" not in line)
    read = read_dxdiag(_TITLE + device + _SOUND)
    assert read is not None and read.devices[0].driver_version is None


def test_lines_of_another_device_whose_first_line_is_missing() -> None:
    second = _device(dedicated="11944 MB").replace("Card name", "Card")
    read = read_dxdiag(_TITLE + _device() + second)
    assert read is not None
    assert [device.dedicated_bytes for device in read.devices] == [496 * MIB]


@pytest.mark.parametrize(
    "date, iso",
    [
        ("29.03.2022 02:00:00", "2022-03-29"),
        ("3/29/2022 5:00:00 PM", "2022-03-29"),
        ("29/03/2022 00:00:00", "2022-03-29"),
        ("2022/3/9 8:00:00", "2022-03-09"),
        ("2022-03-09 00:00:00", "2022-03-09"),
        ("3/4/2022 00:00:00", None),
        ("5/5/2022", "2022-05-05"),
        ("04.03.2022", "2022-03-04"),
        ("31/31/2022", None),
        ("", None),
    ],
)
def test_dates(date: str, iso: str | None) -> None:
    read = read_dxdiag(_TITLE + _device(date=date))
    assert read is not None and read.devices[0].driver_date == iso


@pytest.mark.parametrize("cpus, all_of_them", [(1, 1), (32, 32), (33, None), (64, None)])
def test_more_cpus_than_a_processor_group_holds(cpus: int, all_of_them: int | None) -> None:
    """Windows splits more than 64 CPUs into groups, and dxdiag counts those of one."""
    read = read_dxdiag(f"Processor: AMD EPYC 7702 64-Core Processor   ({cpus} CPUs), ~2.0GHz\n")
    assert read is not None and (read.cpus, read.logical_cpus) == (cpus, all_of_them)


def test_a_line_without_its_newline_is_not_believed() -> None:
    read = read_dxdiag("Card name: AMD Radeon RX 7900 XTX\nDedicated Memory: 24")
    assert read is not None and read.devices[0].dedicated_bytes is None


def test_texts_of_something_else() -> None:
    for text in ("", "Processor: x86_64\nOperating System: Ubuntu 24.04\n", "Dedicated Memory: 8 MB\n", _SOUND):
        assert read_dxdiag(text) is None
