from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.machine.document import Document
from doctor.pasted.recognise import BadInput, Pasted, open_input
from doctor.probes.collect import collect
from doctor.sources.redacted import RedactedSource
from tests.sources.archives import CPUINFO, tar_of

DMIDECODE = """# dmidecode 3.3
Getting SMBIOS data from sysfs.

Handle 0x0011, DMI type 17, 40 bytes
Memory Device
	Total Width: 64 bits
	Size: 16 GB
	Locator: DIMM_A2
	Serial Number: CANARY9
	Part Number: F4-3600C16-16GTZNC
"""
DOCUMENT = {"schema": "amd-doctor/machine/1", "cpu": {"name": "AMD Ryzen 5 1600"}}
CHECK = {"schema": "amd-doctor/check/1", "version": "0.1.0", "machine": DOCUMENT, "findings": []}
RECORDING = {"schema": "amd-doctor/recording/1", "platform": "windows", "files": {"/a": "b"}}


def encoded(plain: Any) -> bytes:
    return msgspec.json.encode(plain)


def opened(folder: Path, data: bytes, name: str = "given") -> Any:
    (folder / name).write_bytes(data)
    return open_input(folder / name)


# What is recognised, whatever its name


@pytest.mark.parametrize(
    ("data", "kind", "platform"),
    [
        (tar_of({"m/proc/cpuinfo": CPUINFO}), "tree", "linux"),
        (tar_of({"m/proc/cpuinfo": CPUINFO}, mode="w"), "tree", "linux"),
        (tar_of({"m/proc/cpuinfo": CPUINFO}, mode="w:xz"), "tree", "linux"),
        (tar_of({"m/proc/cpuinfo": CPUINFO}, mode="w:bz2"), "tree", "linux"),
        (encoded(RECORDING), "recording", "windows"),
        (gzip.compress(encoded(RECORDING)), "recording", "windows"),
        (b"\xef\xbb\xbf\n  " + encoded(RECORDING), "recording", "windows"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sources(tmp_path: Path, data: bytes, kind: str, platform: str) -> None:
    source = opened(tmp_path, data, "x.dat")
    assert isinstance(source, RedactedSource)
    assert (source.origin.kind, source.origin.platform, source.origin.name) == (kind, platform, "x.dat")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (DMIDECODE.encode(), "dmidecode"),
        (lzma.compress(DMIDECODE.encode()), "dmidecode"),
        (DMIDECODE.replace("\n", "\r\n").encode("utf-16"), "dmidecode"),
        (b"Memory Device\n\tTotal Width: 64 bits\n\tSize: 16 GB\n", "dmidecode"),
        (CPUINFO, "cpuinfo"),
        (bz2.compress(CPUINFO * 3), "cpuinfo"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_texts(tmp_path: Path, data: bytes, kind: str) -> None:
    assert kinds_of(opened(tmp_path, data, "x.dat")) == {kind}


def kinds_of(given: Any) -> set[str]:
    """The kinds of text of which a pasted one was made."""
    assert isinstance(given, Pasted)
    return {part.kind for part in given.parts}


@pytest.mark.parametrize("data", [encoded(DOCUMENT), encoded(CHECK), gzip.compress(encoded(CHECK))])
def test_documents(tmp_path: Path, data: bytes) -> None:
    document = opened(tmp_path, data)
    assert isinstance(document, Document)
    assert document.machine.cpu is not None and document.machine.cpu.name == "AMD Ryzen 5 1600"


def test_a_json_that_powershell_saved(tmp_path: Path) -> None:
    assert isinstance(opened(tmp_path, encoded(CHECK).decode().encode("utf-16")), Document)


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "m/proc").mkdir(parents=True)
    (tmp_path / "m/proc/cpuinfo").write_bytes(CPUINFO)
    source = open_input(str(tmp_path))
    assert isinstance(source, RedactedSource)
    assert source.text("/proc/cpuinfo") == CPUINFO.decode()


def test_texts_lose_what_is_personal(tmp_path: Path) -> None:
    (part,) = opened(tmp_path, DMIDECODE.encode()).parts
    (module,) = part.machine.memory.modules
    assert module.part_number == "F4-3600C16-16GTZNC" and "CANARY9" not in repr(part)


def test_a_text_with_wrong_bytes_is_read(tmp_path: Path) -> None:
    (part,) = opened(tmp_path, CPUINFO + b"bogus\t: \xff\xfe\n").parts
    assert part.machine.cpu.vendor == "AuthenticAMD"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CPUINFO)))
    assert kinds_of(open_input("-")) == {"cpuinfo"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tar_of({"proc/cpuinfo": CPUINFO}))))
    source = open_input("-")
    assert isinstance(source, RedactedSource)
    assert (source.origin.kind, source.origin.name) == ("tree", "standard input")


