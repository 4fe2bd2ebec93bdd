"""The managed block in a file: put in, replaced, taken out; the rest byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from doctor.envfile.block import BEGIN, END, BadBlock, blocks_in, with_block, without_blocks
from doctor.envfile.formats import FORMATS
from doctor.envfile.line_format import LineFormat
from tests.envfile.contents import content_with

BLOCK = f"# {BEGIN}dotenv, whatever\nA=1\n# {END}\n".encode()
OTHER = f"# {BEGIN}dotenv\nB=2\nC=3\n# {END}\n".encode()

LINE_FORMATS = [each for each in FORMATS.values() if isinstance(each, LineFormat)]

rests = st.one_of(
    st.binary(max_size=60),
    st.text(st.sampled_from("ab=\n\r# '\"\\"), max_size=60).map(str.encode),
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\xef\xbb\xbfX=1", b"X=1", b"X=1\r\n", b"\r\n", b"\n\n"]),
)


@given(rest=rests)
def test_taking_out_gives_back_what_was_there(rest: bytes) -> None:
    assume(b"amd-doctor:" not in rest)
    written = with_block(rest, BLOCK)
    assert b"A=1" in written and len(blocks_in(written)) == 1
    assert without_blocks(written) == rest


@given(rest=rests)
def test_replacing_is_as_writing_anew(rest: bytes) -> None:
    assert with_block(with_block(rest, BLOCK), OTHER) == with_block(rest, OTHER)


@given(before=rests, after=rests)
def test_what_stands_around_it_stays(before: bytes, after: bytes) -> None:
    before += b"\n" if before and not before.endswith(b"\n") else b""
    replaced = with_block(before + BLOCK + after, OTHER)
    assert replaced == before + OTHER + after
    assert without_blocks(replaced) == before + after


def test_many_blocks_become_one() -> None:
    assert with_block(b"X=1\n" + BLOCK + b"Y=2\n" + BLOCK + b"Z=3\n", OTHER) == b"X=1\n" + OTHER + b"Y=2\nZ=3\n"
    assert without_blocks(BLOCK + b"Y=2\n" + OTHER) == b"Y=2\n"


@pytest.mark.parametrize("cut", [b"X=1\n" + BLOCK.rpartition(b"#")[0], BLOCK.rpartition(b"#")[0] + BLOCK])
def test_a_block_without_an_end_is_left_alone(cut: bytes) -> None:
    for change in (blocks_in, without_blocks, lambda data: with_block(data, OTHER)):
        with pytest.raises(BadBlock, match="has no end"):
            change(cut)


def test_an_end_alone_is_a_comment_like_any() -> None:
    alone = f"# {END}\nA=1\n".encode()
    assert blocks_in(alone) == () and without_blocks(alone) == alone


@pytest.mark.parametrize("format", LINE_FORMATS, ids=lambda each: each.name)
@given(rest=st.text(st.sampled_from("AB=1_ '\"\\$`%#;\n&@{}setxporunv:"), max_size=60).map(str.encode))
def test_no_format_changes_the_meaning_of_the_rest(format: LineFormat, rest: bytes) -> None:
    """A block is refused where a quotation or a continued line of the rest would swallow it."""
    content = content_with({"T_VALUE": "it's"})
    try:
        merged = format.merged(rest, content)
    except BadBlock:
        return
    read = format.read(merged)
    assert read.block == {"T_VALUE": "it's"}
    assert read.rest == format.read(rest).rest
    assert format.without(merged) == rest


def test_an_open_quotation_is_named() -> None:
    with pytest.raises(BadBlock, match="a quotation has no end"):
        FORMATS["sh"].merged(b"A='open\n", content_with({"T_VALUE": "1"}))
    with pytest.raises(BadBlock):
        FORMATS["systemd"].merged(b"A=continued\\\n", content_with({"T_VALUE": "1"}))


def test_line_ends_follow_the_file_where_its_readers_take_both() -> None:
    content = content_with({"T_VALUE": "1"})
    assert b"T_VALUE=1\r\n" in FORMATS["dotenv"].merged(b"A=1\r\n", content)
    assert b"T_VALUE=1\r" not in FORMATS["sh"].merged(b"A=1\r\n", content)
    assert b"\n" not in FORMATS["cmd"].write(content).replace(b"\r\n", b"")
