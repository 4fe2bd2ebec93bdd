"""The user's own command as a unit: real children, found on PATH, bound, read for a number, and ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.machine.cpulist import format_cpulist
from doctor.measure import command
from doctor.measure.command import CannotRun, CommandExperiment, LastMatch, resolved
from doctor.measure.units import Setting, Unit, UnitResult, Variant
from doctor.measure.worker import PAD
from doctor.processes.run import Child

ROOT = Path(__file__).resolve().parents[2]
CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else frozenset(range(os.cpu_count() or 1))
ALL_CPUS = format_cpulist(CPUS)

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")


def unit_of(setting: Setting | None = None, limit_seconds: float = 60) -> Unit:
    return Unit(0, "search", 0, "arm", setting or Setting(), ("command",), 50, limit_seconds)


def measured(
    code: str,
    *,
    metric: str | None = None,
    higher_is_better: bool = False,
    setting: Setting | None = None,
    limit_seconds: float = 60,
    cwd: str | None = None,
    environ: dict[str, str] | None = None,
) -> UnitResult:
    runner = CommandExperiment(
        [sys.executable, "-c", textwrap.dedent(code)],
        os.environ if environ is None else environ,
        metric,
        higher_is_better,
        all_cpus=ALL_CPUS,
        cwd=cwd,
    )
    return runner.measure(unit_of(setting, limit_seconds))


def gone(pid: int, within_seconds: float = 10) -> bool:
    end = time.monotonic() + within_seconds
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_its_time_counts() -> None:
    result = measured("print('a result of its own')")
    assert result.outcome == "ok"
    (timing,) = result.timings
    assert (timing.workload, timing.answer, timing.items) == ("command", None, 1.0)
    assert 0 < timing.seconds[0] <= result.wall_seconds


def test_what_it_prints_stays_inside(capfd: pytest.CaptureFixture[str]) -> None:
    measured("import sys; print('loud'); print('louder', file=sys.stderr)")
    assert capfd.readouterr() == ("", "")


def test_it_stands_where_the_user_stands_with_the_users_environment(tmp_path: Path) -> None:
    code = """
        import json, os
        with open("told.json", "w") as file:
            json.dump([os.getcwd(), dict(os.environ)], file)
    """
    environ = {**os.environ, "A": "1", "B": "2", "PYTHONHASHSEED": "5", "PYTHONPATH": ":relative"}
    setting = Setting(variables={"A": None, "B": "3", "C": "4"})
    measured(code, setting=setting, cwd=str(tmp_path), environ=environ)
    folder, env = json.loads((tmp_path / "told.json").read_text())
    assert folder == os.path.realpath(tmp_path)
    assert "A" not in env
    assert (env["B"], env["C"]) == ("3", "4")
    # Nothing is cleaned away: it has to run as it does for the user.
    assert (env["PYTHONHASHSEED"], env["PYTHONPATH"]) == ("5", ":relative")
    assert len(env[PAD]) == 50


def test_it_has_its_mask() -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("needs sched_setaffinity, which only Linux has")
    code = "import os; print('cpus:', len(os.sched_getaffinity(0)))"
    one = measured(code, metric=r"cpus: (\d+)", setting=Setting(cpus=str(min(CPUS))))
    assert one.timings[0].seconds == (1.0,)
    assert measured(code, metric=r"cpus: (\d+)").timings[0].seconds == (float(len(CPUS)),)


# A number that it prints


@pytest.mark.parametrize(
    ("code", "metric", "higher_is_better", "seconds"),
    [
        ("print('img/s: 20.5')\nprint('img/s: 40.0 (mean)')", r"img/s: ([0-9.]+)", True, 1 / 40),
        ("print('loss 3'); print('step 0.25 s')", r"step ([0-9.]+) s", False, 0.25),
        ("print('7')", r"\d+", False, 7.0),
        ("print('it took 2e-3')", r"took (\S+)", False, 0.002),
        ("print('a=1 a=2 a=4', end='')", r"a=(\d)", False, 4.0),
        # A progress bar on stderr writes over itself.
        ("import sys; sys.stderr.write('1/9 5.0it/s\\r2/9 8.0it/s\\r')", r"([0-9.]+)it/s", True, 0.125),
        # stdout comes before stderr.
        ("import sys; print('n=2'); print('n=9', file=sys.stderr)", r"n=(\d)", False, 2.0),
        # Far behind what is kept of the output.
        ("print('x' * 99, end='')\nfor n in range(120000): print('some more words to fill it up', 1)\nprint('n=5')",
         r"n=(\d)", False, 5.0),
        ("print('é'); print('größe=6')", r"größe=(\d)", False, 6.0),
    ],
)  # fmt: skip
def test_the_last_match_counts(code: str, metric: str, higher_is_better: bool, seconds: float) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    result = measured(code, metric=metric, higher_is_better=higher_is_better, environ=environ)
    assert (result.outcome, result.detail) == ("ok", "")
    assert result.timings[0].seconds == (pytest.approx(seconds),)


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("print('nothing')", r"nothing in its output matches 'img/s: (\\S+)'"),
        ("print('img/s: fast')", "'fast', which matches, is no number"),
        ("print('img/s: 1,200')", "'1,200', which matches, is no number"),
        ("print('img/s: 0')", "'0', which matches, is no number above zero"),
        ("print('img/s: -3')", "'-3', which matches, is no number above zero"),
        ("print('img/s: inf')", "'inf', which matches, is no number above zero"),
        ("print('img/s: nan')", "'nan', which matches, is no number above zero"),
    ],
)
def test_output_without_a_usable_number_is_rubbish(code: str, detail: str) -> None:
    result = measured(code, metric=r"img/s: (\S+)", higher_is_better=True)
    assert (result.outcome, result.detail, result.timings) == ("rubbish", detail, ())


def test_a_metric_that_is_no_regular_expression() -> None:
    with pytest.raises(CannotRun, match=r"^the metric 'img/s: \(' is no regular expression: "):
        CommandExperiment([sys.executable], os.environ, "img/s: (", all_cpus=ALL_CPUS)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9999), min_size=1, max_size=8), st.integers(1, 7), st.sampled_from(["\n", "\r", "\r\n"]))
def test_pieces_of_any_length_change_nothing(numbers: list[int], length: int, end: str) -> None:
    text = "".join(f"n={number};{end}" for number in numbers).encode()
    found = LastMatch(re.compile(rb"n=(\d+);"))
    for at in range(0, len(text), length):
        found.feed(text[at : at + length])
    assert found.end() == str(numbers[-1])


def test_a_group_that_took_no_part_gives_the_whole_match() -> None:
    found = LastMatch(re.compile(rb"\d+( ms)?"))
    found.feed(b"12 ms\n34\n")
    assert found.end() == "34"
    nothing = LastMatch(None)
    nothing.feed(b"1\n")
    assert nothing.end() is None


# Commands that fail


@pytest.mark.parametrize(
    ("code", "outcome", "detail"),
    [
        ("raise SystemExit(3)", "rubbish", "it ended with exit 3"),
        ("open('/no/such/data.csv')", "rubbish",
         "it ended with exit 1: FileNotFoundError: [Errno 2] No such file or directory: '/no/such/data.csv'"),
        ("print('usage: train.py --steps N'); raise SystemExit(2)", "rubbish",
         "it ended with exit 2: usage: train.py --steps N"),
        ("bytearray(1 << 60)", "out-of-memory", "it ended with exit 1: MemoryError"),
        ("raise RuntimeError('HIP out of memory. Tried to allocate 2 GiB')", "out-of-memory",
         "it ended with exit 1: RuntimeError: HIP out of memory. Tried to allocate 2 GiB"),
    ],
)  # fmt: skip
def test_a_failure_is_a_value(code: str, outcome: str, detail: str) -> None:
    result = measured(code)
    assert (result.outcome, result.detail, result.timings) == (outcome, detail, ())


@posix_only
def test_a_killed_command_names_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.{})"
    assert (measured(code.format("SIGTERM")).outcome, measured(code.format("SIGTERM")).detail) == ("killed", "SIGTERM")
    assert measured(code.format("SIGALRM")).outcome == "killed"  # its own affair
    counted = iter([0, 1])
    monkeypatch.setattr(command, "out_of_memory_kills", lambda _: next(counted))
    result = measured(code.format("SIGKILL"))
    assert (result.outcome, result.detail) == ("out-of-memory", "SIGKILL: the memory was used up")


def test_a_command_that_hangs_is_ended() -> None:
    result = measured("import time; time.sleep(600)", limit_seconds=1)
    assert (result.outcome, result.detail) == ("hung", "it did not end in time (timeout after 1 s)")


def test_what_a_command_cannot_be_given_is_refused() -> None:
    with pytest.raises(ValueError, match="variables and CPUs only"):
        measured("", setting=Setting(options={"batch": "4"}))
    runner = CommandExperiment([sys.executable], os.environ, all_cpus=ALL_CPUS)
    with pytest.raises(ValueError, match="variables and CPUs only"):
        runner.measure(Unit(0, "search", 0, "arm", Setting(), ("command",), 5, 9.0, (Variant("a"),)))


@posix_only
def test_ctrl_c_takes_the_whole_group_along(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    slow = tmp_path / "train.sh"
    slow.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ $! >{pids}\nwait\n")
    slow.chmod(0o755)
    code = f"""
        import os, time
        from doctor.measure.command import CommandExperiment
        from doctor.measure.units import Setting, Unit
        runner = CommandExperiment([{str(slow)!r}], os.environ, all_cpus={ALL_CPUS!r})
        try:
            runner.measure(Unit(0, "search", 0, "arm", Setting(), ("command",), 5, 500.0))
        except KeyboardInterrupt:
            time.sleep(600)
    """
    doctor = Child([sys.executable, "-c", textwrap.dedent(code)], cwd=str(ROOT))
    try:
        deadline = time.monotonic() + 60
        while not (pids.exists() and pids.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert doctor._process is not None
        doctor._process.send_signal(signal.SIGINT)
        assert all(gone(int(pid)) for pid in pids.read_text().split())
        assert doctor._process.poll() is None
    finally:
        doctor.kill()


# Finding the program


@posix_only
def test_a_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        program = tmp_path / folder / "train"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    path = {"PATH": f"{tmp_path}/first:{tmp_path}/second"}
    assert resolved(["train", "--steps"], path, "/") == f"{tmp_path}/first/train"
    assert resolved(["./train"], path, str(tmp_path / "second")) == f"{tmp_path}/second/train"
    assert resolved(["second/train"], {}, str(tmp_path)) == f"{tmp_path}/second/train"
    assert resolved([f"{tmp_path}/second/train"], {}, "/") == f"{tmp_path}/second/train"
    (tmp_path / "first" / "train").chmod(0o644)
    assert resolved(["train"], path, "/") == f"{tmp_path}/second/train"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "there is no command behind --"),
        ([""], "there is no command behind --"),
        (["no-such-program-here"], "there is no program 'no-such-program-here' on PATH"),
        (["./no-such-program"], "there is no program './no-such-program'"),
    ],
)
def test_a_program_that_is_not_there(argv: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(CannotRun) as caught:
        CommandExperiment(argv, os.environ, all_cpus=ALL_CPUS, cwd=str(tmp_path))
    assert str(caught.value) == told


@posix_only
def test_a_file_that_is_no_program_does_not_start(tmp_path: Path) -> None:
    text = tmp_path / "notes"
    text.write_bytes(b"\x00\x01 no program")
    text.chmod(0o755)
    result = CommandExperiment([str(text)], os.environ, all_cpus=ALL_CPUS).measure(unit_of())
    assert (result.outcome, result.detail) == ("rubbish", "it does not start: Exec format error")


def test_nothing_of_this_is_imported_with_torch() -> None:
    code = "import doctor.measure.worker, doctor.measure.command, sys; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, timeout=60)
    assert run.stdout.strip() == b"False", run.stderr
