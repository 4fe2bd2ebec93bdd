"""Huge pages and allocators: what the kernel's file and the folders of distributions say."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Memory
from doctor.probes.allocation import probe
from doctor.sources.recording import RecordingSource

PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
DEBIAN, FEDORA = "/usr/lib/x86_64-linux-gnu", "/usr/lib64"
NAMES = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libjemalloc.so.2")


def found(plain: dict[str, Any]) -> Memory | None:
    facts = probe(RecordingSource({"platform": "linux", **plain}, "test")).facts
    memory = facts.get("memory")
    assert memory is None or isinstance(memory, Memory)
    return memory


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("always [madvise] never\n", "madvise"),
        ("[always] madvise never\n", "always"),
        ("always madvise [never]\n", "never"),
        ("something else\n", None),
    ],
)
def test_the_mode_is_the_word_in_brackets(text: str, mode: str | None) -> None:
    memory = found({"files": {PAGES: text}})
    assert (memory and memory.transparent_huge_pages) == mode


def folder_of(*there: str) -> dict[str, Any]:
    """Every place that is asked, and what is there."""
    folders = (DEBIAN, FEDORA, "/usr/lib", "/usr/local/lib")
    asked = [f"{folder}/{name}" for folder in folders for name in NAMES]
    assert set(there) <= set(asked)
    return {"access": {path: {"exists": path in there, "readable": path in there} for path in asked}}


def test_installed_allocators_are_told_once_each_in_order_of_preference() -> None:
    there = (f"{FEDORA}/libjemalloc.so.2", f"{DEBIAN}/libtcmalloc.so.4", f"{FEDORA}/libtcmalloc.so.4")
    memory = found(folder_of(*there))
    assert memory is not None
    assert memory.allocators == (f"{DEBIAN}/libtcmalloc.so.4", f"{FEDORA}/libjemalloc.so.2")


def test_none_installed_is_known_and_not_asked_is_unknown() -> None:
    memory = found(folder_of())
    assert memory is not None and memory.allocators == ()
    assert found({}) is None, "a source that cannot tell says nothing"


def test_other_systems_have_neither() -> None:
    assert probe(RecordingSource({"platform": "windows"}, "test")).facts == {}
