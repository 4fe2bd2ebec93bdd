"""Env files and `run` on Windows, under Wine: its cmd reads the files back, and a command gets variables and mask."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from doctor.envfile.cmd import CMD
from doctor.envfile.content import CPUS, CannotWrite
from tests.envfile.contents import AWKWARD, content_with
from tests.wine.test_under_wine import PYTHON, ROOT, Run, pytestmark, run, windows_path  # noqa: F401

_DUMP = "import os, json; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('T_')}))"


def test_cmd_reads_the_files_back(run: Run, tmp_path: Path) -> None:  # noqa: F811
    expected: dict[str, str] = {}
    for number, value in enumerate(AWKWARD):
        try:
            CMD.write(content_with({f"T_{number}": value}))
        except CannotWrite:
            continue
        expected[f"T_{number}"] = value
    (tmp_path / "set.cmd").write_bytes(CMD.write(content_with({**expected, "T_GONE": None})))
    (tmp_path / "dump.py").write_text(_DUMP)
    python, dump = windows_path(Path(PYTHON)), windows_path(tmp_path / "dump.py")
    lines = [f"@call {windows_path(tmp_path / 'set.cmd')}", f"@{python} {dump}"]
    (tmp_path / "main.cmd").write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    variables = {**os.environ, "WINEDEBUG": "-all", "T_GONE": "1"}
    argv = ["wine", "cmd", "/c", windows_path(tmp_path / "main.cmd")]
    ended = subprocess.run(argv, input=b"", capture_output=True, env=variables, timeout=50)
    out = ended.stdout.decode().strip().splitlines()
    assert (len(out), json.loads(out[-1])) == (1, expected)


def test_a_command_gets_variables_and_mask(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "x.cmd").write_bytes(f'@set "OMP_NUM_THREADS=1"\r\n@set "{CPUS}=0"\r\n'.encode())
    code = "import os, sys, psutil; print(os.environ['OMP_NUM_THREADS'], psutil.Process().cpu_affinity()); sys.exit(7)"
    main = tmp_path / "main.py"
    main.write_text("from doctor.cli.main import entry\nentry()\n")
    argv = ("run", "--env", windows_path(tmp_path / "x.cmd"), "--", windows_path(Path(PYTHON)), "-c", code)
    ended = run(windows_path(main), *argv)
    assert (ended.returncode, ended.stdout.split()) == (7, [b"1", b"[0]"]), ended.stderr
