"""`amd-doctor run` as a process: the command's own input, output, signals and status; the mask; what is refused."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor.envfile.content import CPUS
from doctor.envfile.start import Start
from doctor.present.run_plan import dry_run_lines
from tests.cli.running import Doctor, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX: the Windows way is tested under Wine")

ALLOWED = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else [0]
SEEN = "import os; print(os.environ.get('OMP_NUM_THREADS'), sorted(os.sched_getaffinity(0)))"


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    """A file with a thread count, and a mask of the first CPU that the tests may use."""
    path = tmp_path / "amd-doctor.env"
    path.write_text(f"OMP_NUM_THREADS=1\n{CPUS}={ALLOWED[0]}\n")
    return path


def started(*arguments: str | Path, env: Mapping[str, str] | None = None, **more: object) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "doctor", "run", *map(str, arguments)]
    return subprocess.Popen(argv, env=environment(**(env or {})), stdout=subprocess.PIPE, **more)  # type: ignore[call-overload,no-any-return]


def test_variables_and_mask(doctor: Doctor, env_file: Path) -> None:
    ended = doctor("run", "--env", env_file, "--", sys.executable, "-c", SEEN, env={"OMP_NUM_THREADS": "7"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"1 [{ALLOWED[0]}]\n"


def test_torch_counts_its_threads_by_the_mask(doctor: Doctor, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    path = tmp_path / "mask.env"
    path.write_text(f"{CPUS}={ALLOWED[0]}\n")
    code = "import torch, os; print(torch.get_num_threads(), os.sched_getaffinity(0))"
    ended = doctor("run", "--env", path, "--", sys.executable, "-c", code)
    assert ended.stdout == f"1 {{{ALLOWED[0]}}}\n"


def test_without_a_file_nothing_is_loaded(doctor: Doctor, env_file: Path) -> None:
    ended = doctor("run", "--", sys.executable, "-c", SEEN, env={"OMP_NUM_THREADS": "7", "PWD": str(env_file.parent)})
    assert (ended.returncode, ended.stdout) == (0, f"7 {ALLOWED}\n")
    assert ended.stderr == "amd-doctor: no env file is named, so the environment stays as it is; --env FILE loads one\n"
    assert doctor("run", "-q", "--", "true").stderr == ""


def test_the_mask_of_a_sourced_file(doctor: Doctor) -> None:
    ended = doctor("run", "--", sys.executable, "-c", SEEN, env={CPUS: str(ALLOWED[-1]), "OMP_NUM_THREADS": "2"})
    assert (ended.stdout, ended.stderr) == (f"2 [{ALLOWED[-1]}]\n", "")


def test_a_mask_that_does_not_fit(doctor: Doctor, tmp_path: Path) -> None:
    path = tmp_path / "other.env"
    path.write_text(f"{CPUS}={ALLOWED[0]},{ALLOWED[-1] + 1}\n")
    ended = doctor("run", "--env", path, "--", sys.executable, "-c", SEEN)
    assert ended.stdout == f"None [{ALLOWED[0]}]\n"
    assert f"amd-doctor: the CPU mask is cut to {ALLOWED[0]}: " in ended.stderr
    path.write_text(f"{CPUS}={ALLOWED[-1] + 1}\n")
    ended = doctor("run", "--env", path, "--", sys.executable, "-c", SEEN)
    assert ended.stdout == f"None {ALLOWED}\n" and "the CPU mask is left aside" in ended.stderr


@pytest.mark.parametrize("status", [0, 1, 2, 70, 130, 255])
def test_the_exit_status_is_that_of_the_command(doctor: Doctor, env_file: Path, status: int) -> None:
    ended = doctor("run", "--env", env_file, "--", "sh", "-c", f"exit {status}")
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, "", "")


def test_a_command_that_dies_of_a_signal(doctor: Doctor, env_file: Path) -> None:
    assert doctor("run", "--env", env_file, "--", "sh", "-c", "kill -SEGV $$").returncode == -signal.SIGSEGV
    shell = ["sh", "-c", f"{sys.executable} -m doctor run --env {env_file} -- sh -c 'kill -TERM $$'; echo $?"]
    assert subprocess.run(shell, env=environment(), capture_output=True, text=True).stdout.strip()[-3:] == "143"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT])
def test_signals_reach_the_command(env_file: Path, number: signal.Signals) -> None:
    code = f"trap 'echo heard; exit 9' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.05; done"
    process = started("--env", env_file, "--", "sh", "-c", code)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.communicate(timeout=30)[0] == b"heard\n"
    assert process.returncode == 9


def test_term_ends_a_command_that_does_not_care(env_file: Path) -> None:
    process = started("--env", env_file, "--", "sh", "-c", "echo ready; exec sleep 600")
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(timeout=30) == -signal.SIGTERM


def test_the_command_takes_the_place_of_the_process(env_file: Path) -> None:
    """Same id, same group: it stays in the foreground of its terminal, and nothing waits beside it."""
    process = started("--env", env_file, "--", "sh", "-c", "echo $$; grep SigIgn /proc/$$/status")
    out = process.communicate(timeout=30)[0].split()
    assert int(out[0]) == process.pid
    assert int(out[-1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_input_and_output_are_the_commands_own(doctor: Doctor, env_file: Path) -> None:
    ended = doctor("run", "--env", env_file, "--", "sh", "-c", "cat; echo err >&2", stdin=b"one\ntwo \xff\n")
    assert (ended.stdout, ended.stderr) == ("one\ntwo \ufffd\n", "err\n")


def test_a_terminal_stays_a_terminal(env_file: Path) -> None:
    """The command reads from the terminal, and its Ctrl-C is the command's."""
    code = (
        "import sys\nprint(sys.stdin.isatty(), sys.stdout.isatty(), input('name? '))\n"
        "try:\n    print('waiting', flush=True)\n    import time\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    sys.exit(5)\n"
    )
    terminal, its_end = pty.openpty()
    own = {"stdin": its_end, "stderr": its_end, "start_new_session": True, "preexec_fn": _take_terminal}
    argv = [sys.executable, "-m", "doctor", "run", "--env", str(env_file), "--", sys.executable, "-c", code]
    process = subprocess.Popen(argv, env=environment(), stdout=its_end, **own)  # type: ignore[call-overload]
    os.close(its_end)
    try:
        assert b"name? " in read_until(terminal, b"name? ")
        os.write(terminal, b"somebody\n")
        assert b"True True somebody" in read_until(terminal, b"waiting")
        os.write(terminal, b"\x03")
        assert process.wait(timeout=30) == 5
    finally:
        process.kill()
        os.close(terminal)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(terminal: int, words: bytes) -> bytes:
    seen, end = b"", time.monotonic() + 30
    while words not in seen and time.monotonic() < end:
        seen += os.read(terminal, 1024)
    return seen


