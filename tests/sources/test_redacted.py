"""Canaries in every kind of source: what a probe can be answered holds none of them."""

from __future__ import annotations

import base64
import struct
from typing import Any

import msgspec
import pytest

from doctor.probes.collect import collect
from doctor.sources.base import Access, Missing, Source
from doctor.sources.recorder import Recorder
from doctor.sources.recording import RecordingSource
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import Redactor

UUID = "deadbeef-1234-4abc-8def-0123456789ab"
CANARIES = {
    "user": "canaryuser",
    "host": "canaryhost",
    "home": "/home/canaryuser",
    "uuid": UUID,
    "mac": "00:16:3e:aa:bb:cc",
    "ip": "192.168.77.66",
    "serial": "CANARYSERIAL9",
    "token": "canarytoken",
    "label": "CanaryDisk",
}
TEXT = (
    f"BOOT_IMAGE=/boot/x root=UUID={UUID} ip=192.168.77.66 systemd.hostname=canaryhost rd.luks.uuid=luks-{UUID} quiet\n"
    "31 25 0:27 / /media/canaryuser/CanaryDisk rw - nfs4 canaryhost:/home/canaryuser rw,addr=192.168.77.66\n"
    f"0::/user.slice/canaryuser.scope/app-{UUID}.scope\n"
    "Serial Number: CANARYSERIAL9\n"
    "E:ID_SERIAL=CANARYSERIAL9\nE:ID_FS_LABEL=CanaryDisk\nE:ID_NET_NAME_MAC=enx00163eaabbcc\n"
    "https://canaryuser:canarytoken@192.168.77.66/simple?token=canarytoken 00:16:3e:aa:bb:cc\n"
    "/home/canaryuser/venv/lib/libgomp.so.1 owned by canaryuser on CANARYHOST\n"
)
JSON = {
    "executable": "/home/canaryuser/venv/bin/python",
    "stderr": TEXT,
    "facts": {"libraries": [{"path": "/home/canaryuser/lib.so", "name": "libgomp"}], "/home/canaryuser/k": 1},
    "hostname": "canaryhost",
    "serial": "CANARYSERIAL9",
}


def smbios() -> bytes:
    def structure(kind: int, body: bytes, *strings: bytes) -> bytes:
        return bytes([kind, 4 + len(body), 0, kind]) + body + b"".join(s + b"\0" for s in strings) + b"\0" * (
            1 if strings else 2
        )

    uuid = bytes.fromhex(UUID.replace("-", ""))
    system = structure(1, b"\1\2\0\3" + uuid + b"\6\0\0", b"Board", b"A", b"CANARYSERIAL9")
    module = bytearray(0x28 - 4)
    module[0x17 - 4 : 0x1B - 4] = bytes([1, 2, 3, 4])  # manufacturer, serial number, asset tag, part number
    device = structure(17, bytes(module), b"Kingston", b"CANARYSERIAL9", b"CanaryDisk", b"KF556C36-16")
    other = structure(11, b"\1", b"service tag CANARYSERIAL9")
    return system + device + other + structure(127, b"")


def canary_source(platform: str = "linux") -> RedactedSource:
    raw: dict[str, Any] = {
        "platform": platform,
        "files": {
            "/proc/cmdline": TEXT,
            "/proc/self/cgroup": TEXT,
            "/proc/self/mountinfo": TEXT,
            "/run/udev/data/+dmi:id": TEXT,
            "/etc/os-release": 'NAME="Debian"\nHOSTNAME=canaryhost\n',
            "/sys/class/dmi/id/product_serial": "CANARYSERIAL9\n",
            "/sys/class/dmi/id/product_uuid": UUID + "\n",
            "/sys/class/drm/card0/device/unique_id": "deadbeef1234\n",
            "/sys/firmware/dmi/tables/DMI": {"base64": base64.b64encode(smbios()).decode()},
            "/sys/binary": {"base64": base64.b64encode(b"\xff\xfe" + TEXT.encode()).decode()},
        },
        "folders": {"/dev/disk/by-uuid": [UUID], "/home": ["canaryuser"]},
        "access": {"/dev/kfd": {"exists": True, "gid": 1000, "group": "canaryuser"}},
        "commands": {
            "dmidecode": {"status": 0, "stdout": TEXT, "stderr": TEXT},
            "powershell-cim": {"status": 0, "stdout": msgspec.json.encode(JSON).decode()},
        },
        "env": {"LD_LIBRARY_PATH": "/home/canaryuser/lib:/opt", "HIP_PATH": TEXT},
        "registry": {"HKLM\\Software\\X": {"Owner": "canaryuser", "Path": "C:\\Users\\canaryuser\\x"}},
        "registry_keys": {"HKLM\\Software\\X": ["canaryhost"]},
        "api": {
            "uname": {"version": "(canaryuser@canaryhost) #1"},
            "identity": {"group_names": ["canaryuser", "video"]},
            "power-scheme": {"guid": "381b4222-f694-41f0-9685-ff5bb260df2e", "name": "canaryuser's plan"},
        },
        "exercises": {"interpreter": JSON, "cpu": {"events": [{"event": "end", "detail": TEXT}]}},
        "missing": {"probe-failed": ["text:/broken"]},
        "details": {"text:/broken": TEXT},
    }
    redactor = Redactor(["canaryuser"], ["canaryhost"], ["/home/canaryuser"])
    return RedactedSource(RecordingSource(raw, "test"), redactor)


