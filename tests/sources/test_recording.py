from __future__ import annotations

import gzip
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.sources.base import Access, Missing, Reply
from doctor.sources.recording import BadRecording, RecordingSource, decode_recording, listings


def source(**parts: Any) -> RecordingSource:
    return RecordingSource({"platform": "linux", **parts}, "test")


def test_answers_every_kind_of_question() -> None:
    asked = source(
        files={"/proc/cpuinfo": "processor: 0\n", "/sys/raw": {"base64": "/wA="}},
        folders={"/dev/dri": ["renderD128", "card0"]},
        access={"/dev/kfd": {"exists": True, "mode": "0660", "group": "render"}},
        commands={"dmidecode": {"status": 0, "stdout": "x"}},
        env={"OMP_NUM_THREADS": "4"},
        registry={"HKLM\\A": {"B": 1}},
        registry_keys={"HKLM\\A": ["0000"]},
        api={"affinity": "0-7"},
        exercises={"cpu": {"events": []}},
    )
    assert asked.text("/proc/cpuinfo") == "processor: 0\n"
    assert asked.data("/proc/cpuinfo") == b"processor: 0\n"
    assert asked.data("/sys/raw") == b"\xff\x00"
    assert asked.text("/sys/raw") == "\ufffd\x00"
    assert asked.names("/dev/dri") == ("card0", "renderD128")
    assert asked.access("/dev/kfd") == Access(exists=True, mode="0660", group="render")
    assert asked.command("dmidecode") == Reply(0, "x")
    assert asked.environment() == {"OMP_NUM_THREADS": "4"}
    assert asked.registry("HKLM\\A", "B") == 1
    assert asked.registry_keys("HKLM\\A") == ("0000",)
    assert asked.api("affinity") == "0-7"
    assert asked.exercise("cpu") == {"events": []}


def test_what_is_not_there_is_not_in_source() -> None:
    asked = source()
    answers = [
        asked.text("/x"),
        asked.data("/x"),
        asked.names("/x"),
        asked.access("/x"),
        asked.command("x"),
        asked.environment(),
        asked.registry("HKLM\\A", "B"),
        asked.registry_keys("HKLM\\A"),
        asked.api("x"),
        asked.exercise("x"),
    ]
    assert answers == [Missing("not-in-source")] * len(answers)


def test_why_something_is_missing_comes_back() -> None:
    asked = source(
        missing={"needs-root": ["command:dmidecode"], "absent": ["text:/a", "environment", "registry:HKLM\\A B"]},
        details={"command:dmidecode": "use sudo"},
    )
    assert asked.command("dmidecode") == Missing("needs-root", "use sudo")
    assert asked.text("/a") == asked.data("/a") == Missing("absent")
    assert asked.environment() == Missing("absent")
    assert asked.registry("HKLM\\A", "B") == Missing("absent")


def test_empty_answers_are_answers_but_an_empty_output_is_none() -> None:
    asked = source(files={"/a": ""}, folders={"/d": []}, env={}, commands={"x": {"status": 0, "stdout": "\n"}})
    assert asked.text("/a") == ""
    assert asked.names("/d") == ()
    assert asked.environment() == {}
    assert asked.command("x") == Missing("probe-failed", "x answered nothing")


def test_listings_follow_from_the_files() -> None:
    asked = source(files={"/sys/a/one": "", "/sys/a/two/x": "", "/proc/c": ""}, folders={"/sys/b": ["z"]})
    assert asked.names("/") == ("proc", "sys")
    assert asked.names("/sys") == ("a", "b")
    assert asked.names("/sys/a/") == ("one", "two")
    assert asked.names("/sys/b") == ("z",)
    assert asked.names("/sys/c") == Missing("not-in-source")


def test_a_complete_recording_never_guesses_a_listing() -> None:
    files = {"/sys/devices/system/cpu/cpu0/online": "1"}
    assert source(files=files, complete_folders=True).names("/sys/devices/system/cpu") == Missing("not-in-source")
    known = source(files=files, missing={"needs-root": ["names:/sys/devices/system/cpu"]})
    assert known.names("/sys/devices/system/cpu") == Missing("needs-root")


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        ({"platform": "amiga"}, "platform"),
        ({"files": {"/a": 3}}, "files"),
        ({"files": {"/a": {"base64": "x", "more": 1}}}, "files"),
        ({"file": {}}, "'file'"),
        ({"schema": "amd-doctor/recording/2"}, "newer"),
        ({"schema": "amd-doctor/recording/10"}, "newer"),
        ({"schema": "other/1"}, "schema"),
        ({"access": {"/a": {}}}, "exists"),
    ],
)
def test_another_shape_is_refused(plain: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRecording, match=reason):
        RecordingSource(plain, "test")


def test_a_newer_minor_version_may_have_more_parts() -> None:
    plain = {"schema": "amd-doctor/recording/1.3", "smell": {}, "files": {"/a": "b"}}
    assert RecordingSource(plain, "test").text("/a") == "b"


def test_gzipped_and_plain_files_are_read() -> None:
    plain = {"schema": "amd-doctor/recording/1", "files": {"/a": "ä"}}
    body = msgspec.json.encode(plain)
    assert decode_recording(body) == decode_recording(gzip.compress(body)) == plain


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        gzip.compress(b"{}" * 9999)[:-20],
        gzip.compress(bytes(80 * 1024 * 1024)),
    ],
    ids=["empty", "list", "cut", "utf-16", "bad-utf-8", "deep-list", "deep-object", "cut-gzip", "bomb"],
)
def test_bad_files_end_in_one_sentence(data: bytes) -> None:
    with pytest.raises(BadRecording) as caught:
        decode_recording(data)
    assert "\n" not in str(caught.value)


SIMPLE = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(SIMPLE, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_is_read_or_refused(plain: Any) -> None:
    try:
        RecordingSource(plain if isinstance(plain, dict) else {"files": plain}, "test")
    except BadRecording as error:
        assert str(error)


@given(st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))))
def test_listings_hold_each_path_once(paths: set[str]) -> None:
    found = listings(paths)
    for path in paths:
        folder, _, name = path.rpartition("/")
        assert name in found[folder or "/"]
    assert all(names == tuple(sorted(set(names))) for names in found.values())
