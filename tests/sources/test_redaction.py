from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from uuid import UUID as UUIDValue

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from doctor.sources.personal_patterns import KEYED_WORD, SECRETS, TOKENS
from doctor.sources.product_words import PRODUCT_WORDS
from doctor.sources.redaction import KEYS_OF_EXERCISES, Redactor

UUID = "1234abcd-12ab-34cd-56ef-1234567890ab"


def redactor(**more: object) -> Redactor:
    parts: dict[str, object] = {
        "users": ["jdoe", "Jane Doe", "amd"],
        "hosts": ["tower.corp.example", "tower", "corp.example"],
        "homes": ["/home/jdoe", "/var/home/jdoe"],
    }
    return Redactor(**(parts | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/jdoe", "~"),
        ("/home/jdoe/venv/bin:/var/home/jdoe/bin", "~/venv/bin:~/bin"),
        ("file:///home/jdoe/x.whl", "file://~/x.whl"),
        ("in /home/jdoe.", "in ~."),
        ("/home/jdoe2/x /home/jdoe.old /mnt/home/jdoe/x", "/home/user-1/x /home/user-2 /mnt/home/user-3/x"),
        ("C:\\Users\\Bob\\AppData", "C:\\Users\\user-1\\AppData"),
        ("C:\\\\Users\\\\Ann Lee\\\\x", "C:\\\\Users\\\\user-1\\\\x"),
        ("C:/Users/Public/x C:\\Users\\Default\\y", "C:/Users/Public/x C:\\Users\\Default\\y"),
        ("/run/media/bob/Holiday/x", "/run/media/user-1/label-1/x"),
        ("/opt/rocm/lib /usr/home /usr/share/media/x", "/opt/rocm/lib /usr/home /usr/share/media/x"),
        ("%2Fhome%2Fann%20lee%2Fx and /home/Ann Lee", "%2Fhome%2Fuser-1%2Fx and /home/user-2 Lee"),
        ("file:///C%3A/Users/bob/x", "file:///C%3A/Users/user-1/x"),
        (r"C:\\\\Users\\\\bob", r"C:\\\\Users\\\\user-1"),
        ("root=/dev/disk/by-label/Holiday ro", "root=/dev/disk/by-label/label-1 ro"),
        ("/dev/disk/by-id/nvme-X_S7KHNJ0W1", "/dev/disk/by-id/serial-1"),
        ("root=/dev/mapper/tower--vg-root zfs=pool/ROOT", "root=/dev/mapper/label-1 zfs=label-2"),
    ],
)
def test_folders(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user jdoe logged in", "user user-1 logged in"),
        ("Jane Doe and jdoe", "user-1 and user-2"),
        ("jdoe@tower:/data", "user-1@host-1:/data"),
        ("nfs TOWER:/export", "nfs host-1:/export"),
        ("rd.lvm.lv=vg_tower/root", "rd.lvm.lv=label-1"),
        ("JDOE, JDoe", "user-1, user-1"),
        (r"a\njdoe\t/home\/jdoe/x \u002fhome\u002fjdoe\u002fx", r"a\nuser-1\t~/x ~\u002fx"),
        ("%2Fhome%2Fjdoe%2Fx ?by=Jane%20Doe", "~%2Fx ?by=user-1"),
        ("tower.corp.example", "host-1"),
        ("xjdoe jdoex jdoe1 towers", "xjdoe jdoex jdoe1 towers"),
        ("jdoe=1 amdgpu.tower=2", "jdoe=1 amdgpu.tower=2"),
        ("jdoe: permission denied", "jdoe: permission denied"),
        ("AMD Ryzen, driver amd", "AMD Ryzen, driver amd"),
    ],
)
def test_names(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


def test_a_text_without_keys_loses_a_name_before_a_colon() -> None:
    assert redactor().text("jdoe: permission denied", keyed=False) == "user-1: permission denied"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"ro root=UUID={UUID} quiet", "ro root=UUID=uuid-1 quiet"),
        (f"resume=UUID={UUID} root=PARTUUID=0a1b2c3d-02", "resume=UUID=uuid-1 root=PARTUUID=uuid-2"),
        ("root=UUID=ABCD-1234 ro root=LABEL=Home", "root=UUID=uuid-1 ro root=LABEL=label-1"),
        (f"rd.luks.uuid=luks-{UUID}", "rd.luks.uuid=uuid-1"),
        ("systemd.hostname=box ip=10.0.0.5::10.0.0.1", "systemd.hostname=host-1 ip=ip-1::ip-2"),
        ("BOOTIF=01-00-11-22-33-44-55", "BOOTIF=mac-1"),
        ("initrd=\\0123456789abcdef0123456789abcdef\\6.1\\linux", "initrd=\\uuid-1\\6.1\\linux"),
        ("amdgpu.ppfeaturemask=0xffffffff isolcpus=1-3", "amdgpu.ppfeaturemask=0xffffffff isolcpus=1-3"),
    ],
)
def test_kernel_command_lines(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\tSerial Number: 12 AB\n\tPart Number: F4-3600\n", "\tSerial Number: serial-1\n\tPart Number: F4-3600\n"),
        ("\tAsset Tag: x\n\tUUID: 1-2", "\tAsset Tag: serial-1\n\tUUID: uuid-1"),
        ("E:ID_SERIAL_SHORT=WD 1\nE:ID_FS_LABEL=My Disk", "E:ID_SERIAL_SHORT=serial-1\nE:ID_FS_LABEL=label-1"),
        (
            "E:MEMORY_DEVICE_0_SERIAL_NUMBER=AB12\nE:MEMORY_DEVICE_0_PART_NUMBER=KF556C36-16",
            "E:MEMORY_DEVICE_0_SERIAL_NUMBER=serial-1\nE:MEMORY_DEVICE_0_PART_NUMBER=KF556C36-16",
        ),
        ("\tID: 12 0F A2 00 FF FB 8B 17", "\tID: 12 0F A2 00 FF FB 8B 17"),
        ("\tPort Type: Serial Port 16550A Compatible", "\tPort Type: Serial Port 16550A Compatible"),
    ],
)
def test_serial_numbers(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ether 00:1A:2b:3c:4d:5e up", "ether mac-1 up"),
        ("NCCL_SOCKET_IFNAME enx001a2b3c4d5e", "NCCL_SOCKET_IFNAME mac-1"),
        ("gloo to 192.168.1.7 and 10.1.2.3", "gloo to ip-1 and ip-2"),
        ("10.1.2.3", "ip-1"),
        ("nvidia-curand-cu12       10.3.2.106", "nvidia-curand-cu12       10.3.2.106"),
        ("0016.3eaa.bbcc, not 2024.0101.1234", "mac-1, not 2024.0101.1234"),
        ("ip=dhcp ip=192.168.1.9::10.0.0.1:255.255.255.0:box7:eth0", "ip=dhcp ip=ip-1::ip-2:255.255.255.0:host-1:eth0"),
        ("\\\\srv01\\share\\x https://nexus.corp.example/simple", "\\\\host-2\\share\\x https://host-1/simple"),
        ("https://download.pytorch.org/whl/cpu http://localhost:1", "https://download.pytorch.org/whl/cpu http://localhost:1"),
        ("DESKTOP-4F5G6H7 and WIN-AMD64", "host-1 and WIN-AMD64"),
        ("203.0.113.9:29500 tcp://8.8.8.8/", "ip-1:29500 tcp://ip-2/"),
        ("fe80::1 2001:db8:0:1::7", "ip-1 ip-2"),
        ("127.0.0.1 0.0.0.0 ::1 ::", "127.0.0.1 0.0.0.0 ::1 ::"),
        ("nvidia-curand==10.3.2.106 cublas-12.1.3.1", "nvidia-curand==10.3.2.106 cublas-12.1.3.1"),
        ("driver 32.0.12033.1030, version: 64.1.2.3", "driver 32.0.12033.1030, version: 64.1.2.3"),
        ("0000:03:00.0 12:30:45 c10::add 0::/user.slice", "0000:03:00.0 12:30:45 c10::add 0::/user.slice"),
        ("mail jdoe@corp.org, unit user@1000.service", "mail email-1, unit user@1000.service"),
        ("S-1-5-21-1004336348-1177238915-682003330-512", "sid-1"),
    ],
)
def test_addresses(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:pw@pypi.org/simple", "https://removed@pypi.org/simple"),
        ("https://pypi.org/w.whl?token=abc&a=1", "https://pypi.org/w.whl?token=removed&a=1"),
        ("https://x.org/w.whl?token=abc&a=1", "https://host-1/w.whl?token=removed&a=1"),
        ("HF hf_abcdefghijklmnopqrstuvwx", "HF removed"),
        ("--password=abc", "--password=removed"),
        ("Authorization: Bearer abcdefghij123", "Authorization: Bearer removed"),
        ('password: "hunter2", next', 'password: "removed", next'),
        ("jwt eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSM", "jwt removed"),
        ("SK-hynix_PC801_NVMe_disk", "SK-hynix_PC801_NVMe_disk"),
    ],
)
def test_secrets(text: str, expected: str) -> None:
    assert redactor().text(text) == expected


