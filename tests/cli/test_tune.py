"""`amd-doctor tune` as a process, mostly over a command of the user: its units take a few dozen milliseconds each.

One run is measured for real; what else can be said of it is shown again from the saved run, which measures nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from doctor.tune.result import TuneResult
from tests.cli.running import environment, run_doctor

#: One thread is far faster than anything else, whatever else this machine does meanwhile.
_JOB = """
import os, sys, time
print("this output is the command's own")
print("and so are its complaints", file=sys.stderr)
time.sleep(0.01 if os.environ.get("OMP_NUM_THREADS") == "1" else 0.12)
print("speed:", 5000 if os.environ.get("OMP_NUM_THREADS") == "1" else 1000, "img/s")
"""
#: More than a slow machine needs for the least: a run ends by itself when it has all the pairs that it may take.
BUDGET = "60s"

_POSIX = pytest.mark.skipif(os.name == "nt", reason="signals and modes of POSIX")


@cache
def bare_python() -> str:
    """A Python without torch: the command's Python is the one that is looked at, and that of the tests takes longer."""
    folder = Path(tempfile.mkdtemp(prefix="amd-doctor-tests-")) / "bare"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


class Place:
    """A folder of its own for a command, the state and the files of a run."""

    def __init__(self, folder: Path, job: str = _JOB) -> None:
        self.folder = folder
        self.state = folder / "state"
        (folder / "my_secret_job.py").write_text(job, encoding="utf-8")
        self.command = (bare_python(), "-S", "my_secret_job.py")

    @property
    def env(self) -> dict[str, str]:
        return {"XDG_STATE_HOME": str(self.state), "LOCALAPPDATA": str(self.state), "SHELL": "/bin/bash"}

    def tune(self, *options: str, command: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        behind = ("--", *self.command) if command else ()
        return run_doctor("tune", *options, *behind, env={**self.env, **env}, cwd=self.folder)

    def logs(self) -> list[Path]:
        return sorted(self.state.rglob("*.jsonl"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, subprocess.CompletedProcess[str]]:
    """One real run, with every file that it can write."""
    place = Place(tmp_path_factory.mktemp("tuned"))
    ended = place.tune("--yes", "--budget", BUDGET, "--seed", "7", "--write-env", "-o", "result.json")
    assert ended.returncode == 0, ended.stderr
    return place, ended


Measured = tuple[Place, "subprocess.CompletedProcess[str]"]


def test_a_faster_setting_of_a_command_is_found(measured: Measured) -> None:
    place, ended = measured
    lines = ended.stdout.splitlines()
    assert lines[-1].startswith("amd-doctor: faster +") and lines[-1].endswith(", 1 thread; wrote amd-doctor.env")
    assert lines[-2] == "    set -a; . ./amd-doctor.env; set +a"
    assert "OMP_NUM_THREADS=1\n" in (place.folder / "amd-doctor.env").read_text(encoding="utf-8")
    assert "This machine repeats itself within ±" in ended.stdout


def test_the_command_s_output_reaches_nobody(measured: Measured) -> None:
    _, ended = measured
    for text in (ended.stdout, ended.stderr):
        assert "the command's own" not in text and "complaints" not in text


def test_a_pipe_gets_a_plain_line_for_each_stage(measured: Measured) -> None:
    _, ended = measured
    said = [line for line in ended.stderr.splitlines() if "busy now" not in line]
    assert said[0] == "amd-doctor: measuring what one process costs; at most 1 min in all"
    assert said[1].startswith("amd-doctor: search: ")
    assert said[-2].startswith("amd-doctor: confirming 1 thread; at most ")
    assert said[-1] == "amd-doctor: wrote result.json"
    assert "\x1b" not in ended.stderr and "\r" not in ended.stderr


def test_the_document_holds_every_sample_and_reads_back(measured: Measured) -> None:
    place, _ = measured
    text = (place.folder / "result.json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert document["schema"] == "amd-doctor/tune/1" and document["plan"]["seed"] == 7
    assert len(document["samples"]) == document["units"]
    assert [sample["unit"]["number"] for sample in document["samples"]] == list(range(document["units"]))
    assert document["machine"]["cpu"] and document["machine"]["env"] == {}
    assert document["export_variables"]["variables"] == {"OMP_NUM_THREADS": "1"}
    result = msgspec.json.decode(text, type=TuneResult)
    assert result.export is not None and result.export.verdict.word == "faster"


def test_json_is_one_document_and_nothing_else(measured: Measured) -> None:
    place, _ = measured
    ended = place.tune("--resume", "--json")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    saved = json.loads((place.folder / "result.json").read_text(encoding="utf-8"))
    for name in ("samples", "candidates", "arms", "plan", "repeatability"):
        assert document[name] == saved[name], "a saved run gives the same result"


def test_a_complete_run_is_shown_again_without_measuring_or_asking(measured: Measured) -> None:
    place, ended = measured
    again = place.tune("--resume", "--write-env", "again.env")
    assert again.returncode == 0
    assert again.stderr == "amd-doctor: the saved run is complete and shown again: nothing is measured\n"
    assert again.stdout.replace("again.env", "amd-doctor.env") == ended.stdout
    assert (place.folder / "again.env").read_text(encoding="utf-8").count("OMP_NUM_THREADS=1\n") == 1


def test_quiet_prints_the_last_line_only(measured: Measured) -> None:
    place, ended = measured
    quiet = place.tune("--resume", "-q")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert quiet.stdout == ended.stdout.splitlines()[-1].replace("; wrote amd-doctor.env", "") + "\n"


@pytest.mark.parametrize(
    ("options", "env"), [(("--ascii", "-v"), {}), (("-v",), {"LC_ALL": "C"}), (("-v",), {"PYTHONIOENCODING": "ascii"})]
)
def test_the_screen_keeps_to_ascii_where_it_has_to(measured: Measured, options: Any, env: dict[str, str]) -> None:
    place, _ = measured
    ended = place.tune("--resume", *options, **env)
    assert ended.returncode == 0 and ended.stdout.isascii() and "+-" in ended.stdout


def test_a_result_without_a_file_says_how_to_have_one(measured: Measured) -> None:
    place, _ = measured
    lines = place.tune("--resume").stdout.splitlines()
    assert lines[-2].startswith("    amd-doctor tune --resume --write-env -- ")
    assert max(map(len, (line for line in lines if not line.startswith("    ")))) <= 80


@_POSIX
def test_a_reader_that_has_seen_enough_is_no_error(measured: Measured) -> None:
    place, _ = measured
    words = [sys.executable, "-m", "doctor", "tune", "--resume", "--", *place.command]
    command = " ".join(map(json.dumps, words)) + " | head -1; exit ${PIPESTATUS[0]}"
    env = environment(**place.env)
    shell = ["bash", "-c", command]
    ended = subprocess.run(shell, capture_output=True, text=True, env=env, cwd=place.folder, check=False)
    assert ended.returncode == 0 and len(ended.stdout.splitlines()) == 1 and "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", ["dotenv", "sh", "fish", "powershell", "cmd", "systemd", "docker", "conda", "json"])
def test_every_format_is_written(measured: Measured, name: str) -> None:
    place, _ = measured
    folder = place.folder / f"as-{name}"
    folder.mkdir()
    where = str(folder) if name == "conda" else str(folder / "made")
    ended = place.tune("--resume", "--write-env", where, "--format", name)
    assert ended.returncode == 0, ended.stderr
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert written and all("OMP_NUM_THREADS" in path.read_text(encoding="utf-8") for path in written)
    assert ended.stdout.splitlines()[-1].endswith(f"; wrote {where}")


@_POSIX
def test_what_is_kept_is_the_user_s_own_and_never_says_the_command(measured: Measured) -> None:
    place, _ = measured
    kept = [path for path in place.state.rglob("*") if path.is_file()]
    assert {path.suffix for path in kept} == {".jsonl", ".json"}
    for path in kept:
        assert path.stat().st_mode & 0o077 == 0, path
        assert "my_secret_job" not in path.read_text(encoding="utf-8")
    assert (place.state / "amd-doctor" / "tune").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--budget", "99s"), "the saved run has a budget of 60 s"),
        (("--seed", "8"), "the saved run has the seed 7"),
    ],
)
def test_what_the_saved_run_is_not_is_refused(measured: Measured, options: tuple[str, ...], said: str) -> None:
    place, _ = measured
    ended = place.tune("--resume", *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_another_command_has_no_saved_run(measured: Measured) -> None:
    place, _ = measured
    ended = run_doctor("tune", "--resume", "--", *place.command, "more", env=place.env, cwd=place.folder)
    assert ended.returncode == 2 and "there is no saved run of this command" in ended.stderr
    elsewhere = run_doctor("tune", "--resume", "--", *place.command, env=place.env, cwd=place.state)
    assert elsewhere.returncode == 2, "the same words in another folder are another command"


@_POSIX
def test_a_saved_run_that_was_damaged_is_told_in_a_sentence(measured: Measured) -> None:
    place, _ = measured
    log = place.logs()[0]
    whole = log.read_bytes()
    try:
        log.write_bytes(whole.replace(b'"seed":7', b'"seed":[7'))
        ended = place.tune("--resume")
        assert ended.returncode == 2 and "the saved run cannot be read: not a saved run: line 1" in ended.stderr
        log.write_bytes(whole.replace(b'"arm":"threads-1"', b'"arm":"threads-7"'))
        ended = place.tune("--resume")
        assert ended.returncode == 2 and "the saved run is another one" in ended.stderr
    finally:
        log.write_bytes(whole)


# What fails


def test_a_command_that_fails_is_one_sentence_and_1(tmp_path: Path) -> None:
    place = Place(tmp_path, "raise SystemExit('no data here')")
    ended = place.tune("--yes", "--no-save", "--write-env")
    assert ended.returncode == 1
    assert "Your command does not run with what you have now" in ended.stdout and "no data here" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: default failed; ")
    assert not (tmp_path / "amd-doctor.env").exists() and not place.state.exists()


@_POSIX
def test_a_setting_under_which_it_dies_is_out_and_told(tmp_path: Path) -> None:
    dies = "import os, time\ntime.sleep(0.05)\nif os.environ.get('OMP_NUM_THREADS') == '1': os.kill(os.getpid(), 9)\n"
    place = Place(tmp_path, dies)
    ended = place.tune("--yes", "--budget", BUDGET, "--axis", "threads")
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"^! out, 1 thread: .*: killed: SIGKILL", ended.stdout, re.MULTILINE), ended.stdout
    assert "faster" not in ended.stdout.splitlines()[-1]


