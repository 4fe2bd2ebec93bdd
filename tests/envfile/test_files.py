"""Env files on disk, good and bad."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from doctor.envfile.files import (
    NotWritten,
    Unreadable,
    counterpart,
    read_env,
    remove_block,
    write_env,
)
from doctor.envfile.formats import FORMATS
from tests.envfile.contents import content_with

CONTENT = content_with({"OMP_NUM_THREADS": "8"})
DOTENV = FORMATS["dotenv"]


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "amd-doctor.env"
    written = write_env(path, CONTENT, DOTENV)
    assert (written.paths, written.replaced, written.overridden) == ((path,), False, ())
    assert read_env(path).variables == {"OMP_NUM_THREADS": "8"}
    assert write_env(path, CONTENT, DOTENV).replaced


def test_the_rest_of_a_file_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    before = b"\xef\xbb\xbf# mine, in latin-1: gr\xfcn\r\nKEY='a b'\r\nOMP_NUM_THREADS=4"
    path.write_bytes(before)
    write_env(path, content_with({"OMP_NUM_THREADS": "2"}), DOTENV)
    write_env(path, CONTENT, DOTENV)
    assert path.read_bytes().startswith(before)
    assert read_env(path).variables == {"KEY": "a b", "OMP_NUM_THREADS": "8"}
    removed = remove_block(path)
    assert (removed.blocks, removed.left, removed.empty) == (1, 2, False)
    assert path.read_bytes() == before


def test_what_a_later_line_overrides_is_told(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    write_env(path, CONTENT, DOTENV)
    path.write_bytes(path.read_bytes() + b"OMP_NUM_THREADS=4\n")
    assert write_env(path, CONTENT, DOTENV).overridden == ("OMP_NUM_THREADS",)


def test_the_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "secret.env"
    path.write_text("TOKEN=1\n")
    path.chmod(0o640)
    write_env(path, CONTENT, DOTENV)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    remove_block(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.env"
    link.symlink_to(tmp_path / "real" / "file.env")
    write_env(link, CONTENT, DOTENV)
    assert link.is_symlink() and (tmp_path / "real" / "file.env").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.env", "real"]


def test_a_file_that_becomes_empty_stays(tmp_path: Path) -> None:
    path = tmp_path / "amd-doctor.env"
    write_env(path, CONTENT, DOTENV)
    assert remove_block(path).empty
    assert path.read_bytes() == b""


def test_json_is_replaced_whole_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "amd-doctor.json"
    write_env(path, CONTENT, FORMATS["json"])
    write_env(path, content_with({"OMP_NUM_THREADS": "2"}), FORMATS["json"])
    assert read_env(path).variables == {"OMP_NUM_THREADS": "2"}
    assert (remove_block(path).left, read_env(path).variables) == (0, {})
    path.write_text('{"name": "package"}')
    with pytest.raises(NotWritten, match="no env file of amd-doctor"):
        write_env(path, CONTENT, FORMATS["json"])
    assert path.read_text() == '{"name": "package"}'


def test_another_format_is_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_env(path, CONTENT, FORMATS["fish"])
    before = path.read_bytes()
    with pytest.raises(NotWritten, match="format fish, not sh"):
        write_env(path, CONTENT, FORMATS["sh"])
    assert path.read_bytes() == before


@pytest.mark.parametrize("named", ["", "etc/conda/activate.d", "etc/conda/activate.d/amd-doctor.sh"])
def test_conda_has_two_scripts(named: str, tmp_path: Path) -> None:
    written = write_env(tmp_path / named, CONTENT, FORMATS["conda"])
    folder = tmp_path / "etc" / "conda"
    assert written.paths == (folder / "activate.d" / "amd-doctor.sh", folder / "deactivate.d" / "amd-doctor.sh")
    assert read_env(written.paths[0]).variables == {"OMP_NUM_THREADS": "8"}
    assert counterpart(written.paths[0]) == written.paths[1]
    write_env(tmp_path / named, CONTENT, FORMATS["conda"])
    for path in written.paths:
        assert path.read_bytes().count(b"begin of the managed block") == 1
        assert remove_block(path).blocks == 1
        assert path.read_bytes() == b""


# What cannot be read


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"A=1\0", "it is binary"),
        ("A=1\n".encode("utf-16"), "UTF-16"),
        (b"#" * (1024 * 1024 + 1), "larger than 1 MiB"),
        (b"# amd-doctor: begin of the managed block, format dotenv\nA=1\n", "has no end"),
    ],
)
def test_files_that_are_none(data: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "file.env"
    path.write_bytes(data)
    for act, error in ((read_env, Unreadable), (remove_block, Unreadable), (_write, NotWritten)):
        with pytest.raises(error, match=sentence) as raised:
            act(path)
        assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)
    assert path.read_bytes() == data


def _write(path: Path) -> None:
    write_env(path, CONTENT, DOTENV)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, sentence in {"": "it is a folder", "pipe": "it is a pipe", "missing": "no such file"}.items():
        with pytest.raises(Unreadable, match=sentence):
            read_env(tmp_path / name)
    for name in ("", "pipe", "loop", "no/folder/file.env", "x" * 300):
        with pytest.raises(NotWritten) as raised:
            _write(tmp_path / name)
        assert "\n" not in str(raised.value)
    with pytest.raises(Unreadable):
        read_env(tmp_path / "loop")
    with pytest.raises(Unreadable, match="not a file"):
        read_env(Path("/dev/null"))


# What cannot be written: the file is as it was


def test_a_folder_that_takes_no_files() -> None:
    with pytest.raises(NotWritten, match=r"^/proc/amd-doctor\.env: "):
        _write(Path("/proc/amd-doctor.env"))


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".env"
    path.write_text("MINE=1\n")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotWritten, match="no space left on device"):
        _write(path)
    assert path.read_text() == "MINE=1\n"
    assert [each.name for each in tmp_path.iterdir()] == [".env"]


def test_a_write_protected_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".env"
    write_env(path, CONTENT, DOTENV)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    with pytest.raises(NotWritten, match="write-protected"):
        _write(path)
    with pytest.raises(NotWritten, match="write-protected"):
        remove_block(path)


def test_a_value_that_a_format_cannot_say(tmp_path: Path) -> None:
    path = tmp_path / "x.cmd"
    with pytest.raises(NotWritten, match="LD_PRELOAD holds a quote"):
        write_env(path, content_with({"LD_PRELOAD": '"'}), FORMATS["cmd"])
    assert not path.exists()
