"""Children as this machine's shell and Python make them: how they end, and that nothing of them stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from doctor.processes.run import Child, _named, kill_running, run

SHELL = "/bin/sh"
posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and process groups are POSIX")


def python(code: str, timeout_seconds: float = 20, **options: object):
    return run([sys.executable, "-c", code], timeout_seconds=timeout_seconds, **options)  # type: ignore[arg-type]


def gone(pid: int, within_seconds: float = 5) -> bool:
    """True once no process with this id runs any more (a zombie that waits for its parent has ended)."""
    end = time.monotonic() + within_seconds
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_a_child_that_ends_well() -> None:
    ended = python("print('hello'); import sys; print('aside', file=sys.stderr)")
    assert (ended.outcome, ended.status, ended.name, ended.ok) == ("exited", 0, "exit 0", True)
    assert ended.stdout.split() == [b"hello"]
    assert ended.stderr.split() == [b"aside"]
    assert not ended.truncated
    assert ended.seconds > 0


def test_an_exit_status_is_kept() -> None:
    ended = python("raise SystemExit(3)")
    assert (ended.outcome, ended.status, ended.name, ended.ok) == ("exited", 3, "exit 3", False)


@pytest.mark.parametrize("program", ["python3", "./python3", "bin/python3", ""])
def test_only_an_absolute_path_is_started(program: str) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        Child([program])


@posix_only
def test_why_a_child_did_not_start(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a program\n")
    closed = run([str(text)], timeout_seconds=5)
    text.chmod(0o755)
    reasons = {
        "missing": run([str(tmp_path / "missing")], timeout_seconds=5),
        "folder": run([str(tmp_path)], timeout_seconds=5),
        "closed": closed,
        "text": run([str(text)], timeout_seconds=5),
        "nul": run([SHELL, "-c", "a\0b"], timeout_seconds=5),
        "no folder": run([SHELL, "-c", "true"], timeout_seconds=5, cwd=str(tmp_path / "missing")),
    }
    assert {ended.outcome for ended in reasons.values()} == {"not-started"}
    assert {name: ended.name for name, ended in reasons.items()} == {
        "missing": "No such file or directory",
        "folder": "Permission denied",
        "closed": "Permission denied",
        "text": "Exec format error",
        "nul": "embedded null byte",
        "no folder": "No such file or directory",
    }


@posix_only
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGFPE", "SIGILL", "SIGABRT", "SIGKILL"])
def test_a_signal_is_named(name: str) -> None:
    no_core_file = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); "
    ended = python(no_core_file + f"import os, signal; os.kill(os.getpid(), signal.{name})")
    assert (ended.outcome, ended.status, ended.name, ended.ok) == ("signal", None, name, False)


def test_return_codes_of_windows_and_unnamed_signals() -> None:
    assert _named(0xC0000005, 1) == ("signal", None, "ACCESS_VIOLATION")
    assert _named(0xC000001D, 1) == ("signal", None, "ILLEGAL_INSTRUCTION")
    assert _named(0xC0001234, 1) == ("signal", None, "status 0xC0001234")
    assert _named(-40, 1) == ("signal", None, "signal 40")
    assert _named(None, 2.5) == ("timeout", None, "timeout after 2.5 s")


@posix_only
def test_a_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    grandchild = f"sleep 600 & echo $! >>{pids}; sleep 600"
    ended = run([SHELL, "-c", f"{SHELL} -c '{grandchild}' & echo $$ >>{pids}; wait"], timeout_seconds=0.5)
    assert (ended.outcome, ended.name) == ("timeout", "timeout after 0.5 s")
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    assert all(gone(pid) for pid in started)


@posix_only
def test_what_a_child_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ended = run([SHELL, "-c", f"sleep 600 & echo $! >{pid}"], timeout_seconds=10)
    assert ended.ok
    assert gone(int(pid.read_text()))


@posix_only
def test_a_grandchild_that_left_the_group_cannot_hold_us_up() -> None:
    sleep = "[sys.executable, '-c', 'import time; time.sleep(600)']"
    code = f"import subprocess, sys; print(subprocess.Popen({sleep}, start_new_session=True).pid)"
    ended = python(code)
    grandchild = psutil.Process(int(ended.stdout))
    try:
        assert ended.ok
        assert grandchild.is_running()  # it holds both pipes still
    finally:
        grandchild.kill()


def test_output_is_capped_and_the_child_goes_on() -> None:
    ended = python("for _ in range(200): print('x' * 999)", cap_bytes=5000)
    assert ended.ok
    assert len(ended.stdout) == 5000
    assert ended.truncated


def test_a_line_without_end_is_capped() -> None:
    ended = python("import sys; sys.stdout.write('x' * 3_000_000)", cap_bytes=100_000)
    assert ended.ok
    assert (len(ended.stdout), ended.truncated) == (100_000, True)


def test_a_child_that_closes_stdout_and_lives_is_waited_for() -> None:
    ended = python("import os, time; os.write(1, b'early'); os.close(1); time.sleep(0.3); raise SystemExit(7)")
    assert (ended.status, ended.stdout) == (7, b"early")


def test_a_child_that_closes_stdout_and_hangs_is_ended() -> None:
    ended = python("import os, time; os.close(1); os.close(2); time.sleep(600)", timeout_seconds=0.5)
    assert ended.outcome == "timeout"


def test_binary_output_comes_through_unchanged() -> None:
    ended = python("import sys; sys.stdout.buffer.write(bytes(range(256)))")
    assert ended.stdout == bytes(range(256))


def test_stdin_is_closed() -> None:
    assert python("import sys; print(repr(sys.stdin.read()))").stdout.strip() == b"''"


def test_environment_and_folder_are_the_given_ones(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd()); print(sorted(name for name in os.environ if name.startswith('DOCTOR')))"
    ended = python(code, env={**os.environ, "DOCTOR_SAYS": "x"}, cwd=str(tmp_path))
    assert ended.stdout.decode().split() == [os.path.realpath(tmp_path), "['DOCTOR_SAYS']"]


def test_lines_arrive_while_the_child_runs() -> None:
    seen: list[bytes] = []
    first = threading.Event()

    def on_line(line: bytes) -> None:
        seen.append(line.strip())
        first.set()

    child = Child([sys.executable, "-c", "import time; print('begin', flush=True); time.sleep(600)"], on_line=on_line)
    assert first.wait(20)
    child.kill()
    assert seen == [b"begin"]
    ended = child.wait(20)
    assert ended.outcome == ("signal" if os.name == "posix" else "exited")


def test_lines_of_stderr_arrive_apart() -> None:
    seen: list[bytes] = []
    code = "import sys; print('out'); print('aside', file=sys.stderr)"
    assert Child([sys.executable, "-c", code], on_error_line=seen.append).wait(20).ok
    assert [line.strip() for line in seen] == [b"aside"]


def test_lines_behind_the_cap_still_arrive() -> None:
    seen: list[bytes] = []
    child = Child([sys.executable, "-c", "for n in range(100): print(n)"], cap_bytes=10, on_line=seen.append)
    assert child.wait(20).truncated
    assert [int(line) for line in seen] == list(range(100))


@posix_only
def test_a_running_child_ends_when_this_process_ends(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"""
from doctor.processes.run import Child
import pathlib, time
child = Child(["{SHELL}", "-c", "echo $$ >{pid}; sleep 600"])
pid = pathlib.Path("{pid}")
while not (pid.exists() and pid.read_text().endswith("\\n")): time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert gone(int(pid.read_text()))


@posix_only
def test_kill_running_ends_children_that_nobody_waits_for() -> None:
    child = Child([SHELL, "-c", "sleep 600"])
    kill_running()
    ended = child.wait(30)
    assert (ended.outcome, ended.name) == ("signal", signal.SIGKILL.name)