def test_container_groups_of_kubernetes_lead_back() -> None:
    path = f"/kubepods.slice/kubepods-burstable-pod{UUID.replace('-', '_')}.slice/x"
    known = redactor()
    shown = known.text(path)
    assert shown == "/kubepods.slice/kubepods-burstable-poduuid-1.slice/x"
    assert path in known.restored(shown)
    assert known.restored("~/x")[:2] == ("/home/jdoe/x", "/var/home/jdoe/x")
    assert known.restored("/sys/devices") == ("/sys/devices",)


def test_one_value_has_one_pseudonym() -> None:
    known = redactor()
    assert known.text(f"{UUID} {UUID.upper()} {UUID.replace('1', '2')}") == "uuid-1 uuid-1 uuid-2"
    assert known.json({"a": [UUID], "serial": "7"}) == {"a": ["uuid-1"], "serial": "serial-1"}
    assert known.removed == {"serial": 1, "uuid": 2}


def test_a_pseudonym_that_stands_there_is_not_given_again() -> None:
    known = Redactor(users=["jdoe"], before="user-7 owns it, not user-2")
    assert known.text("user-7, jdoe") == "user-7, user-8"


def test_what_was_removed_can_be_told_to_its_owner() -> None:
    known = redactor()
    known.text("/home/jdoe/x of jdoe https://me:pw@pypi.org/ https://me:pw@pypi.org/")
    assert known.removals.counts == {"home": 1, "secret": 1, "user": 1}
    assert known.removals.rows == (("~", "/home/jdoe"), ("user-1", "jdoe"))