def test_notes_are_told(tmp_path: Path) -> None:
    source = opened(tmp_path, tar_of({"proc/cpuinfo": CPUINFO, "../x": b""}))
    assert source.notes == ("ignored 1 member that leaves the archive: ../x",)
    assert opened(tmp_path, DMIDECODE.encode()).notes == ()


def test_every_recorded_material_is_recognised(shared: Path) -> None:
    texts = {"cpuinfo": "cpuinfo/*.txt", "dmidecode": "memory/**/*.txt"}
    for kind, pattern in texts.items():
        paths = sorted((shared / "corpus").glob(pattern))
        assert paths
        for path in paths:
            assert kinds_of(open_input(path)) == {kind}, path
    trees = sorted((shared / "corpus").glob("machines/ryzen-5*.tar.gz"))
    assert trees
    for path in trees:
        source = open_input(path)
        assert isinstance(source, RedactedSource) and source.origin.kind == "tree", path


# What cannot be read


def refused(path: Path | str) -> str:
    with pytest.raises(BadInput) as caught:
        open_input(path)
    message = str(caught.value)
    assert message.isprintable() and len(message) < 700
    return message


def test_missing(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == f"{tmp_path}/none: no such file or folder"
    assert "no such file" in refused(tmp_path / "none" / "below")
    assert "embedded null" in refused("/a\0b")


DEEP = b'{"schema": "amd-doctor/machine/1", "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (bytes(4096), "zeros"),
        (gzip.compress(b""), "empty"),
        (bytes(range(256)) * 20, "not recognised"),
        (b"hello\n", "not recognised"),
        (b"\xff\xfe", "empty"),
        (b"\x1f\x8b\x08garbage", "damaged or cut short"),
        (gzip.compress(encoded(CHECK) * 50)[:60], "damaged or cut short"),
        (tar_of({"proc/cpuinfo": CPUINFO})[:-30], "damaged or cut short"),
        (tar_of({"proc/cpuinfo": CPUINFO}, mode="w")[:600], "cut short"),
        (gzip.compress(tar_of({"proc/cpuinfo": CPUINFO * 99}, mode="w")[:700]), "cut short"),
        (encoded(CHECK)[:-5], "not valid JSON"),
        (b'{"schema": "\xff\xfe"}', "schema"),
        (b"[1, 2]", "without a schema"),
        (b"{}", "without a schema"),
        (DEEP, "nested too deeply"),
        (encoded({"schema": "amd-doctor/machine/2"}), "newer"),
        (encoded({"schema": "amd-doctor/check/2", "machine": DOCUMENT}), "newer"),
        (encoded({"schema": "amd-doctor/recording/2"}), "newer"),
        (encoded({"schema": "amd-doctor/recording/1", "files": 3}), "files"),
        (encoded({"schema": "amd-doctor/machine/1", "cpu": {"family": "x"}}), "family"),
        (encoded({"schema": "amd-doctor/machine/1", "cpu": {"online": "0-99999999999"}}), "CPU id above 65535"),
        (encoded({"schema": "other/3"}), "schema"),
        (tar_of({"README": b"x"}), "no proc/ or sys/"),
        (tar_of({"a/proc/cpuinfo": CPUINFO, "b/proc/cpuinfo": CPUINFO}), "2 machines"),
        (tar_of({"proc/cpuinfo": CPUINFO, "proc/kcore": bytes(20 * 1024 * 1024)}), "200 times"),
        (gzip.compress(bytes(20 * 1024 * 1024)), "200 times"),
        (gzip.compress(Random(1).randbytes(20_000) * 3400, 1), "more than 64 MiB"),
        (b"\x28\xb5\x2f\xfd\x00\x58", "zstd"),
    ],
)
def test_bad_content(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "given").write_bytes(data)
    message = refused(tmp_path / "given")
    assert message.startswith(f"{tmp_path}/given: ")
    assert reason in message


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2 * 1024 * 1024 * 1024)
    monkeypatch.setattr(Path, "open", None)
    assert "larger than 64 MiB" in refused(tmp_path / "huge")


