"""The written form of each format, as its reader's documentation has it: what no shell here can prove is recorded."""

from __future__ import annotations

import re

import pytest

from doctor import __version__
from doctor.envfile.cmd import CMD
from doctor.envfile.conda import CONDA
from doctor.envfile.content import CPUS, EnvContent, EnvLine
from doctor.envfile.formats import FORMATS
from doctor.envfile.powershell import POWERSHELL
from tests.envfile.contents import evidence

CONTENT = EnvContent(
    head=("Measured by amd-doctor on 2026-11-30: +24.1 % throughput (95 %: +19.0 to +29.3 %), 12 pairs.",),
    lines=(
        EnvLine("OMP_NUM_THREADS", "8", confirmed=True, replaces="1"),
        EnvLine("LD_PRELOAD", "/opt/it's here/lib.so", note="amd-doctor run sets it only with --allow LD_PRELOAD"),
        EnvLine("MKL_NUM_THREADS", None, replaces="2"),
        EnvLine("OMP_WAIT_POLICY", "active", active=False),
        EnvLine(CPUS, "0-7,16-23", note="read by amd-doctor run only: the CPUs that the command may use"),
    ),
    tail=("Tried and not kept:", "  threads-16: +2.0 % in the search, an estimate"),
    evidence=evidence(),
)


@pytest.mark.parametrize("name", FORMATS)
def test_whole_file(name: str, snapshot: object) -> None:
    text = FORMATS[name].write(CONTENT).decode()
    assert re.sub(re.escape(f"amd-doctor {__version__}"), "amd-doctor VERSION", text) == snapshot


def test_the_script_of_deactivate_d(snapshot: object) -> None:
    assert CONDA.deactivation(CONTENT).decode().replace(f"amd-doctor {__version__}", "amd-doctor VERSION") == snapshot


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("8", "$env:T = '8'"),
        ("two words", "$env:T = 'two words'"),
        ("it's", "$env:T = 'it''s'"),
        ('$HOME `n "x" $(id) ${y}', "$env:T = '$HOME `n \"x\" $(id) ${y}'"),
        ("C:\\lib\\", "$env:T = 'C:\\lib\\'"),
        ("grün", '$env:T = "gr$([char]0x00FC)n"'),
        ("\u2019 ` $ \"", '$env:T = "$([char]0x2019) `` `$ `""'),
        ("\U0001f600", '$env:T = "$([char]0xD83D)$([char]0xDE00)"'),
    ],
)
def test_powershell_quotes_by_about_quoting_rules(value: str, line: str) -> None:
    assert POWERSHELL.assign("T", value) == line
    assert POWERSHELL.parse(line).assigned[0].value == value


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("8", '@set "T=8"'),
        ("50%", '@set "T=50%%"'),
        ("%PATH%", '@set "T=%%PATH%%"'),
        ("a & b | c < d > e ^ f", '@set "T=a & b | c < d > e ^ f"'),
        ("C:\\lib\\", '@set "T=C:\\lib\\"'),
        ("it's!", '@set "T=it\'s!"'),
    ],
)
def test_cmd_quotes_as_batch_files_do(value: str, line: str) -> None:
    assert CMD.assign("T", value) == line
    assert CMD.parse(line).assigned[0].value == value


def test_comments_of_cmd_hold_nothing_that_it_looks_at() -> None:
    text = CMD.said("+5 % of x, a%b %~d0 <in> a & b | c ^ d! \\")
    assert text == "@rem +5 percent of x, a percentb percent~d0 (in) a + b / c ' d."
    assert b"%" not in CMD.write(CONTENT)