def test_what_pins_import_torch_is_taken_out(doctor: Doctor, env_file: Path) -> None:
    code = "import os; print(os.environ.get('OMP_PROC_BIND'))"
    ended = doctor("run", "--env", env_file, "--", sys.executable, "-c", code, env={"OMP_PROC_BIND": "close"})
    assert (ended.returncode, ended.stdout) == (0, "None\n")
    assert ended.stderr.startswith("amd-doctor: OMP_PROC_BIND=close is taken out: with it, import torch leaves")
    argv = ("run", "--env", env_file, "--allow", "OMP_PROC_BIND", "--", sys.executable, "-c", code)
    ended = doctor(*argv, env={"OMP_PROC_BIND": "close"})
    assert (ended.stdout, ended.stderr) == ("close\n", "")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("OMP_NUM_THREADS=1\nLD_PRELOAD=/evil.so\n", "LD_PRELOAD (line 2); nothing was started. To allow it: --allow"),
        ("PATH=/evil\n", "PATH (line 1)"),
        ("hello world\n", "line 1: 'hello' is given no value; nothing was started"),
        (f"{CPUS}=all\n", "nothing was started"),
        ("A=\0", "it is binary"),
        ("# amd-doctor: begin of the managed block, format sh\n", "has no end"),
    ],
)
def test_a_file_that_is_refused(doctor: Doctor, tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "bad.env"
    path.write_text(content)
    ended = doctor("run", "--env", path, "--", "touch", tmp_path / "started")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.stderr and ended.stderr.count("\n") == 1
    assert not (tmp_path / "started").exists()


def test_a_name_that_the_user_allows(doctor: Doctor, tmp_path: Path) -> None:
    path = tmp_path / "mine.env"
    path.write_text("export MY_NAME='it is mine'\r\n")
    ended = doctor("run", "--env", path, "--allow", "MY_NAME", "--", "sh", "-c", 'echo "$MY_NAME"')
    assert (ended.returncode, ended.stdout) == (0, "it is mine\n")


def test_commands_that_cannot_be_started(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "script").write_text("echo no first line\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "lost").chmod(0o755)
    for name, status, words in (
        ("no-such-command", 127, "no-such-command is not found: it is not on PATH"),
        (str(tmp_path / "missing"), 127, "there is no such file"),
        ("", 127, "an empty name is not found"),
        (str(tmp_path), 126, "it is a folder"),
        (str(tmp_path / "text"), 126, "you may not execute it"),
        (str(tmp_path / "script"), 126, "has no line #! at its top"),
        (str(tmp_path / "lost"), 126, "No such file or directory"),
    ):
        ended = doctor("run", "-q", "--", name)
        assert (ended.returncode, ended.stdout) == (status, ""), name
        assert words in ended.stderr and ended.stderr.count("\n") == 1
    ended = doctor("run", "-q", "--", "text", env={"PATH": str(tmp_path)})
    assert (ended.returncode, "text cannot be executed: you may not execute it" in ended.stderr) == (126, True)


@pytest.mark.parametrize(
    "arguments", [[], ["--"], ["--json", "--", "true"], ["--format", "ini", "--env", "x", "--", "true"]]
)
def test_wrong_usage(doctor: Doctor, arguments: list[str]) -> None:
    ended = doctor("run", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "") and "Usage:" in ended.stderr


def test_options_behind_the_command_are_the_commands(doctor: Doctor) -> None:
    assert doctor("run", "-q", "echo", "--json", "--dry-run", "--", "-q").stdout == "--json --dry-run -- -q\n"


def test_dry_run_starts_nothing(doctor: Doctor, env_file: Path, tmp_path: Path) -> None:
    command = ("touch", str(tmp_path / "it's"))
    ended = doctor("run", "--env", env_file, "--dry-run", "--", *command, env={"OMP_PLACES": "cores"})
    assert ended.returncode == 0 and not (tmp_path / "it's").exists()
    lines = ended.stdout.splitlines()
    assert lines[0] == "unset OMP_PLACES"
    assert lines[1:3] == [f"export {CPUS}={ALLOWED[0]}", "export OMP_NUM_THREADS=1"]
    assert lines[3].startswith(f"taskset -c {ALLOWED[0]} touch ")
    subprocess.run(["sh", "-c", ended.stdout], check=True)
    assert (tmp_path / "it's").exists()


def test_dry_run_as_a_document(doctor: Doctor, env_file: Path) -> None:
    ended = doctor("run", "--env", env_file, "--dry-run", "--json", "--", "sh", "-c", "exit 1")
    document = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr, document["schema"]) == (0, "", "amd-doctor/run/1")
    assert document["command"] == ["sh", "-c", "exit 1"] and Path(document["program"]).is_absolute()
    assert document["variables"] == {CPUS: str(ALLOWED[0]), "OMP_NUM_THREADS": "1"}
    assert (document["cpus"], document["removed"], document["notes"]) == (str(ALLOWED[0]), [], [])


@pytest.mark.parametrize("system", ["posix", "windows"])
def test_dry_run_lines(system: str, snapshot: object) -> None:
    start = Start(
        {"OMP_NUM_THREADS": "8", "MKL_DYNAMIC": "it's 50% \"off\"", CPUS: "0-7,16-23"}, ("OMP_PROC_BIND",), "0-7,16-23"
    )
    argv = ["python", "train.py", "--name", "two words", 'say "hi"', "C:\\a b\\", "$HOME"]
    lines = dry_run_lines(start, argv, windows=system == "windows")
    unmasked = dry_run_lines(Start({}), ["python", "x.py"], windows=system == "windows")
    assert "\n".join([*lines, "", *unmasked]) == snapshot
