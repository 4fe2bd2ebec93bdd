from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from doctor.sources.base import Missing
from doctor.sources.tree import BadTree, TreeSource
from tests.sources.archives import CPUINFO, tar_of

NONE = Missing("not-in-source")
CPU = "sys/devices/system/cpu"


def from_tar(files: dict[str, bytes], **more: object) -> TreeSource:
    return TreeSource.from_tar(tar_of(files, **more), "m.tar.gz")  # type: ignore[arg-type]


@pytest.mark.parametrize("root", ["", "./", "machine/", "./machine/", "a/b/c/", "lscpu/dumps/sys-x/"])
def test_a_tree_is_found_at_any_depth(root: str) -> None:
    source = from_tar({f"{root}README": b"x", f"{root}proc/cpuinfo": CPUINFO, f"{root}{CPU}/online": b"0-1\n"})
    assert source.text("/proc/cpuinfo") == CPUINFO.decode()
    assert source.text(f"/{CPU}/online") == "0-1\n"
    assert source.names("/") == ("proc", "sys")
    assert source.names(f"/{CPU}") == ("online",)
    assert source.text("/proc/version") == NONE
    assert source.names("/sys/class") == NONE
    assert source.notes == ()
    assert (source.origin.kind, source.origin.name, source.origin.platform) == ("tree", "m.tar.gz", "linux")


def test_everything_but_files_is_not_in_such_a_source() -> None:
    source = from_tar({"proc/cpuinfo": CPUINFO})
    answers = [source.access("/proc/cpuinfo"), source.command("dmidecode"), source.environment(), source.api("uname")]
    answers += [source.registry("HKLM\\A", "B"), source.registry_keys("HKLM\\A"), source.exercise("cpu")]
    assert answers == [NONE] * 7


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress], ids=["tar", "gz", "xz", "bz2"])
def test_every_compression(pack: object) -> None:
    data = pack(tar_of({"m/proc/cpuinfo": CPUINFO}, mode="w"))  # type: ignore[operator]
    assert TreeSource.from_tar(data, "m").data("/proc/cpuinfo") == CPUINFO


def test_links_are_followed_inside_the_tree() -> None:
    source = from_tar(
        {"m/sys/devices/system/node/node0/cpulist": b"0\n", "m/sys/devices/pci0/drm/card0/vendor": b"0x1002\n"},
        symlinks={
            f"m/{CPU}/cpu0/node0": "../../node/node0",
            "m/sys/class/drm/card0": "/sys/devices/pci0/drm/card0",
            "m/sys/class/again": "drm",
        },
        hardlinks={"m/sys/class/hard": "m/sys/devices/pci0/drm/card0/vendor"},
    )
    assert source.text(f"/{CPU}/cpu0/node0/cpulist") == "0\n"
    assert source.text("/sys/class/drm/card0/vendor") == "0x1002\n"
    assert source.text("/sys/class/again/card0/vendor") == "0x1002\n"
    assert source.names("/sys/class/drm/card0") == ("vendor",)
    assert source.text("/sys/class/hard") == "0x1002\n"
    assert source.notes == ()


def test_names_and_links_that_leave_the_archive_are_ignored_and_noted() -> None:
    source = from_tar(
        {"m/proc/cpuinfo": CPUINFO, "../../etc/passwd": b"x", "/proc/version": b"evil", "m/../../sys/class/x": b"x"},
        symlinks={"m/proc/version": "../../../etc/passwd", "m/sys/class/out": "../../../../tmp"},
        hardlinks={"m/proc/meminfo": "../../etc/shadow", "m/proc/stat": "/etc/shadow"},
    )
    assert source.text("/proc/cpuinfo") == CPUINFO.decode()
    for path in ("/proc/version", "/proc/meminfo", "/proc/stat", "/etc/passwd", "/sys/class/out", "/sys/class/x"):
        assert source.text(path) == NONE
    assert source.notes == ("ignored 7 members that leave the archive: ../../etc/passwd",)