def test_versions_are_no_addresses() -> None:
    known = redactor()
    plain = {"DriverVersion": "10.1.1.45", "address": "10.1.1.45", "api_token": "abc", "macaddress": "001122334455"}
    assert known.json(plain) == {
        "DriverVersion": "10.1.1.45",
        "address": "ip-1",
        "api_token": "removed",
        "macaddress": "mac-1",
    }


def test_json_keeps_its_keys_and_the_names_of_packages() -> None:
    known = redactor(users=["rich", "jdoe"])
    plain = {"packages": [{"name": "rich", "version": "12.1.3.1", "location": "/home/jdoe/lib"}], "rich": "by rich"}
    assert known.json(plain, KEYS_OF_EXERCISES) == {
        "packages": [{"name": "rich", "version": "12.1.3.1", "location": "~/lib"}],
        "rich": "by user-1",
    }
    assert known.json({"/home/jdoe/x": 1, "n": 2.5, "t": True, "z": None}) == {"~/x": 1, "n": 2.5, "t": True, "z": None}


def test_an_error_is_one_line() -> None:
    error = FileNotFoundError(2, "No such file", "/home/jdoe/a\nb")
    assert redactor().error(error) == "FileNotFoundError: [Errno 2] No such file: '~/a\\nb'"
    assert "\n" not in redactor().error(ValueError("a\nb"))


