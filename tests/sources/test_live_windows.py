"""The Windows calls, driven with DLLs that answer as Microsoft documents them. Runs on every system."""

from __future__ import annotations

import base64
import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from doctor.sources import live_windows
from doctor.sources.base import Missing
from doctor.sources.windows_registry import registry, registry_keys
from tests.sources.fake_windows import (
    Dll,
    PowerPlans,
    Registry,
    affinity_functions,
    loader,
    pointed,
    processor_information,
    write,
)
from tests.texts import windows_topology as windows

MIB = 1 << 20
ALL, GROUP = 0xFFFF, 4


def test_no_call_raises_where_there_is_no_such_dll() -> None:
    for name in live_windows.CALLS:
        assert isinstance(live_windows.api(name, loader()), Missing)
    assert isinstance(live_windows.api("no-such-name", loader()), Missing)


def test_no_call_raises_where_this_windows_has_no_such_function() -> None:
    bare = Dll()
    dlls = loader(dxgi=bare, kernel32=bare, ntdll=bare, powrprof=bare)
    assert {live_windows.api(name, dlls).reason for name in live_windows.CALLS} == {"not-on-this-platform"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has these DLLs")
def test_elsewhere_than_on_windows_every_answer_is_missing() -> None:
    assert all(isinstance(live_windows.api(name), Missing) for name in live_windows.CALLS)
    assert registry(r"HKLM\SOFTWARE", "x") == Missing("not-on-this-platform", "no registry: this is not Windows")
    assert isinstance(live_windows.system_folder(), Missing)


def test_logical_processors_are_the_buffer_itself() -> None:
    buffer = windows.machine([(8, 96 * MIB), (8, 32 * MIB)])
    kernel = Dll(GetLogicalProcessorInformationEx=processor_information({ALL: buffer}))
    answer = live_windows.api("logical-processors", loader(kernel32=kernel))
    assert base64.b64decode(answer) == buffer


def test_a_buffer_that_grows_between_the_two_calls_is_asked_for_again() -> None:
    small, grown = windows.groups([1]), windows.groups([1, 1])
    sizes: list[int] = []

    def call(relation: int, buffer: Any, length: Any) -> int:
        sizes.append(pointed(length).value)
        return processor_information({ALL: small if len(sizes) == 1 else grown})(relation, buffer, length)

    kernel = Dll(GetLogicalProcessorInformationEx=call)
    answer = live_windows.api("logical-processors", loader(kernel32=kernel))
    assert base64.b64decode(answer) == grown
    assert sizes == [0, len(small), len(grown)]


def test_a_call_that_fails_is_missing() -> None:
    kernel = Dll(GetLogicalProcessorInformationEx=lambda *arguments: 0)
    answer = live_windows.api("logical-processors", loader(kernel32=kernel))
    assert answer.reason == "probe-failed" and "GetLogicalProcessorInformationEx failed" in answer.detail


def test_a_32_bit_python_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_windows.ctypes, "sizeof", lambda kind: 4)
    kernel = Dll(GetLogicalProcessorInformationEx=processor_information({ALL: windows.groups([1])}))
    answer = live_windows.api("logical-processors", loader(kernel32=kernel))
    assert "32-bit" in answer.detail


@pytest.mark.parametrize(
    ("sizes", "own", "whole", "in_groups", "thread_group", "expected"),
    [
        ([32], 0xFFFF, 2**32 - 1, [0], 0, "0-15"),
        ([64, 64, 64], 2**64 - 1, 2**64 - 1, [0, 1, 2], 0, "0-191"),  # Windows 11: the whole machine
        ([64, 64, 64], 2**64 - 1, 2**64 - 1, [2], 2, "128-191"),  # Windows 10: one group, drawn in turn
        ([64, 64, 64], 0xF, 2**64 - 1, [0, 1, 2], 1, "64-67"),  # a mask was set: it holds in its group
        ([48, 48], 2**48 - 1, 2**48 - 1, [1], 1, "48-95"),
    ],
)
def test_affinity_over_groups(
    sizes: list[int], own: int, whole: int, in_groups: list[int], thread_group: int, expected: str
) -> None:
    kernel = Dll(
        GetLogicalProcessorInformationEx=processor_information({GROUP: windows.groups(sizes)}),
        **affinity_functions(own, whole, groups=in_groups, thread_group=thread_group),
    )
    assert live_windows.api("affinity", loader(kernel32=kernel)) == expected


