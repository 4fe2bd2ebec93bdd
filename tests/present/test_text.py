from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from doctor.present.text import bytes_text, clean, columns, listed, plural, seconds_text, wrap


def test_clean_drops_what_moves_the_cursor_or_turns_the_direction() -> None:
    assert clean("a\x1b[31mb\x00c") == "a[31mbc"
    assert clean("safe\u202egpj.exe\u2066") == "safegpj.exe"
    assert clean("two\nlines\tand\u2028more") == "two lines and more"
    assert clean("\ud800x") == "x"


def test_clean_keeps_letters_of_every_script() -> None:
    assert clean("Grüße 你好 é") == "Grüße 你好 é"


@given(st.text())
def test_clean_leaves_one_printable_line(text: str) -> None:
    left = clean(text)
    assert len(left.splitlines()) <= 1
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in left)


def test_columns_counts_wide_and_combining_characters() -> None:
    assert columns("abc") == 3
    assert columns("你好") == 4
    assert columns("e\u0301") == 1


def test_wrap_breaks_at_spaces_only() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("one two three", 7, hang=2) == ["one two", "  three"]
    assert wrap("see https://example.org/a/long/path now", 10) == ["see", "https://example.org/a/long/path", "now"]
    assert wrap("", 10) == [""]


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), max_size=30), st.integers(4, 40), st.integers(0, 3))
def test_wrap_loses_no_word_and_keeps_the_width(words: list[str], width: int, hang: int) -> None:
    lines = wrap(" ".join(words), width, hang)
    assert " ".join(lines).split() == words
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_words_for_counts_sizes_and_times() -> None:
    assert [plural(count, "error") for count in (0, 1, 2)] == ["0 errors", "1 error", "2 errors"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b", "c", "d"], at_most=2) == "a, b and 2 more"
    assert listed(["a", "b", "c"], at_most=2) == "a, b and c"
    assert bytes_text(100663296) == "96 MiB"
    assert bytes_text(67351707648) == "62.7 GiB"
    assert bytes_text(512) == "512 bytes"
    assert bytes_text(3 * 1024**5) == "3072 TiB"
    assert seconds_text(0.08) == "80 ms"
    assert seconds_text(1.42) == "1.4 s"
