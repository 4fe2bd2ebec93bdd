from __future__ import annotations

import io
import sys

import pytest

from doctor.present.status import ALL
from doctor.present.terminal import Look, Span, line, look_of, plain, to_ascii, write


class _Stream(io.TextIOWrapper):
    def __init__(self, encoding: str, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def written(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined]


def test_a_pipe_gets_80_columns_and_no_colour() -> None:
    assert look_of(_Stream("utf-8"), {"LANG": "en_US.UTF-8"}) == Look(columns=80, ascii=False, colour=False)


def test_a_terminal_gets_colour_unless_it_is_refused() -> None:
    stream = _Stream("utf-8", terminal=True)
    assert look_of(stream, {}).colour
    assert not look_of(stream, {"NO_COLOR": "1"}).colour
    assert look_of(stream, {"NO_COLOR": ""}).colour, "an empty NO_COLOR means nothing (no-color.org)"
    assert not look_of(stream, {"TERM": "dumb"}).colour


@pytest.mark.parametrize(
    ("encoding", "environ", "is_ascii"),
    [
        ("utf-8", {}, False),
        ("utf-8", {"LC_ALL": "C"}, True),
        ("utf-8", {"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
        ("utf-8", {"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, False),
        ("cp1252", {}, True),
        ("ascii", {}, True),
    ],
)
def test_symbols_only_where_they_can_be_shown(encoding: str, environ: dict[str, str], is_ascii: bool) -> None:
    assert look_of(_Stream(encoding), environ).ascii is is_ascii
    assert look_of(_Stream(encoding), environ, ascii_only=True).ascii


def test_every_symbol_has_its_own_ascii_stand_in() -> None:
    assert [to_ascii(status.symbol) for status in ALL] == [status.ascii for status in ALL]
    assert len({status.ascii for status in ALL}) == len(ALL)
    assert to_ascii("┌─┐ 2 × 3 …") == "+-+ 2 x 3 ..."
    assert to_ascii("Grüße") == "Gr??e"


def test_machine_text_cannot_reach_the_terminal_as_control_characters() -> None:
    spans = ((Span("name: "), Span("evil\x1b]0;title\x07\u202e", "bold")),)
    assert plain(spans, Look()) == "name: evil]0;title\n"
    stream = _Stream("utf-8", terminal=True)
    write(spans, Look(colour=True), stream)
    text = stream.written().decode()
    assert "]0;title" in text and "\x07" not in text and "\u202e" not in text
    assert "\x1b]" not in text


def test_colour_adds_nothing_but_colour() -> None:
    lines = [(Span("✗", "bold red"), Span(" [not markup] :smile:")), line("x" * 300)]
    stream = _Stream("utf-8", terminal=True)
    write(lines, Look(colour=True), stream)
    text = stream.written().decode()
    assert "\x1b[1;31m✗\x1b[0m [not markup] :smile:\n" in text
    assert "x" * 300 + "\n" in text


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-16"])
def test_no_encoding_makes_it_raise(encoding: str) -> None:
    stream = _Stream(encoding)
    write([line("✗ 你好 Zoë")], Look(ascii=False), stream)
    assert stream.written()


def test_a_closed_pipe_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(_Stream):
        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Closed("utf-8"))
    write([line("text")], Look())


def test_a_full_disk_is_not_quiet() -> None:
    class Full(_Stream):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write([line("text")], Look(), Full("utf-8"))
