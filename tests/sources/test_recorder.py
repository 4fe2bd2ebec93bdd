from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.probes.collect import collect
from doctor.sources.base import Missing
from doctor.sources.live import LiveSource
from doctor.sources.recorder import Recorder, encoded, write_recording
from doctor.sources.recording import RecordingSource, decode_recording

PLAIN: dict[str, Any] = {
    "platform": "windows",
    "taken_at": "2026-11-30T12:00:00Z",
    "files": {"/a": "text", "/b": {"base64": "/wA="}, "/empty": ""},
    "folders": {"/d": ["x", "y"], "/none": []},
    "access": {"/dev/kfd": {"exists": True, "mode": "0660"}, "/gone": {"exists": False}},
    "commands": {"dmidecode": {"status": 1, "stdout": "", "stderr": "no"}},
    "env": {"OMP_NUM_THREADS": "4"},
    "registry": {"HKLM\\A": {"B": 1, "C": "x"}},
    "registry_keys": {"HKLM\\A": ["0000", "0001"]},
    "api": {"affinity": "0-7", "battery": {"plugged": None}},
    "exercises": {"cpu": {"events": [1, 2.5, None, True]}},
    "missing": {"needs-root": ["text:/root", "api:x"], "absent": ["names:/no", "registry:HKLM\\A D"]},
    "details": {"text:/root": "use sudo"},
}


def asked(source: Any) -> list[Any]:
    return [
        source.text("/a"),
        source.data("/a"),
        source.data("/b"),
        source.text("/b"),
        source.text("/empty"),
        source.text("/root"),
        source.data("/root"),
        source.text("/never"),
        source.names("/d"),
        source.names("/none"),
        source.names("/no"),
        source.access("/dev/kfd"),
        source.access("/gone"),
        source.command("dmidecode"),
        source.command("powercfg"),
        source.environment(),
        source.registry("HKLM\\A", "B"),
        source.registry("HKLM\\A", "C"),
        source.registry("HKLM\\A", "D"),
        source.registry_keys("HKLM\\A"),
        source.registry_keys("HKLM\\B"),
        source.api("affinity"),
        source.api("battery"),
        source.api("x"),
        source.exercise("cpu"),
        source.exercise("interpreter"),
        source.origin.platform,
        source.origin.taken_at,
    ]


def replayed(source: Any, tmp_path: Path) -> RecordingSource:
    write_recording(tmp_path / "r.json.gz", source.recording())
    return RecordingSource(decode_recording((tmp_path / "r.json.gz").read_bytes()), "r")


def test_the_same_questions_get_the_same_answers(tmp_path: Path) -> None:
    recorder = Recorder(RecordingSource(PLAIN, "test"))
    answers = asked(recorder)
    assert answers == asked(RecordingSource(PLAIN, "test"))
    assert asked(replayed(recorder, tmp_path)) == answers


def test_the_order_of_text_and_data_does_not_matter(tmp_path: Path) -> None:
    for first, second in (("text", "data"), ("data", "text")):
        recorder = Recorder(RecordingSource(PLAIN, "test"))
        for method in (first, second):
            getattr(recorder, method)("/b")
        again = replayed(recorder, tmp_path)
        assert again.data("/b") == b"\xff\x00" and again.text("/b") == "\ufffd\x00"


def test_what_nobody_asked_is_not_in_it(tmp_path: Path) -> None:
    recorder = Recorder(RecordingSource(PLAIN, "test"))
    recorder.text("/a")
    assert recorder.recording() == {
        "schema": "amd-doctor/recording/1",
        "platform": "windows",
        "taken_at": "2026-11-30T12:00:00Z",
        "files": {"/a": "text"},
        "missing": {},
        "details": {},
        "complete_folders": True,
    }
    again = replayed(recorder, tmp_path)
    assert again.text("/b") == again.names("/") == Missing("not-in-source")


def test_a_recording_of_this_machine_gives_the_same_machine(tmp_path: Path) -> None:
    recorder = Recorder(LiveSource())
    live = collect(recorder)
    again = collect(replayed(recorder, tmp_path))
    without = {"sources": None}
    assert msgspec.structs.replace(again.machine, **without) == msgspec.structs.replace(live.machine, **without)
    assert live.machine.sources and again.machine.sources
    assert again.machine.sources[0].taken_at == live.machine.sources[0].taken_at
    assert again.machine.sources[0].kind == "recording"
    assert again.crashed == live.crashed
    assert again.origins == live.origins


def test_the_same_values_give_the_same_bytes() -> None:
    assert encoded(PLAIN) == encoded(dict(PLAIN))
    assert gzip.decompress(encoded(PLAIN)).startswith(b'{"platform":"windows"')


# Writing


def test_writing_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "r.json.gz"
    path.write_text("old")
    size = write_recording(path, PLAIN)
    assert size == path.stat().st_size
    assert decode_recording(path.read_bytes())["env"] == {"OMP_NUM_THREADS": "4"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json.gz"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fails(_descriptor: int) -> None:
        raise failure

    path = tmp_path / "r.json.gz"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(type(failure)):
        write_recording(path, PLAIN)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json.gz"]


@pytest.mark.skipif(os.name == "nt", reason="needs links of POSIX")
def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/r.json.gz")
    write_recording(tmp_path / "link", PLAIN)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "folder/r.json.gz").is_file()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_recording(tmp_path / "none/r.json.gz", PLAIN)
