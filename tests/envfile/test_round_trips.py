"""What a writer wrote, its reader reads back to the same values, or the writer refuses it in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.envfile.content import CannotWrite
from doctor.envfile.formats import FORMATS, Format, format_of
from doctor.envfile.line_format import LineFormat
from tests.envfile.contents import AWKWARD, content_with, names, values

EVERY = pytest.mark.parametrize("format", FORMATS.values(), ids=lambda each: each.name)

#: What a format has no way to say, of the awkward values.
REFUSED = {
    "dotenv": {"${HOME}"},
    "docker": {'"quoted"', "'quoted'"},
    "powershell": {""},
    "cmd": {"", '"quoted"', 'say "hi"', *(value for value in AWKWARD if not value.isascii())},
}


@EVERY
@pytest.mark.parametrize("value", AWKWARD)
def test_awkward_values(format: Format, value: str) -> None:
    content = content_with({"T_FIRST": "1", "T_VALUE": value, "T_LAST": "2"})
    if value in REFUSED.get(format.name, ()):
        with pytest.raises(CannotWrite, match="T_VALUE"):
            format.write(content)
        return
    read = format.read(format.write(content))
    assert read.variables == {"T_FIRST": "1", "T_VALUE": value, "T_LAST": "2"}
    assert read.problems == ()
    assert read.evidence == content.evidence
    assert all(each.ours for each in read.assigned)


@EVERY
@given(variables=st.dictionaries(names, values, max_size=4))
def test_any_value_is_read_back_or_refused(format: Format, variables: dict[str, str]) -> None:
    content = content_with(dict(variables))
    try:
        written = format.write(content)
    except CannotWrite as error:
        assert "\n" not in str(error)
        return
    read = format.read(written)
    assert (read.variables, read.problems, read.by_hand) == (variables, (), False)
    assert read.evidence == content.evidence


@EVERY
@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b", "\x1b[31m", "a\tb", "\x85", "\ud800", "x" * 4097])
def test_control_characters_and_overlong_values_are_refused(format: Format, value: str) -> None:
    with pytest.raises(CannotWrite, match="T_VALUE"):
        format.write(content_with({"T_VALUE": value}))


@EVERY
@pytest.mark.parametrize("name", ["", "1X", "A B", "A-B", "Ü", "A=B", "A\nB"])
def test_names_that_are_none_are_refused(format: Format, name: str) -> None:
    with pytest.raises(CannotWrite):
        format.write(content_with({name: "1"}))


@EVERY
def test_what_is_taken_out(format: Format) -> None:
    """A format that can only set leaves that to `amd-doctor run`, and says so."""
    written = format.write(content_with({"T_GONE": None, "T_SET": "1"}))
    can = not isinstance(format, LineFormat) or format.unset is not None
    assert format.read(written).variables == ({"T_GONE": None, "T_SET": "1"} if can else {"T_SET": "1"})
    assert can or b"T_GONE: amd-doctor run takes it out" in written


@EVERY
def test_a_block_tells_its_format(format: Format, tmp_path: object) -> None:
    from pathlib import Path

    assert format_of(Path("anything"), format.write(content_with({"T_SET": "1"}))) is format


@EVERY
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace"))))
def test_no_bytes_make_a_reader_raise(format: Format, data: bytes) -> None:
    read = format.read(data)
    assert all(problem.line >= 0 and "\n" not in problem.text for problem in read.problems)
    for each in read.assigned:
        assert each.name.isascii() and each.name.isidentifier()


@EVERY
@given(text=st.text(st.sampled_from("AB=_ '\"\\$`%#;\n\r&@{}()setxporunvg:-"), max_size=60))
def test_no_text_of_a_grammar_makes_a_reader_raise(format: Format, text: str) -> None:
    read = format.read(text.encode())
    assert all(1 <= each.line <= text.count("\n") + 1 for each in read.assigned)