def test_a_folder_without_a_tree(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert "no proc/ or sys/" in refused(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs, devices and modes of POSIX")
class TestPosix:
    def test_a_fifo_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        assert "FIFO" in refused(tmp_path / "fifo")

    def test_devices(self) -> None:
        assert refused("/dev/null") == "/dev/null: it is empty"
        assert refused("/dev/zero") == "/dev/zero: it is not a file"

    def test_unreadable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "given").write_bytes(CPUINFO)

        def refuse(*_: object) -> Any:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        assert "may not be read" in refused(tmp_path / "given")

    def test_a_file_of_proc_says_it_has_no_size(self) -> None:
        if sys.platform != "linux":
            pytest.skip("needs Linux")
        assert kinds_of(open_input("/proc/cpuinfo")) == {"cpuinfo"}

    def test_the_pipe_of_a_shell_is_read(self) -> None:
        reading, writing = os.pipe()

        def feed() -> None:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(CPUINFO)

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            given = open_input(f"/dev/fd/{reading}")
        finally:
            thread.join()
            os.close(reading)
        assert kinds_of(given) == {"cpuinfo"}


def test_a_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert refused("-") == "standard input: nothing is piped into it"


def test_an_endless_input_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    assert "larger than 64 MiB" in refused("-")


def test_a_name_is_fit_for_a_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in refused(tmp_path / "\x1b[31mred")


@pytest.mark.parametrize("text", ["0-99999999999", "99999999999", "0-3,\x00", "x", "-1", "3-1"])
def test_ids_beyond_all_bounds_do_not_crash_a_probe(tmp_path: Path, text: str) -> None:
    cpu = "sys/devices/system/cpu"
    files = {"proc/cpuinfo": CPUINFO, f"{cpu}/cpu99999999999/topology/core_id": b"0", f"{cpu}/online": text.encode()}
    files |= {f"{cpu}/cpu0/topology/thread_siblings_list": text.encode(), f"{cpu}/cpu0/topology/core_id": b"9" * 5000}
    files |= {f"{cpu}/cpu0/cache/index3/{name}": text.encode() for name in ("level", "id", "size", "shared_cpu_list")}
    files |= {"sys/devices/system/node/online": text.encode(), "sys/devices/system/node/node0/cpumap": b"f" * 9000}
    collected = collect(opened(tmp_path, tar_of(files)))
    assert collected.crashed == ()


@pytest.mark.parametrize("piece", [b"\n", b" ", b"Memory Device\n", b"processor\t: 0\n", b"a.", b"\r\n\t"])
def test_long_text_of_somebody_elses_making_is_scanned_once(tmp_path: Path, piece: bytes) -> None:
    for head in (b"x", b"Memory Device"):
        (tmp_path / "given").write_bytes(head + piece * (2_000_000 // len(piece)))
        refused(tmp_path / "given")


HEADS = [b"PyTorch version: 2.6.0\nIs debug build: False\n", b"$ pip list\ntorch 2.6.0\n"]
HEADS += [b"", b"{", b'{"schema": "amd-doctor/', b"\x1f\x8b\x08\x00", CPUINFO, DMIDECODE.encode(), b"BZh9", b"\xff\xfe"]


@given(st.sampled_from(HEADS), st.binary(max_size=600))
def test_any_content_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, head: bytes, tail: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(head + tail)
    try:
        assert isinstance(open_input(path), Document | RedactedSource | Pasted)
    except BadInput as error:
        assert str(error).isprintable()
