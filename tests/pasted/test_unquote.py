from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.pasted.unquote import unquoted


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("> PyTorch version: 2.6.0", "PyTorch version: 2.6.0"),
        (">PyTorch version: 2.6.0", "PyTorch version: 2.6.0"),
        ("> > > torch==2.6.0", "torch==2.6.0"),
        (">   L3:   32 MiB", "  L3:   32 MiB"),
        (">>> import torch", ">>> import torch"),
        (">> torch==2.6.0", ">> torch==2.6.0"),
        ("a > b", "a > b"),
        ("\x1b[1;32mtorch\x1b[0m 2.6.0", "torch 2.6.0"),
        ("\x1b]0;title\x07torch", "torch"),
        ("torch\u00a02.6.0\u200b", "torch 2.6.0"),
        ("<pre>CPU:</pre>", "CPU:"),
        ("<details><summary>env</summary>", "env"),
        ("# one comment stays", "# one comment stays"),
    ],
)
def test_a_line(line: str, bare: str) -> None:
    assert unquoted(line).lines == (bare,)


def test_fences_are_breaks_and_leave_an_empty_line() -> None:
    text = unquoted("before\n```text\ninside\n```\n~~~\nother\n~~~")
    assert text.lines == ("before", "", "inside", "", "", "other", "")
    assert text.breaks == {1, 3, 4, 6}


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("```Collecting environment information...", "Collecting environment information..."),
        ("```yaml", ""),
        ("``` {.text}", ""),
        ("[conda] Could not collect```", "[conda] Could not collect"),
        ("    ```", ""),
    ],
)
def test_text_beside_a_fence_is_kept(line: str, bare: str) -> None:
    text = unquoted(f"a\n{line}\nb")
    assert text.lines == ("a", bare, "b") and text.breaks == {1}


def test_a_text_that_was_pasted_as_a_comment() -> None:
    lines = ["# Collecting environment", "# PyTorch version: 2.1.0", "#", "# OS: Ubuntu", "# a", "# b", "# c"]
    assert unquoted("intro\n" + "\n".join(lines)).lines == (
        "intro", "Collecting environment", "PyTorch version: 2.1.0", "", "OS: Ubuntu", "a", "b", "c",
    )  # fmt: skip


def test_the_comments_of_conda_and_of_markdown_stay() -> None:
    conda = "# packages in environment at /opt/conda:\n#\n# Name   Version   Build  Channel\nnumpy 1.26.4 py311_0"
    assert unquoted(conda).text() == conda
    headings = "\n".join(f"## Heading {number}" for number in range(9))
    assert unquoted(headings).text() == headings


@pytest.mark.parametrize("end", ["\r\n", "\r", "\r\r\n", "\n"])
def test_foreign_line_ends(end: str) -> None:
    assert unquoted(f"a{end}b{end}").lines == ("a", "b", "")


@given(st.text(alphabet=st.sampled_from("ab#> `~\n\r\x1b[]<>pre/\t0")))
def test_every_line_keeps_its_place(text: str) -> None:
    lines = unquoted(text).lines
    assert len(lines) == len(unquoted("\n".join(lines)).lines)
    assert all("\n" not in line and "\r" not in line for line in lines)
    assert max(unquoted(text).breaks, default=0) < len(lines)
