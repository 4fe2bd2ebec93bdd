"""The screens of `tune`. A golden is committed only after somebody read it, beside the verdicts it must say."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from doctor.present.terminal import Look, plain
from doctor.present.tune_ending import Around, exit_status, last_line, next_step
from doctor.present.tune_screen import tune_lines
from tests.present.tune_results import cases

CASES = sorted(cases())

WROTE = Around(
    env_file="amd-doctor.env",
    use="set -a; . ./amd-doctor.env; set +a",
    run="amd-doctor run --env amd-doctor.env -- python train.py",
    saved=True,
)


@pytest.fixture(autouse=True)
def _fixed_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.present.tune_screen.__version__", "1.2.3")


def _text(name: str, look: Look | None = None, around: Around | None = None, *, verbose: bool = False) -> str:
    look, result = look or Look(), cases()[name]
    around = around or (WROTE if result.export is not None else Around(saved=True))
    return plain(tune_lines(result, look, around, verbose=verbose), look)


@pytest.mark.parametrize("name", CASES)
def test_screen(name: str, screen_file: SnapshotAssertion) -> None:
    assert _text(name) == screen_file


@pytest.mark.parametrize("name", ["faster", "faster-with-mask", "some-failed"])
def test_screen_with_every_setting(name: str, screen_file: SnapshotAssertion) -> None:
    assert _text(name, verbose=True) == screen_file


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_only_commands_and_the_last_line_are_wider_than_the_terminal(name: str, columns: int) -> None:
    lines = _text(name, Look(columns=columns), verbose=True).splitlines()
    for line in lines[:-1]:
        assert len(line) <= columns or line.startswith("    "), line
    assert len(_text(name).splitlines()[-1]) <= 80


@pytest.mark.parametrize("name", CASES)
def test_ascii(name: str) -> None:
    assert _text(name, Look(ascii=True), verbose=True).isascii()


@pytest.mark.parametrize("name", CASES)
def test_the_last_line_has_one_form(name: str) -> None:
    result = cases()[name]
    around = WROTE if result.export is not None else Around()
    text = last_line(result, around)
    assert _text(name).splitlines()[-1] == text
    word = r"faster|same|slower|undecided|mixed|failed|budget too small|default failed|nothing to try"
    assert re.match(rf"amd-doctor: ({word})\b", text)
    assert text.endswith("; wrote amd-doctor.env") == (result.export is not None)
    assert ("keep the default" in text) == (result.ending in ("confirmed", "nothing-to-try") and result.export is None)


def test_the_last_lines_as_scripts_read_them() -> None:
    lines = {name: last_line(cases()[name], Around()) for name in CASES}
    assert lines["faster-with-mask"] == "amd-doctor: faster +24 % [22, 25], 6 threads on 12 CPUs"
    assert lines["slower-on-one"].startswith("amd-doctor: mixed +15 % [")
    assert lines["budget-too-small"] == "amd-doctor: budget too small; 40 s are needed"
    assert lines["default-failed"] == "amd-doctor: default failed; killed: SIGILL while gemm-1024 ran"
    assert lines["nothing-to-try"] == "amd-doctor: nothing to try; keep the default"
    assert lines["failed-in-confirmation"] == "amd-doctor: failed, 4 threads; keep the default"


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_claimed_is_kept_as_it_is(name: str) -> None:
    result, text = cases()[name], _text(name)
    assert (WROTE.run in text) == (result.export is not None)
    assert ("Keep the default" in text) == (result.ending in ("confirmed", "nothing-to-try") and result.export is None)


@pytest.mark.parametrize("name", CASES)
def test_only_a_default_that_fails_and_too_small_a_budget_are_errors(name: str) -> None:
    assert exit_status(cases()[name]) == {"default-failed": 1, "budget-too-small": 2}.get(name, 0)


def test_the_next_command_asks_for_the_same_again() -> None:
    again = Around(repeated=" --mode infer", command=" -- python train.py")
    small = next_step(cases()["budget-too-small"], again)
    assert small.command == "amd-doctor tune --mode infer --budget 50s -- python train.py"
    noisy = next_step(cases()["undecided-raw"], again)
    assert re.fullmatch(r"amd-doctor tune --mode infer --budget \d+0s -- python train.py", noisy.command)


def test_a_result_without_a_file_is_not_lost() -> None:
    result = cases()["faster"]
    saved = next_step(result, Around(saved=True, command=" -- ./train"))
    assert saved.command == "amd-doctor tune --resume --write-env -- ./train"
    assert next_step(result, Around(repeated=" --mode infer")).command == "amd-doctor tune --mode infer --write-env"


def test_a_default_that_fails_in_between_is_told() -> None:
    once = ("hung: it did not end in time (timeout after 96 s)",)
    text = " ".join(_text("undecided", around=Around(default_failures=once)).split())
    assert "! what you have now failed in 1 process, a pair was lost: hung: it did not end in time" in text
    assert "failed in 2 processes" in _text("undecided", around=Around(default_failures=once * 2))


def test_a_gain_that_needs_the_mask_is_used_by_run() -> None:
    masked = cases()["faster-with-mask-only"]
    assert masked.export is not None and masked.export_variables is None
    assert next_step(masked, WROTE).command == WROTE.run
    assert WROTE.use not in _text("faster-with-mask-only")
    assert next_step(cases()["faster"], WROTE).command == WROTE.use
    no_source = Around(env_file="amd-doctor.service.env", run="amd-doctor run …", saved=True)
    assert next_step(cases()["faster"], no_source).command == "amd-doctor run …"