def test_a_budget_that_is_too_small_names_the_seconds_it_needs(tmp_path: Path) -> None:
    ended = Place(tmp_path).tune("--yes", "--budget", "2s")
    assert ended.returncode == 2
    assert "The budget of 2 s is too small" in ended.stdout
    assert "    amd-doctor tune --budget " in ended.stdout.splitlines()[-2]
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: budget too small; ")


def test_without_a_terminal_a_command_needs_a_yes(tmp_path: Path) -> None:
    ended = Place(tmp_path).tune()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "at least 20 times: add --yes" in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_a_metric_counts_instead_of_the_time(tmp_path: Path) -> None:
    place = Place(tmp_path, _JOB.replace("0.12", "0.01"))
    ended = place.tune("--yes", "--budget", BUDGET, "--metric", r"speed: ([0-9.]+)", "--higher-is-better")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "amd-doctor: faster +400 % [400, 400], 1 thread"


def test_a_metric_that_finds_nothing_is_a_failure(tmp_path: Path) -> None:
    ended = Place(tmp_path).tune("--yes", "--metric", "loss ([0-9]+)", "--lower-is-better")
    assert ended.returncode == 1 and "nothing in its output matches" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--budget", "soon"), "'soon' is no time"),
        (("--budget", "0"), "not between one second and a day"),
        (("--mode", "guess"), "--mode"),
        (("--workload", "gem"), "did you mean gemm"),
        (("--workload", "gemm-1024,mlp-trian"), "did you mean mlp-train"),
        (("--axis", "thread"), "did you mean threads"),
        (("--format", "toml"), "there is no format 'toml'; there are dotenv,"),
        (("--format", "conda"), "say where"),
        (("--write-env", "/no/such/folder/x.env"), "there is no folder /no/such/folder"),
        (("-o", "/no/such/folder/x.json"), "there is no folder /no/such/folder"),
        (("python", "train.py"), "stands behind --"),
        (("--",), "behind -- there is no command"),
        (("--metric", "x"), "behind -- there is none"),
        (("--mode", "train", "--", "true"), "--mode is about the doctor's own workloads"),
        (("--workload", "fit", "--", "true"), "--workload is about the doctor's own workloads"),
        (("--metric", "(", "--", "true"), "is no regular expression"),
        (("--metric", "x ([0-9]+)", "--", "true"), "say which way is better"),
        (("--lower-is-better", "--", "true"), "speak of the number of --metric"),
        (("--", "no-such-program-here"), "there is no program 'no-such-program-here'"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = Place(tmp_path).tune(*arguments, command=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr and "Traceback" not in ended.stderr


def test_a_file_that_is_no_result_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"mine": true}', encoding="utf-8")
    ended = Place(tmp_path).tune("--yes", "-o", "notes.json")
    assert ended.returncode == 2 and "no result of tune" in ended.stderr
    assert (tmp_path / "notes.json").read_text(encoding="utf-8") == '{"mine": true}'


def test_a_python_without_torch_is_told_what_to_do(tmp_path: Path) -> None:
    ended = Place(tmp_path).tune("--python", bare_python(), command=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "there is no PyTorch in " in ended.stderr and "`amd-doctor plan`" in ended.stderr
    assert "--workload numpy-gemm" in ended.stderr and len(ended.stderr.splitlines()) == 1
    numpy = Place(tmp_path).tune("--python", bare_python(), "--workload", "numpy-gemm", command=False)
    assert numpy.returncode == 2 and "there is no NumPy in " in numpy.stderr


# Ctrl-C and full disks


def _waited_for_units(place: Place, count: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        if any(log.read_bytes().count(b"\n") > count for log in place.logs()):
            return
        time.sleep(0.02)
    pytest.fail("the run ended before it could be stopped")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[Place, subprocess.Popen[str]]]:
    place = Place(tmp_path)
    words = [sys.executable, "-m", "doctor", "tune", "--yes", "--budget", BUDGET, "--write-env", "--", *place.command]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**place.env), cwd=tmp_path
    )
    yield place, process
    process.kill()
    process.wait()


