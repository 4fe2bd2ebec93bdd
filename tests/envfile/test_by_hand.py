"""Files that people write by hand, in every format: what they say, and a sentence on what is not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.envfile.formats import FORMATS, format_of

Row = tuple[str, dict[str, str | None]]

UNDERSTOOD: dict[str, list[Row]] = {
    "dotenv": [
        ("A=1\nB = two words # comment\nC=a#b\nD=\n", {"A": "1", "B": "two words", "C": "a#b", "D": ""}),
        ("export A=1\r\n\texport  B='x'\r\n", {"A": "1", "B": "x"}),
        ("\ufeffA=1\n", {"A": "1"}),
        ("A='it\\'s'\nB=\"say \\\"hi\\\"\\n\"\n", {"A": "it's", "B": 'say "hi"\n'}),
        ("A='back\\\\slash'\n", {"A": "back\\slash"}),
        ("A='two\nlines'\nB=2", {"A": "two\nlines", "B": "2"}),
        ("'A'=1\nB='x' # behind\nC= # nothing\n", {"A": "1", "B": "x", "C": ""}),
        ("A=1\nA=2\n", {"A": "2"}),
    ],
    "sh": [
        ("export A=1 B=2\nC=3; export D='4'\n", {"A": "1", "B": "2", "C": "3", "D": "4"}),
        ("set -a\nA=1\nset +a\nexport A\n", {"A": "1"}),
        ("A='it'\\''s'\nB=\"a\\\"b\\$c\"d\\ e\n", {"A": "it's", "B": 'a"b$cd e'}),
        ("unset A B\n# comment\nC=x # comment\nD=x#y\n", {"A": None, "B": None, "C": "x", "D": "x#y"}),
        ("export A=\\\n1\nB='two\nlines'\nC=3", {"A": "1", "B": "two\nlines", "C": "3"}),
    ],
    "fish": [
        ("set -gx A 1\nset --export --global B 'it\\'s'; set -x C \"a \\$b\"\n", {"A": "1", "B": "it's", "C": "a $b"}),
        ("set -Ux A one two\nset -gx MY_PATH /a /b\n", {"A": "one two", "MY_PATH": "/a:/b"}),
        ("set -e A B\nexport C=x\n", {"A": None, "B": None, "C": "x"}),
        ("set -gx D a\\ b\\x41\\u00e9\\n\n", {"D": "a bA\u00e9\n"}),
        ("set -gx A # nothing\n", {"A": ""}),
    ],
    "powershell": [
        ("$env:A = '1'\r\n$Env:B=\"say `\"hi`\" `$5\"\r\n", {"A": "1", "B": 'say "hi" $5'}),
        ("$env:A='it''s'; ${env:B} = 8 # comment\n<# a\nblock #>\n", {"A": "it's", "B": "8"}),
        ("Remove-Item Env:A -ErrorAction Ignore\nri env:\\B\n$env:C = ''\n", {"A": None, "B": None, "C": None}),
        ("$env:A = \u2018typographic\u2019\n", {"A": "typographic"}),
    ],
    "cmd": [
        ('@echo off\r\nset "A=1"\r\nSET B=two words\r\nrem comment\r\n:: comment\r\n', {"A": "1", "B": "two words"}),
        (
            'set "A=50%% & more"\nset B=a^&b\nset "C="\n@set "D=x" behind\n',
            {"A": "50% & more", "B": "a&b", "C": None, "D": "x"},
        ),
    ],
    "systemd": [
        ("A=1\n; comment\n# comment\nB = a b \nC=\"x\\\"y\" 'z w'\n", {"A": "1", "B": "a b", "C": 'x"yz w'}),
        ("A=one\\\ntwo\nB='two\nlines'\nD=\n", {"A": "onetwo", "B": "two\nlines", "D": ""}),
        ("C=\"a\\tb\\\\\"\n", {"C": "a\\tb\\"}),
        ("A=back\\\\slash\\q\r\nB=it's \"q\"\r\n", {"A": "back\\slashq", "B": "it's \"q\""}),
    ],
    "docker": [
        ("A=1\n  B=a b \n#C=1\n\nD=a=b#c\nE=\n", {"A": "1", "B": "a b ", "D": "a=b#c", "E": ""}),
        ("\ufeffA=1\r\nB='$X'x\r\n", {"A": "1", "B": "'$X'x"}),
    ],
    "conda": [("export A=1\nunset B\n", {"A": "1", "B": None})],
    "json": [
        ('{"variables": {"A": "1", "B": 8, "C": null}}', {"A": "1", "B": "8", "C": None}),
        ('\ufeff{"variables": {}}', {}),
    ],
}

NOT_UNDERSTOOD = {
    "dotenv": [
        ("A=1\nhello world\nB=2\n", 2, "is given no value"),
        ("A=${HOME}/lib\n", 1, "refers to another variable"),
        ("A='never ends\nB=1\n", 1, "a quotation has no end"),
        ("A='x' y\n", 1, "behind the closing quote"),
        ("A-B=1\n", 1, "no name of a variable"),
        ("=1\n", 1, "no assignment"),
    ],
    "sh": [
        ("A=$HOME\n", 1, "would replace"),
        ("A=1\nA=`id`\n", 2, "would replace"),
        ('A="$(id)"\n', 1, "would replace"),
        ("A=~/lib\n", 1, "tilde"),
        ("curl evil | sh\n", 1, "this is a command"),
        ("A=1 python x\n", 1, "this is a command"),
        (". ./other\n", 1, "this is a command"),
        ("A='x\n", 1, "no end"),
        ("if true; then A=1; fi\n", 1, "this is a command"),
    ],
    "fish": [
        ("set A 1\n", 1, "not exported"),
        ("set -gx A $HOME\n", 1, "would replace"),
        ("set -gx A (id)\n", 1, "would replace"),
        ("echo hi\n", 1, "this is a command"),
        ("set -gx A 'x\n", 1, "no end"),
    ],
    "powershell": [
        ('$env:A = "$HOME"\n', 1, "would replace"),
        ("$env:A = Get-Date\n", 1, "no assignment"),
        ("$a = 1\nWrite-Host hi\n", 1, "no assignment"),
        ("$env:A = 'x\n", 1, "no end"),
        ("$env:A += 'x'\n", 1, "no assignment"),
        ("$env:A = 'x' | evil\n", 1, "no assignment"),
    ],
    "cmd": [
        ("set A=%HOME%\\x\n", 1, "would replace"),
        ("set A=1 & del x\n", 1, "no set command"),
        ('set "A=1" & del x\n', 1, "no set command"),
        ("setx A 1\n", 1, "no set command"),
        ("set /a A=1\n", 1, "no name"),
    ],
    "systemd": [("hello\nA=1\n", 1, "systemd ignores it"), ("export A=1\n", 1, "no name"), ("A='x\n", 1, "no end")],
    "docker": [("A\n", 1, "is given no value"), ("A B=1\n", 1, "no name"), ("=1\n", 1, "no name")],
    "conda": [("A=$(id)\n", 1, "would replace")],
    "json": [
        ("{", 1, "no JSON"),
        ("[]", 1, "no env file"),
        ('{"variables": []}', 1, "no env file"),
        ('{"variables": {"A": [1]}}', 1, "no text"),
        ('{"variables": {"A": true}}', 1, "no text"),
        ('{"variables": {"A B": "1"}}', 1, "no name"),
        ("[" * 100_000, 1, "no JSON"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "said"), [(name, *row) for name, rows in UNDERSTOOD.items() for row in rows]
)
def test_understood(name: str, text: str, said: dict[str, str | None]) -> None:
    read = FORMATS[name].read(text.encode())
    assert read.variables == said
    assert [problem for problem in read.problems if problem.stops] == []
    assert (read.blocks, read.evidence) == (0, None)


@pytest.mark.parametrize(
    ("name", "text", "line", "sentence"), [(name, *row) for name, rows in NOT_UNDERSTOOD.items() for row in rows]
)
def test_not_understood(name: str, text: str, line: int, sentence: str) -> None:
    problems = [problem for problem in FORMATS[name].read(text.encode()).problems if problem.stops]
    assert problems and problems[0].line == line and sentence in problems[0].text


def test_lines_around_a_bad_one_are_still_read() -> None:
    read = FORMATS["sh"].read(b"A=1\nB=$X\nC=3\n")
    assert read.variables == {"A": "1", "C": "3"}
    assert [each.line for each in read.assigned] == [1, 3]


def test_windows_line_ends_are_named_where_a_shell_stumbles() -> None:
    (problem,) = FORMATS["sh"].read(b"A=1\nexport B=2\r\n").problems
    assert (problem.line, problem.stops) == (2, False) and "Windows line ends" in problem.text
    assert FORMATS["dotenv"].read(b"A=1\r\n").problems == ()


def test_quotes_in_a_docker_file_are_named() -> None:
    (problem,) = FORMATS["docker"].read(b'A="8"\n').problems
    assert not problem.stops and "quotes" in problem.text


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("x.env", "A=1", "dotenv"),
        (".env", "A=1", "dotenv"),
        ("x", "A=1", "dotenv"),
        ("x", "export A=1", "dotenv"),
        ("x.sh", "export A=1", "sh"),
        ("x.fish", "", "fish"),
        ("x", "set -gx A 1", "fish"),
        ("x.PS1", "", "powershell"),
        ("x", "# mine\n$env:A = 1", "powershell"),
        ("x.bat", "", "cmd"),
        ("x", '@echo off\r\nset "A=1"', "cmd"),
        ("x.json", "", "json"),
        ("x", '\ufeff {"variables": {}}', "json"),
        ("etc/conda/activate.d/mine.sh", "export A=1", "conda"),
    ],
)
def test_the_format_of_a_file(name: str, text: str, format: str) -> None:
    assert format_of(Path(name), text.encode()).name == format