def test_threads_put_into_several_groups_have_no_mask() -> None:
    kernel = Dll(
        GetLogicalProcessorInformationEx=processor_information({GROUP: windows.groups([64, 64])}),
        **affinity_functions(0, 0, groups=[0, 1], thread_group=0),
    )
    assert live_windows.api("affinity", loader(kernel32=kernel)).reason == "probe-failed"


def test_affinity_that_contradicts_the_groups_is_missing() -> None:
    kernel = Dll(
        GetLogicalProcessorInformationEx=processor_information({GROUP: windows.groups([4, 4])}),
        **affinity_functions(0xFF, 0xFF, groups=[0], thread_group=0),
    )
    assert live_windows.api("affinity", loader(kernel32=kernel)).reason == "probe-failed"


def version_call(build: int, product_type: int, status: int = 0) -> Callable[[Any], int]:
    def call(information: Any) -> int:
        block = pointed(information)
        assert int.from_bytes(bytes(block)[:4], "little") == ctypes.sizeof(block) == 284  # OSVERSIONINFOEXW
        data = b"".join(value.to_bytes(4, "little") for value in (284, 10, 0, build, 2))
        write(information, data + bytes(256 + 6) + bytes([product_type, 0]))
        return status

    return call


def test_windows_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_windows, "registry", lambda key, value: "Windows 10 Pro")
    answer = live_windows.api("windows-version", loader(ntdll=Dll(RtlGetVersion=version_call(26100, 1))))
    assert answer == {"major": 10, "minor": 0, "build": 26100, "product": "Windows 10 Pro", "server": False}


def test_windows_version_of_a_server_without_a_product_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_windows, "registry", lambda key, value: Missing("absent"))
    answer = live_windows.api("windows-version", loader(ntdll=Dll(RtlGetVersion=version_call(20348, 3))))
    assert (answer["build"], answer["product"], answer["server"]) == (20348, None, True)


def test_windows_version_that_fails() -> None:
    dlls = loader(ntdll=Dll(RtlGetVersion=version_call(0, 0, status=-1)))
    assert live_windows.api("windows-version", dlls).reason == "probe-failed"


BALANCED = "381b4222-f694-41f0-9685-ff5bb260df2e"


def test_power_scheme_and_its_name_and_nothing_leaks() -> None:
    plans = PowerPlans(BALANCED, "Ausbalanciert")
    assert live_windows.api("power-scheme", plans.dlls()) == {"guid": BALANCED, "name": "Ausbalanciert"}
    assert plans.freed == 1


def test_power_scheme_without_a_name_keeps_its_guid() -> None:
    plans = PowerPlans(BALANCED, None)
    assert live_windows.api("power-scheme", plans.dlls()) == {"guid": BALANCED, "name": ""}
    assert plans.freed == 1


def test_power_scheme_that_is_not_implemented() -> None:
    answer = live_windows.api("power-scheme", PowerPlans(BALANCED, "", status=120).dlls())
    assert answer == Missing("probe-failed", "PowerGetActiveScheme answered 120")


@pytest.mark.parametrize(
    ("line", "flags", "percent", "expected"),
    [
        (1, 128, 255, {"plugged": True, "percent": None}),  # a desktop
        (255, 128, 255, {"plugged": True, "percent": None}),  # a guest that is not told
        (0, 0, 37, {"plugged": False, "percent": 37}),
        (1, 8, 80, {"plugged": True, "percent": 80}),
        (255, 255, 255, {"plugged": None, "percent": None}),
    ],
)
def test_battery(line: int, flags: int, percent: int, expected: dict[str, Any]) -> None:
    def call(status: Any) -> int:
        write(status, bytes([line, flags, percent, 0]) + b"\xff" * 8)
        return 1

    assert live_windows.api("battery", loader(kernel32=Dll(GetSystemPowerStatus=call))) == expected


def test_battery_that_fails() -> None:
    dlls = loader(kernel32=Dll(GetSystemPowerStatus=lambda status: 0))
    assert live_windows.api("battery", dlls).reason == "probe-failed"