def test_an_absolute_link_starts_at_the_root_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    source = from_tar({"m/proc/cpuinfo": CPUINFO}, symlinks={"m/proc/version": f"{tmp_path}/secret"})
    assert source.text("/proc/version") == NONE


def test_links_in_a_circle_end() -> None:
    source = from_tar({"proc/cpuinfo": CPUINFO}, symlinks={"sys/class/a": "b", "sys/class/b": "a"})
    assert source.text("/sys/class/a") == NONE
    assert source.text("/sys/class/a/x") == NONE
    assert len(source.notes) == 1


def test_a_note_is_fit_for_a_terminal() -> None:
    source = from_tar({"proc/cpuinfo": CPUINFO, "../\x1b[31m" + "x" * 200: b""})
    assert source.notes[0].isprintable()
    assert len(source.notes[0]) < 140


def test_a_later_member_replaces_an_earlier_one() -> None:
    assert from_tar({"proc/cpuinfo": b"old", "./proc/cpuinfo": CPUINFO}).data("/proc/cpuinfo") == CPUINFO


def test_other_processes_and_debug_files_are_not_kept() -> None:
    files = {"proc/cpuinfo": CPUINFO, "proc/1/cgroup": b"0::/\n", "proc/4711/environ": b"SECRET=1"}
    source = from_tar(files | {"sys/kernel/debug/x": b"y", "home/jdoe/proc.txt": b"z"})
    assert source.text("/proc/1/cgroup") == "0::/\n"
    assert source.text("/proc/4711/environ") == NONE
    assert source.text("/sys/kernel/debug/x") == NONE


def test_an_empty_folder_is_there(tmp_path: Path) -> None:
    """An offline CPU keeps its folder, with nothing in it."""
    (tmp_path / f"m/{CPU}/cpu1").mkdir(parents=True)
    grown(tmp_path, {"m/proc/cpuinfo": CPUINFO})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(tmp_path / "m", "m")
    for source in (TreeSource.from_tar(packed.getvalue(), "m"), TreeSource.from_folder(tmp_path, "m")):
        assert source.names(f"/{CPU}") == ("cpu1",)
        assert source.names(f"/{CPU}/cpu1") == ()


def test_several_machines_are_refused() -> None:
    with pytest.raises(BadTree, match="2 machines: a, b"):
        from_tar({"a/proc/cpuinfo": CPUINFO, "b/proc/cpuinfo": CPUINFO})


@pytest.mark.parametrize("files", [{}, {"README": b"x"}, {"etc/os-release": b"NAME=x"}, {"proc/x/y": b"z"}])
def test_no_machine_is_refused(files: dict[str, bytes]) -> None:
    with pytest.raises(BadTree, match="no proc/ or sys/"):
        from_tar(files)


def test_a_bomb_is_refused() -> None:
    with pytest.raises(BadTree, match="times its size"):
        from_tar({"proc/cpuinfo": CPUINFO, "proc/kcore": bytes(32 * 1024 * 1024)})
    with pytest.raises(BadTree, match="unpacks to more"):
        packed = lzma.compress(tar_of({"proc/cpuinfo": CPUINFO, "proc/kcore": bytes(70 * 1024 * 1024)}, mode="w"))
        TreeSource.from_tar(packed, "m")


def test_only_the_first_mebibyte_of_a_file_is_kept() -> None:
    data = tar_of({"proc/cpuinfo": CPUINFO * 40_000}, mode="w")
    assert len(TreeSource.from_tar(data, "m").data("/proc/cpuinfo") or b"") == 1024 * 1024


# Folders