@_POSIX
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_leaves_nothing_behind_and_goes_on(
    started: tuple[Place, subprocess.Popen[str]], number: signal.Signals, status: int
) -> None:
    place, process = started
    _waited_for_units(place, 7, process)
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=10)
    assert (process.returncode, stdout) == (status, "")
    _, alive = psutil.wait_procs(below, timeout=2)
    assert alive == []
    last = stderr.splitlines()[-1]
    assert last.startswith("amd-doctor: stopped after ") and " tune --resume -- " in last
    files = {path.name for path in place.folder.iterdir()}
    assert files == {"my_secret_job.py", "state"}, "no half-written file"
    before = [json.loads(line) for line in place.logs()[0].read_bytes().splitlines()[1:]]
    if number != signal.SIGINT:
        return
    ended = place.tune("--resume", "--yes", "--json")
    assert ended.returncode == 0, ended.stderr
    assert f"{len(before)} processes are measured already" in ended.stderr
    document = json.loads(ended.stdout)
    assert len(document["samples"]) > len(before)
    assert document["samples"][: len(before)] == before, "nothing is measured twice"


@_POSIX
@pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told_before_the_run(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    ended = Place(tmp_path).tune("--yes", "--write-env", str(closed / "x.env"))
    assert ended.returncode == 2 and "may not be written" in ended.stderr


def test_an_env_file_that_cannot_be_written_in_the_end_is_not_lost(tmp_path: Path) -> None:
    """The command takes the folder away: as sudden as a full disk."""
    (tmp_path / "gone").mkdir()
    place = Place(tmp_path, "import os, time\nif os.path.isdir('gone'): os.rmdir('gone')\n" + _JOB)
    ended = place.tune("--yes", "--budget", BUDGET, "--write-env", "gone/x.env")
    assert ended.returncode == 2
    assert "; wrote" not in ended.stdout.splitlines()[-1], "it was not"
    lines = ended.stderr.splitlines()
    assert lines[-1].startswith("amd-doctor: --write-env gone/x.env: not written: ")
    assert lines[-1].endswith("; its text stands above") and "OMP_NUM_THREADS=1" in lines
    assert ended.stdout.splitlines()[-2].startswith("    amd-doctor tune --resume --write-env")


@_POSIX
def test_a_full_disk_costs_the_files_and_not_the_result(tmp_path: Path) -> None:
    place = Place(tmp_path)
    words = ["tune", "--yes", "--budget", BUDGET, "-o", "result.json", "--", *place.command]
    command = "ulimit -f 4; exec " + " ".join(map(json.dumps, [sys.executable, "-m", "doctor", *words]))
    shell, env = ["bash", "-c", command], environment(**place.env)
    ended = subprocess.run(shell, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    assert ended.returncode == 2
    assert "this run is not saved, so it cannot be resumed: File too large" in ended.stderr
    assert "-o result.json: not written: File too large" in ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: faster +")
    assert "--resume" not in ended.stdout
    assert not (tmp_path / "result.json").exists() and not list(tmp_path.glob(".*.tmp"))


def test_a_state_folder_that_cannot_be_made_costs_only_the_saving(tmp_path: Path) -> None:
    place = Place(tmp_path, _JOB.replace("0.12", "0.02"))
    place.state.write_text("a file, no folder", encoding="utf-8")
    ended = place.tune("--yes", "--budget", BUDGET)
    assert ended.returncode == 0, ended.stderr
    assert "this run is not saved, so it cannot be resumed" in ended.stderr
    assert "this result is not kept for later" in ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: ")


# The doctor's own workloads


def test_a_worker_of_the_doctor_is_measured_for_real(tmp_path: Path) -> None:
    """With so small a budget a slow machine ends early: what it measured until then is as real."""
    options = ("--workload", "numpy-gemm", "--axis", "threads", "--budget", "10s", "--python", sys.executable, "--json")
    ended = Place(tmp_path).tune(*options, command=False)
    document = json.loads(ended.stdout)
    assert document["plan"]["workloads"] == ["numpy-gemm"] and "command" not in document["plan"]["subject"]
    assert ended.returncode == {"budget-too-small": 2, "confirmed": 0, "nothing-to-try": 0}[document["ending"]]
    assert len(document["samples"]) >= 2
    for sample in document["samples"]:
        assert sample["result"]["outcome"] == "ok", sample["result"]
        assert all(seconds > 0 for seconds in sample["result"]["timings"][0]["seconds"])


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs sched_setaffinity")
def test_on_one_cpu_there_are_no_threads_to_choose(tmp_path: Path) -> None:
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(own)})
    try:
        ended = Place(tmp_path).tune("--dry-run", "--json", "--python", sys.executable, command=False)
    finally:
        os.sched_setaffinity(0, own)
    assert ended.returncode == 0, ended.stderr
    plan = json.loads(ended.stdout)["plan"]
    assert plan["arms"] == [] and plan["additions"] != []
    assert {"axis": "threads", "why": "with one CPU there is nothing to choose"} in plan["skipped"]


def test_a_dry_run_says_what_would_be_tried_and_measures_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ended = place.tune("--dry-run", "--budget", "2m")
    assert ended.returncode == 0, ended.stderr
    assert "would measure your command for 2 min at most. Nothing was measured." in " ".join(ended.stdout.split())
    assert "OMP_NUM_THREADS=1" in ended.stdout and "Left out" in ended.stdout
    assert not place.state.exists()
