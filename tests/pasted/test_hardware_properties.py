"""Property tests of the hardware readers over real texts: cut, thinned out, shuffled and mutated, they never raise, and
none says what the whole text does not say."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.machine.cpulist import parse_cpulist
from doctor.machine.model import Fact, Machine
from doctor.pasted.hardware import READERS
from doctor.pasted.parts import Part
from tests.pasted.test_hardware import _EXAMINED
from tests.texts.memory_corpus import memory_cases
from tests.texts.test_dxdiag import _SYSTEM, _TITLE, _device
from tests.texts.test_lscpu import _FLAGS, _TREE, _wrapped
from tests.texts.test_systeminfo import _ENGLISH

_READERS = {reader.kind: reader for reader in READERS}

#: Lists whose rows stand for themselves: a text that ends early has fewer.
_ROWS = ("cpu.cores", "gpus")


@cache
def texts(shared: Path, kind: str) -> tuple[str, ...]:
    corpus = shared / "corpus"
    if kind == "lscpu":
        trees = (_TREE.format(flags=_FLAGS), _wrapped(_TREE.format(flags=_FLAGS), 80))
        return (*(path.read_text() for path in sorted((corpus / "lscpu").rglob("*.txt"))), *trees)
    if kind == "cpuinfo":
        return tuple(path.read_text() for path in sorted((corpus / "cpuinfo").glob("*.txt")))
    if kind == "dmidecode":
        return tuple(case.text for case in memory_cases(shared))
    if kind == "rocminfo":
        return tuple(path.read_text() for path in sorted((corpus / "gpu" / "rocminfo").glob("*.rocminfo.txt")))
    if kind == "rocm-smi":
        return tuple(path.read_text() for path in sorted((corpus / "gpu" / "rocm-smi-json").glob("*.json")))
    return {
        "systeminfo": (_ENGLISH,),
        "dxdiag": (_SYSTEM + _TITLE + _device(),),
        "rocm-examine": (json.dumps(_EXAMINED, indent=2) + "\n",),
    }[kind]


@cache
def whole(kind: str, text: str) -> Machine:
    part = _READERS[kind].read(text)
    assert part is not None
    return part.machine


def _read(kind: str, text: str) -> Part | None:
    part = _READERS[kind].read(text)
    assert part is None or _READERS[kind].looks_like(text)
    return part


def _more(said: Any, known: Any, fact: str = "") -> Iterator[str]:
    """The facts in `said` that `known` does not have. A list of rows may be shorter; a CPU list may be a part."""
    if said is None:
        return
    if isinstance(said, Fact) and isinstance(known, Fact):
        for name in said.__struct_fields__:
            yield from _more(getattr(said, name), getattr(known, name), f"{fact}.{name}".strip("."))
    elif isinstance(said, tuple) and said and isinstance(said[0], Fact) and isinstance(known, tuple):
        if fact not in _ROWS and len(said) != len(known):
            yield f"{fact}: {len(said)} instead of {len(known)}"
        for row in said:
            if not any(not list(_more(row, other, fact)) for other in known):
                yield f"{fact}: {row}"
    elif fact in ("cpu.cores.cpus", "cpu.online") and isinstance(known, str):
        if not parse_cpulist(said) <= parse_cpulist(known):
            yield f"{fact}: {said} of {known}"
    elif said != known:
        yield f"{fact}: {said!r} instead of {known!r}"


def _says_no_more(kind: str, piece: str, text: str) -> None:
    part = _read(kind, piece)
    if part is not None:
        assert list(_more(part.machine, whole(kind, text))) == []
        first, end = part.span
        assert 0 <= first < end <= piece.count("\n") + 1


_CUT = ("lscpu", "cpuinfo", "dmidecode", "rocminfo", "rocm-smi", "systeminfo", "dxdiag", "rocm-examine")
#: Kinds whose lines say the same wherever they stand. In the others a line belongs to the one above it.
_LINES = ("lscpu", "systeminfo", "dxdiag")


@given(data=st.data(), kind=st.sampled_from(_CUT))
@settings(max_examples=400, deadline=None)
def test_a_text_that_was_cut(shared: Path, data: st.DataObject, kind: str) -> None:
    text = data.draw(st.sampled_from(texts(shared, kind)))
    _says_no_more(kind, text[: data.draw(st.integers(0, len(text)))], text)


@given(data=st.data(), kind=st.sampled_from(_LINES))
@settings(max_examples=300, deadline=None)
def test_a_text_that_lost_lines(shared: Path, data: st.DataObject, kind: str) -> None:
    text = data.draw(st.sampled_from(texts(shared, kind)[:311]))
    lines = text.splitlines(keepends=True)
    kept = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    _says_no_more(kind, "".join(line for line, keep in zip(lines, kept, strict=True) if keep), text)


@given(data=st.data(), kind=st.sampled_from(_LINES), seed=st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_a_text_that_was_shuffled(shared: Path, data: st.DataObject, kind: str, seed: int) -> None:
    text = data.draw(st.sampled_from(texts(shared, kind)[:311]))
    lines = text.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    _says_no_more(kind, "".join(line if line.endswith("\n") else line + "\n" for line in lines), text)


@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_shuffled_cpuinfo_counts_no_cores(shared: Path, data: st.DataObject, seed: int) -> None:
    """Which line belongs to which processor is lost; who the processor is, and which there are, stays."""
    text = data.draw(st.sampled_from(texts(shared, "cpuinfo")))
    lines = text.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    part = _read("cpuinfo", "".join(lines))
    assert part is not None and part.machine.cpu is not None
    assert part.machine.cpu.cores is None
    assert list(_more(part.machine, whole("cpuinfo", text))) == []


@given(data=st.data(), kind=st.sampled_from(_CUT))
@settings(max_examples=500, deadline=None)
def test_a_mutated_text_never_raises(shared: Path, data: st.DataObject, kind: str) -> None:
    """Whatever comes out of it fits the document, for every reader."""
    text = data.draw(st.sampled_from(texts(shared, kind)))[:30_000]
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 80))
        text = text[:at] + data.draw(st.text(max_size=10)) + text[at + length :]
    for reader in READERS:
        part = reader.read(text) if reader.looks_like(text) else None
        if part is not None:
            assert msgspec.convert(msgspec.to_builtins(part.machine), Machine) == part.machine


@given(text=st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_text_never_raises(text: str) -> None:
    for reader in READERS:
        reader.looks_like(text)
        reader.read(text)