def grown(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("root", ["", "machine/", "a/b/c/"])
def test_a_folder(tmp_path: Path, root: str) -> None:
    grown(tmp_path, {f"{root}proc/cpuinfo": CPUINFO, f"{root}{CPU}/online": b"0\n"})
    source = TreeSource.from_folder(tmp_path, "m")
    assert source.data("/proc/cpuinfo") == CPUINFO
    assert source.names(f"/{CPU}") == ("online",)
    assert source.text("/proc/none") == source.names("/proc/none") == NONE


def test_a_folder_without_a_machine(tmp_path: Path) -> None:
    grown(tmp_path, {"sys/main.py": b"", "proc/notes.txt": b"", "a/b/c/d/proc/cpuinfo": CPUINFO})
    with pytest.raises(BadTree, match="no proc/ or sys/"):
        TreeSource.from_folder(tmp_path, "m")


def test_a_folder_of_several_machines(tmp_path: Path) -> None:
    grown(tmp_path, {"a/proc/cpuinfo": CPUINFO, "b/proc/cpuinfo": CPUINFO})
    with pytest.raises(BadTree, match="2 machines"):
        TreeSource.from_folder(tmp_path, "m")


@pytest.mark.skipif(sys.platform == "win32", reason="needs links, FIFOs and modes of POSIX")
class TestPosixFolder:
    def test_links_inside_are_followed_and_others_are_not(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("outside")
        root = grown(tmp_path / "m", {"proc/cpuinfo": CPUINFO, "sys/devices/pci0/vendor": b"0x1002"})
        (root / "sys/class").mkdir()
        (root / "sys/class/in").symlink_to("../devices/pci0")
        (root / "sys/class/absolute").symlink_to("/sys/devices/pci0")
        (root / "sys/class/out").symlink_to("../../../secret")
        (root / "sys/class/far").symlink_to(tmp_path / "secret")
        source = TreeSource.from_folder(root, "m")
        assert source.text("/sys/class/in/vendor") == source.text("/sys/class/absolute/vendor") == "0x1002"
        assert source.notes == ()
        assert source.text("/sys/class/out") == source.text("/sys/class/far") == NONE
        assert len(source.notes) == 1

    def test_a_fifo_is_not_opened(self, tmp_path: Path) -> None:
        root = grown(tmp_path, {"proc/cpuinfo": CPUINFO})
        os.mkfifo(root / "proc/version")
        assert TreeSource.from_folder(root, "m").text("/proc/version") == NONE

    def test_a_linked_proc_is_no_root(self, tmp_path: Path) -> None:
        (tmp_path / "proc").symlink_to("/proc")
        with pytest.raises(BadTree):
            TreeSource.from_folder(tmp_path, "m")


# Recorded machines


def test_every_recorded_machine_reads_as_its_tar_is(shared: Path, tmp_path: Path) -> None:
    truths = json.loads((shared / "corpus/machines.json").read_text())
    for name in ("epyc-7451-dual-zen1", "ryzen-5-1600-zen1", "intel-skylake-vm-offline-cpus"):
        tar = shared / f"corpus/machines/{name}.tar.gz"
        source = TreeSource.from_tar(tar, name)
        with tarfile.open(tar) as opened:
            opened.extractall(tmp_path, filter="data")
        folder = TreeSource.from_folder(tmp_path / name, name)
        assert source.names(f"/{CPU}") == folder.names(f"/{CPU}")
        for cpu in range(min(4, truths[name]["logical_cpus"])):
            for path in ("topology/core_id", "cache/index0/shared_cpu_list", "cpufreq/scaling_driver", "node0/cpulist"):
                assert source.text(f"/{CPU}/cpu{cpu}/{path}") == folder.text(f"/{CPU}/cpu{cpu}/{path}")
        assert source.notes == folder.notes == ()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/status, which tells the peak of one process")
def test_the_largest_recorded_machine_needs_little_memory(shared: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from doctor.sources.tree import TreeSource\n"
        "source = TreeSource.from_tar(Path(sys.argv[1]), 'm')\n"
        "assert len(source.names('/sys/devices/system/cpu')) > 384\n"
        "print(Path('/proc/self/status').read_text())"
    )
    tar = shared / "corpus/machines/epyc-9654-dual-zen4.tar.gz"
    ended = subprocess.run([sys.executable, "-c", script, str(tar)], capture_output=True, text=True, check=True)
    peak = next(line for line in ended.stdout.splitlines() if line.startswith("VmHWM:"))
    assert int(peak.split()[1]) < 100 * 1024
