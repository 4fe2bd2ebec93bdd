"""Finds the pieces of one pasted text: which lines belong to collect_env, to a list of packages, to our own JSON.

A piece is the lines `first` to `end` of `lines`, `end` behind the last. Only whole lines are given: the last line of a
text that no newline ends may have been cut. What no piece claims is left to the readers of other texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from doctor.texts import collect_env as ce

#: First line, and the line behind the last.
Span: TypeAlias = tuple[int, int]

#: Lines between two rows of collect_env that are no rows: paths of cuDNN, a complaint of Windows.
_MOST_BETWEEN = 15
#: lscpu of a machine with many NUMA nodes and several sockets stands beneath "CPU:".
_MOST_CPU_LINES = 600
_MOST_TOPOLOGY_LINES = 80
_FEWEST_KEYS = 2
_COLLECTING = re.compile(r"[ \t]*(?:INFO.{0,60})?Collecting environment information\.*[ \t]*")

_CONFIG_HEAD = re.compile(r"[ \t]*PyTorch built with:[ \t]*|[ \t]*ATen/Parallel:[ \t]*")
_CONFIG_REPR = "PyTorch built with:\\n"
_CONFIG_ROW = re.compile(
    r"[ \t]+- .*|[ \t]*(?:at::|omp_|mkl_|std::thread::)\w+\(\) : .*|[ \t]*(?:OpenMP|Intel\(R\)) .*"
    r"|[ \t]*Environment variables:[ \t]*|[ \t]*\w+_NUM_THREADS : .*|[ \t]*ATen parallel backend: .*|[ \t]*"
)

_OWN_SCHEMA = re.compile(r'"schema"[ \t]*:[ \t]*"amd-doctor/')
_MOST_DOCUMENTS = 20
_LINES_BEFORE_SCHEMA = 3


def collect_env_span(lines: Sequence[str]) -> Span | None:
    """The first output of collect_env: its rows, and what stands between them."""
    rows = [at for at, line in enumerate(lines) if _is_row(line)]
    while rows:
        run = _run(lines, rows)
        keys = {ce.key_of(lines[at]) for at in run} & set(ce.STRONG_KEYS)
        libraries = any(ce.is_package_row(lines[at]) for at in run)
        begun = any(_COLLECTING.fullmatch(lines[at]) for at in run)
        if len(keys) >= _FEWEST_KEYS or (libraries and (keys or begun or _has_headline(lines, run))):
            return run[0], _behind(lines, run[-1]) if run[-1] == rows[-1] else run[-1] + 1
        rows = rows[len(run) :]
    return None


def _is_row(line: str) -> bool:
    return ce.key_of(line) is not None or ce.is_package_row(line) or ce.is_headline(line) or _begins(line)


def _begins(line: str) -> bool:
    return _COLLECTING.fullmatch(line) is not None


def _has_headline(lines: Sequence[str], run: Sequence[int]) -> bool:
    return any(ce.is_libraries_headline(lines[at]) for at in run)


def _run(lines: Sequence[str], rows: Sequence[int]) -> list[int]:
    """The rows of one output: up to a gap that is too wide, or to a key that begins the next output."""
    run = [rows[0]]
    seen = {ce.key_of(lines[rows[0]])} - {None}
    in_cpu = ce.is_cpu_headline(lines[rows[0]])
    for at in rows[1:]:
        key = ce.key_of(lines[at])
        in_variables = "gpu topology" in seen
        most = _MOST_CPU_LINES if in_cpu else _MOST_TOPOLOGY_LINES if in_variables else _MOST_BETWEEN
        if at - run[-1] > most or (key in seen and key in ce.STRONG_KEYS) or (_begins(lines[at]) and seen):
            break
        in_cpu = (in_cpu and ce.is_banner(lines[at])) or ce.is_cpu_headline(lines[at])
        seen |= {key} - {None}
        run.append(at)
    return run


def _behind(lines: Sequence[str], last: int) -> int:
    """The line behind the last row; beneath "CPU:" and among vLLM's variables more lines belong to it."""
    at = last + 1
    if ce.is_cpu_headline(lines[last]) or ce.is_banner(lines[last]):
        while at < len(lines) and (not lines[at].strip() or ce.is_labelled(lines[at])):
            at += 1
    elif ce.key_of(lines[last]) in ce.VLLM_KEYS or ce.is_variables_headline(lines[last]):
        most = min(len(lines), at + _MOST_TOPOLOGY_LINES)
        variables = [row for row in range(at, most) if ce.is_variable(lines[row])]
        at = variables[-1] + 1 if variables else at
        while at < len(lines) and ce.is_variable(lines[at]):
            at += 1
    return at


def torch_config_span(lines: Sequence[str]) -> Span | None:
    """The first output of `torch.__config__.show()` or of `parallel_info()`; without `print` it is one long line."""
    first = next((at for at, line in enumerate(lines) if _CONFIG_HEAD.fullmatch(line) or _CONFIG_REPR in line), None)
    if first is None:
        return None
    if _CONFIG_REPR in lines[first]:
        return first, first + 1
    end = first + 1
    while end < len(lines) and _CONFIG_ROW.fullmatch(lines[end]):
        end += 1
    return first, end


def own_documents(lines: Sequence[str]) -> list[tuple[Span, dict[str, Any]]]:
    """Every JSON object of ours that stands in the text, with the lines it takes."""
    found: list[tuple[Span, dict[str, Any]]] = []
    behind = 0
    for at, line in enumerate(lines):
        if at < behind or len(found) >= _MOST_DOCUMENTS or not _OWN_SCHEMA.search(line):
            continue
        read = _object_around(lines, at, behind)
        if read is not None:
            found.append(read)
            behind = read[0][1]
    return found


def _object_around(lines: Sequence[str], at: int, lowest: int) -> tuple[Span, dict[str, Any]] | None:
    """The outermost JSON object that begins at the schema's line or a few lines before it."""
    for first in range(max(lowest, at - _LINES_BEFORE_SCHEMA), at + 1):
        begin = lines[first].find("{")
        if begin < 0:
            continue
        text = "\n".join([lines[first][begin:], *lines[first + 1 :]])
        try:
            plain, length = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(plain, dict) and str(plain.get("schema", "")).startswith("amd-doctor/"):
            return (first, first + text.count("\n", 0, length) + 1), plain
    return None