def structure(kind: int, fields: bytes, *strings: str) -> bytes:
    texts = b"".join(text.encode() + b"\0" for text in strings) or b"\0"
    return bytes([kind, 4 + len(fields), 0, 0]) + fields + texts + b"\0"


SYSTEM = structure(
    1, bytes([1, 2, 0, 3]) + b"\xaa" * 16 + bytes([6, 0, 0]), "ASUS", "ProArt X670E", "SERIAL-SYSTEM"
)
OEM = structure(11, bytes([1]), "SERVICE-TAG-1")
MODULE = structure(
    17, bytes(12) + bytes([1, 2, 0x22, 0, 0, 0, 0, 3, 4, 5, 6]), "DIMM_A2", "P0 CHANNEL A", "G.Skill", "SERIAL-DIMM",
    "ASSET-7", "F5-6000J3038F16G",
)  # fmt: skip
TABLE = SYSTEM + OEM + MODULE + structure(127, b"")


def firmware(table: bytes, *, claim: int | None = None) -> Callable[..., int]:
    header = bytes([0, 3, 5, 0]) + (len(table) if claim is None else claim).to_bytes(4, "little")

    def call(provider: int, table_id: int, buffer: Any, size: int) -> int:
        assert (provider, table_id) == (0x52534D42, 0)
        if buffer is not None and size >= len(header + table):
            ctypes.memmove(buffer, header + table, len(header + table))
        return len(header + table)

    return call


def test_firmware_table_comes_without_serials() -> None:
    answer = live_windows.api("firmware-table", loader(kernel32=Dll(GetSystemFirmwareTable=firmware(TABLE))))
    raw = base64.b64decode(answer)
    for secret in (b"SERIAL", b"ASSET", b"SERVICE-TAG", b"\xaa"):
        assert secret not in raw
    for kept in (b"ProArt X670E", b"DIMM_A2", b"P0 CHANNEL A", b"G.Skill", b"F5-6000J3038F16G"):
        assert kept in raw
    assert int.from_bytes(raw[4:8], "little") == len(raw) - 8 == len(TABLE) - len(OEM)
    assert json.dumps(answer)


@pytest.mark.parametrize("call", [firmware(TABLE, claim=10**6), firmware(b"\x11\x02"), lambda *arguments: 0])
def test_a_broken_firmware_table_is_missing(call: Callable[..., int]) -> None:
    answer = live_windows.api("firmware-table", loader(kernel32=Dll(GetSystemFirmwareTable=call)))
    assert isinstance(answer, Missing)


def test_system_folder_is_what_windows_says() -> None:
    def call(buffer: Any, size: int) -> int:
        text = "C:\\Windows\\System32"
        ctypes.memmove(buffer, text.encode("utf-16-le"), 2 * len(text))
        return len(text)

    assert live_windows.system_folder(loader(kernel32=Dll(GetSystemDirectoryW=call))) == "C:\\Windows\\System32"


REGISTRY = Registry(
    {
        r"HKLM\A\B": {"text": "x", "number": 0, "bytes": b"\x01\xff", "lines": ["a", "b"], "nothing": None},
        r"HKLM\A\C\D": {},
        r"HKCU\E": {},
    },
    denied=(r"HKLM\SAM",),
)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (r"HKLM\A\B", "text", "x"),
        (r"HKLM\A\B", "number", 0),
        (r"HKLM\A\B", "bytes", "01ff"),
        (r"HKLM\A\B", "lines", "a\nb"),
        (r"HKLM\A\B", "nothing", Missing("absent")),
        (r"HKLM\A\B", "other", Missing("absent")),
        (r"HKLM\A\X", "text", Missing("absent")),
        (r"HKLM\SAM", "text", Missing("needs-root")),
        (r"HKXX\A", "text", Missing("probe-failed", "no hive is named 'HKXX'")),
    ],
)
def test_registry(key: str, value: str, expected: object) -> None:
    assert registry(key, value, REGISTRY) == expected


def test_registry_keys() -> None:
    assert registry_keys(r"HKLM\A", REGISTRY) == ("B", "C")
    assert registry_keys(r"HKCU\E", REGISTRY) == ()
    assert registry_keys(r"HKLM\X", REGISTRY) == Missing("absent")