@pytest.mark.parametrize("home", ["/", "/tmp", "", "/usr", "/nonexistent"])
def test_a_home_that_is_nobodys_own_stays(home: str) -> None:
    assert Redactor(homes=[home]).text("/tmp/x /usr/lib / /nonexistent") == "/tmp/x /usr/lib / /nonexistent"


def test_the_home_of_root() -> None:
    known = Redactor(users=["root"], homes=["/root"])
    assert known.text("/root/venv root=/dev/sda1 /sys/root /rootfs") == "~/venv root=/dev/sda1 /sys/root /rootfs"


def test_windows_does_not_tell_cases_apart() -> None:
    known = Redactor(users=["Jane"], homes=["C:\\Users\\Jane"])
    assert known.text("c:\\users\\jane\\venv; JANE") == "~\\venv; user-1"


# Names that are words of the trade

TRADE = ["amd", "max", "root", "ryzen", "gpu", "torch", "home"]


def test_users_called_like_products_change_no_recorded_text(shared: Path) -> None:
    plain, known = Redactor(), Redactor(users=TRADE, hosts=TRADE)
    texts = [*(shared / "corpus/cpuinfo").glob("*.txt"), *(shared / "corpus/lscpu/linuxhw").glob("*.txt")]
    texts += [*(shared / "corpus/memory").rglob("*.txt"), *(shared / "corpus/gpu/rocminfo").glob("*.txt")]
    assert len(texts) > 100
    for path in texts:
        text = path.read_text(errors="replace")
        assert known.text(text) == plain.text(text)


@pytest.mark.parametrize("name", TRADE)
def test_their_homes_are_taken_out_nevertheless(name: str) -> None:
    known = Redactor(users=[name], hosts=[name], homes=[f"/home/{name}"])
    text = f"/home/{name}/{name}/x AMD Ryzen AI MAX+ {name} PYTORCH_{name.upper()}=1"
    assert known.text(text) == f"~/{name}/x AMD Ryzen AI MAX+ {name} PYTORCH_{name.upper()}=1"


def test_foreign_material_keeps_its_facts(shared: Path) -> None:
    """Patterns alone change nothing in a recorded text but what is personal."""
    changed = set()
    for path in [*(shared / "corpus/cpuinfo").glob("*.txt"), *(shared / "corpus/memory").rglob("*.txt")]:
        text = path.read_text(errors="replace")
        lines = zip(text.splitlines(), Redactor().text(text).splitlines(), strict=True)
        changed |= {before.split(":")[0].strip() for before, after in lines if before != after}
    redfish = {"Redfish Service Hostname", "IPv4 Redfish Service Address", "Service UUID", "IPv4 Address", "0" * 32}
    assert changed <= {"Serial Number", "Asset Tag", "UUID"} | redfish


# Properties

NAME = st.from_regex(r"[a-z][a-z0-9]{2,11}", fullmatch=True).filter(
    lambda name: name not in PRODUCT_WORDS and not re.fullmatch(r"(?:user|host|removed|[a-f0-9]{3,})", name)
)
FREE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30)
PLACES = [
    "/home/{}/venv/lib",
    "/data/{}/models",
    "BOOT_IMAGE=/boot/vmlinuz root=/dev/mapper/vg-{} ro",
    "0::/user.slice/{}.scope",
    "31 25 0:27 / /mnt/{} rw - nfs4 {}:/export rw",
    "FileNotFoundError: [Errno 2] No such file or directory: '/srv/{}/x.so'",
    "owner: {}",
    "({}@{}) #1 SMP",
    "/media/{}/Disk",
    "C:\\Users\\{}\\AppData\\Local",
    "E:DEVLINKS=/dev/disk/by-label/{}",
]


def whole_word(name: str, text: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE) is not None


@given(NAME, NAME, st.sampled_from(PLACES), st.booleans())
def test_no_name_survives_as_a_word(user: str, host: str, place: str, keyed: bool) -> None:
    assume(not whole_word(user, place) and not whole_word(host, place) and user != host)
    known = Redactor(users=[user], hosts=[host], homes=[f"/home/{user}"])
    for name in (user, host):
        assert not whole_word(name, known.text(place.replace("{}", name), keyed=keyed))


