"""Values of an invented person and machine, planted wherever facts come from; none may come out anywhere."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

UUID = "deadbeef-1234-4abc-8def-0123456789ab"

CANARIES: Mapping[str, str] = {
    "user": "canaryuser",
    "real name": "Canary Birdname",
    "host": "canaryhost",
    "domain": "canarycorp.test",
    "index": "nexus.canaryindex.test",
    "uuid": UUID,
    "mac": "00:16:3e:ca:fe:42",
    "bare mac": "00163ecafe42",
    "ipv4": "192.168.177.66",
    "private ipv4": "10.77.66.55",
    "ipv6": "2001:db8:77:66::5",
    "serial": "CANARYSERIAL9",
    "token": "canarytoken4711",
    "hub token": "hf_CanaryCanaryCanary01",
    "password": "canarypassword",
    "label": "CanaryDisk",
    "email": "canary.mail@canarycorp.test",
    "sid": "S-1-5-21-1111111111-2222222222-3333333333-1001",
    "windows host": "DESKTOP-CNRY123",
}

#: One line that holds them all, each where it can be recognised.
LINE = (
    f"/home/canaryuser/venv/lib C:\\Users\\canaryuser\\x owned by canaryuser on canaryhost root=UUID={UUID}"
    " 00:16:3e:ca:fe:42 enx00163ecafe42 server 192.168.177.66 gateway 10.77.66.55 2001:db8:77:66::5"
    " https://canaryuser:canarytoken4711@nexus.canaryindex.test/simple?token=canarytoken4711 hf_CanaryCanaryCanary01"
    " --password=canarypassword /media/canaryuser/CanaryDisk /dev/disk/by-label/CanaryDisk"
    " canary.mail@canarycorp.test S-1-5-21-1111111111-2222222222-3333333333-1001 DESKTOP-CNRY123 serial=CANARYSERIAL9"
)

#: Lines with the keys by which some of them are known.
LINES = "\n".join(
    [
        LINE,
        LINE.upper().replace("HF_CANARYCANARYCANARY01", ""),
        "Host Name: canaryhost",
        "Domain: canarycorp.test",
        "Registered Owner: Canary Birdname",
        "by Canary Birdname, canaryhost.canarycorp.test",
        "Serial Number: CANARYSERIAL9",
        "E:ID_SERIAL=CANARYSERIAL9",
        "E:ID_FS_LABEL=CanaryDisk",
        "Asset Tag: CANARYSERIAL9",
        f"BOOT_IMAGE=/boot/x root=/dev/mapper/canaryhost--vg-root rd.luks.uuid=luks-{UUID}"
        " ip=192.168.177.66::10.77.66.55:255.255.255.0:canaryhost:eth0 systemd.hostname=canaryhost amdgpu.noretry=1",
        quote("file:///home/canaryuser/Canary Birdname/x"),
        "?path=%2Fhome%2Fcanaryuser%2Fx&host=canaryhost",
        json.dumps(f"x\ncanaryuser\t{LINE}"),
        json.dumps(json.dumps("C:\\Users\\canaryuser\\x \\\\canaryhost\\share")),
        "{\\u0022home\\u0022: \\u002fhome\\u002fcanaryuser}",
        "canaryuser@canaryhost:~/work$ python train.py",
        f"ImportError: /home/canaryuser/lib/libcanary.so: undefined symbol (canaryhost, {UUID})",
        "RuntimeError: HIP error: invalid device function, canaryuser@canaryhost 192.168.177.66",
        "",
    ]
)

#: Names that nothing in a foreign text tells to be one must not be asked for: a bare word may be anything.
_SHOWN = {name: value.lower() for name, value in CANARIES.items()}


def leaks(text: str) -> list[str]:
    """The canaries in a text, also those that are written in another way."""
    seen = text.lower()
    for again in (unquote(seen), html.unescape(seen), seen.replace("\\/", "/"), _unescaped(seen), _of_base64(text)):
        seen += "\n" + again.lower()
    return [name for name, value in _SHOWN.items() if value in seen or value.replace("-", "") in seen]


def _unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


def _of_base64(text: str) -> str:
    decoded = []
    for piece in re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text):
        content = base64.b64decode(piece.rstrip("=")[: len(piece.rstrip("=")) // 4 * 4])
        decoded += [content.decode("latin-1"), content.replace(b"\0", b"").decode("latin-1")]
    return "\n".join(decoded)


def planted(value: Any, *, whole: bool) -> Any:
    """A JSON value with canaries in, or in the place of, each of its strings. Keys stay."""
    if isinstance(value, Mapping):
        return {key: inner if key in _KEPT else planted(inner, whole=whole) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [planted(inner, whole=whole) for inner in value]
    if not isinstance(value, str) or value == "none":
        return value
    return LINE if whole else f"{value} {LINE}"


#: Values without which nothing is read any more.
_KEPT = frozenset({"schema", "platform", "cpus", "online", "kind", "base64", "event", "affinity", "cpuset_cpus"})


def planted_recording(recording: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    """A recording with canaries in every part; with `whole` nothing else is left in its texts."""
    parts = dict(recording)
    parts["files"] = {
        path: content if isinstance(content, Mapping) else (LINES if whole else f"{content.rstrip()}\n{LINES}")
        for path, content in recording.get("files", {}).items()
    }
    parts["files"] |= {
        "/etc/hostname": "canaryhost\n",
        "/sys/class/dmi/id/product_serial": "CANARYSERIAL9\n",
        "/sys/class/dmi/id/product_uuid": f"{UUID}\n",
        "/proc/cmdline": LINES.replace("\n", " "),
        "/etc/modprobe.d/canary.conf": f"options amdgpu canary={LINE}\n# {LINES}",
        "/proc/self/mountinfo": f"31 25 0:27 / / rw - overlay {LINE}\n",
    }
    parts["commands"] = {
        name: {**reply, "stdout": reply["stdout"] + "\n" + LINES, "stderr": LINES}
        for name, reply in recording.get("commands", {}).items()
    }
    parts["commands"]["dmidecode"] = {"status": 0, "stdout": LINES}
    for part in ("env", "registry", "api", "exercises"):
        if part in parts:
            parts[part] = planted(parts[part], whole=whole)
    parts["env"] = {**(parts.get("env") or {}), "HSA_OVERRIDE_GFX_VERSION": LINE, "MIOPEN_USER_DB_PATH": LINE}
    access = {"exists": True, "readable": False, "writable": False, "gid": 1000, "group": "canaryuser"}
    parts["access"] = {**recording.get("access", {}), "/dev/kfd": access}
    parts["missing"] = {"probe-failed": ["text:/broken", "command:rocminfo"]}
    parts["details"] = {"text:/broken": LINE, "command:rocminfo": LINE}
    return parts