FILES = ["/proc/cmdline", "/proc/self/cgroup", "/proc/self/mountinfo", "/run/udev/data/+dmi:id", "/etc/os-release"]
FILES += ["/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/product_uuid", "/sys/class/drm/card0/device/unique_id"]
FILES += ["/sys/firmware/dmi/tables/DMI", "/sys/binary", "/broken"]

QUESTIONS: dict[str, Any] = {
    **{f"text {path}": lambda s, path=path: s.text(path) for path in FILES},
    "data": lambda s: s.data("/sys/firmware/dmi/tables/DMI"),
    "data of text": lambda s: s.data("/proc/cmdline"),
    "binary": lambda s: s.data("/sys/binary"),
    "names": lambda s: s.names("/dev/disk/by-uuid"),
    "names of homes": lambda s: s.names("/home"),
    "access": lambda s: s.access("/dev/kfd"),
    "command": lambda s: s.command("dmidecode"),
    "command json": lambda s: s.command("powershell-cim"),
    "environment": lambda s: s.environment(),
    "registry": lambda s: s.registry("HKLM\\Software\\X", "Owner"),
    "registry path": lambda s: s.registry("HKLM\\Software\\X", "Path"),
    "registry keys": lambda s: s.registry_keys("HKLM\\Software\\X"),
    "uname": lambda s: s.api("uname"),
    "identity": lambda s: s.api("identity"),
    "power-scheme": lambda s: s.api("power-scheme"),
    "interpreter": lambda s: s.exercise("interpreter"),
    "cpu": lambda s: s.exercise("cpu"),
}


def leaks(answer: object) -> list[str]:
    """The canaries in an answer, whatever it is made of."""
    if isinstance(answer, bytes):
        answer = answer.decode("latin-1")
    seen = repr(msgspec.to_builtins(answer)).lower()
    compact = CANARIES["uuid"].replace("-", "")
    known = {**CANARIES, "uuid without dashes": compact, "interface": "00163eaabbcc", "unique": "deadbeef1234"}
    return [name for name, value in known.items() if value.lower() in seen]


@pytest.mark.parametrize("asked", QUESTIONS)
def test_no_answer_holds_a_canary(asked: str) -> None:
    answer = QUESTIONS[asked](canary_source())
    assert not isinstance(answer, Missing) or answer.detail
    assert leaks(answer) == []


def test_the_canaries_are_seen_without_redaction() -> None:
    raw = canary_source()._inner
    assert all(leaks(ask(raw)) for ask in QUESTIONS.values())


def test_facts_beside_the_canaries_stay() -> None:
    source = canary_source()
    assert "quiet" in (source.text("/proc/cmdline") or "")
    table = source.data("/sys/firmware/dmi/tables/DMI") or b""
    assert b"KF556C36-16" in table and b"Kingston" in table
    assert source.environment()["LD_LIBRARY_PATH"] == "~/lib:/opt"  # type: ignore[index]
    assert source.access("/dev/kfd") == Access(exists=True, gid=1000, group="user-1")
    interpreter = source.exercise("interpreter")
    assert interpreter["executable"] == "~/venv/bin/python"  # type: ignore[index]
    assert source.api("power-scheme")["guid"] == "381b4222-f694-41f0-9685-ff5bb260df2e"  # type: ignore[index]
    assert source.api("identity") == {"group_names": ["user-1", "video"]}


@pytest.mark.parametrize("platform", ["linux", "windows", "macos"])
def test_neither_document_nor_recording_holds_a_canary(platform: str) -> None:
    recorder = Recorder(canary_source(platform))
    collected = collect(recorder)
    assert leaks(collected) == []
    assert leaks(recorder.recording()) == []