@given(NAME, st.lists(st.sampled_from([*PLACES, "text", UUID, "00:11:22:33:44:55", "Serial Number: 12"]) | FREE))
def test_redaction_is_done_once(name: str, pieces: list[str]) -> None:
    known = Redactor(users=[name], homes=[f"/home/{name}"])
    for keyed in (True, False):
        once = known.text("\n".join(pieces).replace("{}", name), keyed=keyed)
        assert known.text(once, keyed=keyed) == once


@given(NAME, st.sampled_from(["{}x", "x{}", "1{}", "{}7", "ab{}cd"]))
def test_a_part_of_a_word_stays(name: str, word: str) -> None:
    text = f"see {word.format(name)} there"
    assume(not re.search(r"[0-9a-f]{32}", text))
    assert Redactor(users=[name], hosts=[name]).text(text) == text


@given(NAME, NAME)
def test_keys_stay(name: str, value: str) -> None:
    assume(name != value and not re.search("serial|uuid|label|name|wwid|wwn|token|key|secret|sig|auth|pass", name))
    known = Redactor(users=[name])
    assert known.text(f"{name}={value}") == f"{name}={value}"
    assert known.text(f"\t{name} : {value}\n") == f"\t{name} : {value}\n"
    assert known.json({name: 1}) == {name: 1}


HOSTILE = ["a", "a.", "a-", "1", "1.", "f:", "a@", "a=", "a_", " ", "\n", "serial ", "a://", "C:/Users/", "\t:"]
HOSTILE += ["/home/", "uuid-", "E:ID_", "\\", "?token=", "S-1-5-21-", "/media/a/"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_text_of_somebody_elses_making_is_scanned_once(piece: str) -> None:
    """A pattern that scans a word anew from each of its letters would need hours for these."""
    text = piece * (400_000 // len(piece))
    assert isinstance(redactor().text(text), str)


@given(FREE)
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(redactor().text(text), str)


MACS = st.from_regex(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", fullmatch=True)


@given(st.uuids(), MACS, st.ip_addresses(v=4), st.ip_addresses(v=6))
def test_identifiers_do_not_survive(uuid: UUIDValue, mac: str, four: IPv4Address, six: IPv6Address) -> None:
    words = re.split(r"[\s/]+", redactor().text(f"a {uuid} b {mac} c http://{four}/ d {six}"))
    assert not {str(uuid), mac} & set(words)
    assert int(four) >> 24 in (0, 127, 255) or str(four) not in words
    assert len(six.compressed.replace("::", ":").split(":")) < 4 or str(six) not in words


PIECES = ["https://", "user:pass@", "x.org", "?token=", "&", "api_key=", "abc123", " ", "\n", "hf_", "ghp_", "gho_"]
PIECES += ["github_pat_", "glpat-", "pypi-", "sk-", "xoxb-", "AKIA", "ABCDEFGHIJKLMNOP", "0123456789abcdef", "UUID="]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_the_quick_look_passes_over_nothing_that_the_patterns_would_find(text: str) -> None:
    for signs, pattern in SECRETS:
        assert not pattern.search(text) or any(sign in text.lower() for sign in signs)
    assert not KEYED_WORD.search(text) or "=" in text


def test_each_kind_of_secret_is_seen_by_the_quick_look() -> None:
    """The tokens of the pattern itself, so that a new one is not forgotten."""
    for token in TOKENS.split("|"):
        text = re.sub(r"\[(.).*\]", r"\1", token) + "Q1" * 12
        assert redactor().text(f"a {text}") == "a removed", token


def test_a_text_that_comes_again_is_replaced_by_the_same() -> None:
    known = redactor()
    once = [known.text(text) for text in ("a 00:16:3e:aa:bb:cc", "b 00:16:3e:aa:bb:dd", "a 00:16:3e:aa:bb:cc")]
    assert once == ["a mac-1", "b mac-2", "a mac-1"]
    keyed = [known.text("UUID: x", keyed=keyed) for keyed in (True, False, True)]
    assert keyed[0] == keyed[2]
