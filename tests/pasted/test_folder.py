"""The inputs in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.pasted.folder import MAX_DEPTH, inputs_in


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in inputs_in(folder)]


def test_files_of_every_folder_by_name(tmp_path: Path) -> None:
    for name in ("b.json", "rack2/a.json", "rack1/z.json", "a.json", "rack1/deep/m.txt"):
        write(tmp_path / name)
    assert names(tmp_path) == ["a.json", "b.json", "rack1/deep/m.txt", "rack1/z.json", "rack2/a.json"]


def test_hidden_files_are_no_machines(tmp_path: Path) -> None:
    write(tmp_path / ".DS_Store")
    write(tmp_path / ".git" / "config")
    write(tmp_path / "a.json")
    assert names(tmp_path) == ["a.json"]


def test_a_tree_is_one_machine_however_many_files_it_has(tmp_path: Path) -> None:
    write(tmp_path / "host1" / "proc" / "cpuinfo")
    write(tmp_path / "host1" / "notes.txt")
    write(tmp_path / "host2" / "machine" / "sys" / "devices" / "system" / "cpu" / "online")
    write(tmp_path / "host3.json")
    assert names(tmp_path) == ["host1", "host2/machine", "host3.json"]


def test_the_folder_may_be_a_tree_itself(tmp_path: Path) -> None:
    write(tmp_path / "proc" / "cpuinfo")
    write(tmp_path / "a.json")
    assert list(inputs_in(tmp_path)) == [tmp_path]


def test_folders_are_not_looked_through_for_ever(tmp_path: Path) -> None:
    inner = tmp_path.joinpath(*"abcdefgh"[:MAX_DEPTH])
    write(inner / "last.json")
    write(inner / "further" / "no.json")
    assert [path.name for path in inputs_in(tmp_path)] == ["last.json"]


def test_nothing_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert names(tmp_path) == []
    with pytest.raises(OSError):
        list(inputs_in(tmp_path / "gone"))


@pytest.mark.skipif(os.name == "nt", reason="Windows makes links for administrators only")
def test_links_to_files_are_inputs_and_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "a.json")
    (tmp_path / "latest.json").symlink_to(tmp_path / "a.json")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(tmp_path) == ["a.json", "gone.json", "latest.json"]


def test_a_folder_further_down_that_cannot_be_listed_is_given_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "closed" / "a.json")
    write(tmp_path / "open.json")
    scandir = os.scandir

    def refused(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert names(tmp_path) == ["closed", "open.json"]
    with pytest.raises(PermissionError):
        list(inputs_in(tmp_path / "closed"))