def test_an_exception_of_a_probe_holds_no_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.sources import personal_names

    known = Redactor(["canaryuser"], ["canaryhost"], ["/home/canaryuser"])
    monkeypatch.setattr(personal_names, "redactor_of_this_machine", lambda: known)

    def broken(source: Source) -> Any:
        raise ValueError(TEXT)

    collected = collect(canary_source(), (("broken", broken),))
    assert [crash.part for crash in collected.crashed] == ["probe:broken"]
    assert leaks(collected) == []


def test_a_path_with_a_pseudonym_leads_to_the_real_file() -> None:
    group = f"/user.slice/canaryuser.slice/app-{UUID}.scope"
    files = {"/proc/self/cgroup": f"0::{group}\n", f"/sys/fs/cgroup{group}/cpu.max": "max 100000\n"}
    inner = RecordingSource({"files": files}, "test")
    source = RedactedSource(inner, Redactor(["canaryuser"]))
    shown = (source.text("/proc/self/cgroup") or "").removeprefix("0::").strip()
    assert shown == "/user.slice/user-1.slice/app-uuid-1.scope"
    assert source.text(f"/sys/fs/cgroup{shown}/cpu.max") == "max 100000\n"
    assert source.names(f"/sys/fs/cgroup{shown}") == ("cpu.max",)


def test_flags_are_nobodys_name() -> None:
    files = {"/proc/cpuinfo": "flags\t\t: abm svm"}
    inner = RecordingSource({"files": files, "api": {"cpuinfo": {"flags": ["abm"]}}}, "test")
    source = RedactedSource(inner, Redactor(users=["abm"], hosts=["svm"]))
    assert source.text("/proc/cpuinfo") == "flags\t\t: abm svm"
    assert source.api("cpuinfo") == {"flags": ["abm"]}


def test_what_cannot_be_taken_apart_is_not_given() -> None:
    raw = base64.b64encode(struct.pack("<BB", 17, 200) + b"CANARYSERIAL9").decode()
    inner = RecordingSource({"files": {"/sys/firmware/dmi/tables/DMI": {"base64": raw}}}, "test")
    assert RedactedSource(inner, Redactor()).data("/sys/firmware/dmi/tables/DMI") == Missing(
        "probe-failed", "not an SMBIOS table"
    )


def test_serial_numbers_of_gpus_are_not_in_the_topology_of_the_driver() -> None:
    path = "/sys/class/kfd/kfd/topology/nodes/1/properties"
    text = "simd_count 28\nunique_id 14073402523492187422\nhive_id 77\ngfx_target_version 90012\n"
    redacted = RedactedSource(RecordingSource({"files": {path: text}}, "test"), Redactor())
    assert redacted.text(path) == "simd_count 28\nunique_id 0\nhive_id 0\ngfx_target_version 90012\n"


def test_serial_numbers_of_gpus_are_not_in_what_the_tools_say() -> None:
    commands = {
        "rocminfo": {"status": 0, "stdout": "  Uuid:                    GPU-5c8ccanary\n  Name:   gfx1100\n"},
        "amd-smi": {"status": 0, "stdout": '[{"asic": {"asic_serial": "0xCANARY", "device_id": "0x744c"}}]'},
        "rocm-smi": {"status": 0, "stdout": '{"card0": {"Unique ID": "0xcanary", "Device ID": "0x744c"}}'},
    }
    redacted = RedactedSource(RecordingSource({"commands": commands}, "test"), Redactor())
    for name in commands:
        answer = redacted.command(name)
        assert not isinstance(answer, Missing)
        assert "canary" not in answer.stdout.lower()
        assert "gfx1100" in answer.stdout or "0x744c" in answer.stdout


def test_what_several_probes_ask_is_redacted_once() -> None:
    class Counting(Redactor):
        asked = 0

        def json(self, value: Any, own_keys: frozenset[str] = frozenset(), key: str = "") -> Any:
            self.asked += not key and isinstance(value, dict)
            return super().json(value, own_keys, key)

    redactor = Counting(homes=("/home/canaryuser",))
    recording = {"exercises": {"interpreter": {"executable": "/home/canaryuser/p"}}}
    source = RedactedSource(RecordingSource(recording, "test"), redactor)
    answers = [source.exercise("interpreter") for _ in range(3)]
    assert answers == [{"executable": "~/p"}] * 3
    assert redactor.asked == 1
    assert source.exercise("cpu") == source.exercise("cpu") == Missing("not-in-source")
