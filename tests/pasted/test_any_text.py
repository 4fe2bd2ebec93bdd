"""Property tests over real texts: whatever becomes of them, nothing raises, and nothing is said that is not in them."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pasted.judging import PASTES, judged, machine_of, serious

#: Texts of other tools, as far as the folder of recorded machines has them.
_OTHERS = ("lscpu/*/*.txt", "gpu/rocminfo/*", "gpu/*/*.json", "cpuinfo/*.txt")


@cache
def real_texts(shared: Path) -> tuple[str, ...]:
    found = sorted((shared / "field").glob("*.collect_env.txt")) + sorted(PASTES.iterdir())
    for pattern in _OTHERS:
        found += sorted(path for path in (shared / "corpus").glob(pattern) if path.is_file())[:6]
    return tuple(path.read_text(encoding="utf-8", errors="replace")[:40_000] for path in found)


@cache
def texts_of_one_state(shared: Path) -> tuple[str, ...]:
    """Texts that do not contradict themselves: cut, such a one tells what was true before."""
    found = sorted((shared / "field").glob("*.collect_env.txt"))
    found += sorted(path for path in PASTES.iterdir() if path.name != "ticket.md")
    return tuple(path.read_text(encoding="utf-8") for path in found)


@cache
def said_of(text: str) -> frozenset[str]:
    return frozenset(serious([text]))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_cut_text_says_no_more_than_the_whole(shared: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts_of_one_state(shared)))
    first, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    # What was cut off in front is seen by the half line that is left, which no reader takes for a whole one.
    piece = text[text.find("\n", first) + 1 if first else 0 : end]
    assert serious([piece]) <= said_of(text)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_text_without_some_of_its_lines_says_no_more(shared: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts_of_one_state(shared)))
    lines = text.splitlines(keepends=True)
    kept = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    piece = "".join(line for line, keep in zip(lines, kept, strict=True) if keep)
    assert serious([piece]) <= said_of(text)


@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_shuffled_text_says_no_more(shared: Path, data: st.DataObject, seed: int) -> None:
    text = data.draw(st.sampled_from(texts_of_one_state(shared)))
    lines = text.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    assert serious(["".join(lines)]) <= said_of(text)


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_mutated_text_never_raises(shared: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(real_texts(shared)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 200))
        text = text[:at] + data.draw(st.text(max_size=12)) + text[at + length :]
    judged(machine_of(text))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_several_texts_never_raise(shared: Path, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.sampled_from(real_texts(shared)), min_size=2, max_size=4))
    judged(machine_of(*texts))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_mixed_text_never_raises(shared: Path, data: st.DataObject) -> None:
    """Lines of several texts, one through the other."""
    lines = [line for text in data.draw(st.lists(st.sampled_from(real_texts(shared)), min_size=2, max_size=3))
             for line in text.splitlines(keepends=True)[:400]]  # fmt: skip
    seed = data.draw(st.integers(0, 2**32))
    random.Random(seed).shuffle(lines)
    judged(machine_of("".join(lines)))


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_text_at_all(text: str) -> None:
    judged(machine_of(text))
