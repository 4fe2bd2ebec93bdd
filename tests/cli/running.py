"""The command line as a process: `python -m doctor` in a plain environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests" / "machines"

Doctor = Callable[..., "subprocess.CompletedProcess[str]"]


def _is_document(path: Path) -> bool:
    return str(json.loads(path.read_text(encoding="utf-8")).get("schema", "")).startswith("amd-doctor/machine/")


EVERY_MACHINE = sorted(path.name for path in MACHINES.glob("*.json") if _is_document(path))


def environment(**changes: str) -> dict[str, str]:
    """The environment of the tests without what would change the output; `changes` on top."""
    locale = ("LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG", "LANGUAGE")
    dropped = (*locale, "NO_COLOR", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONPATH", "COLUMNS")
    # A test that imported torch in this process may have left these behind: torch sets them for its children.
    of_torch = ("TORCHINDUCTOR_", "TORCH_", "PYTORCH_", "KMP_")
    kept = {name: value for name, value in os.environ.items() if name not in dropped and not name.startswith(of_torch)}
    return {**kept, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **changes}


def run_doctor(
    *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str | bytes = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command and waits for it. `env` is laid over the plain environment."""
    ended = subprocess.run(
        [sys.executable, "-m", "doctor", *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=environment(**(env or {})),
        timeout=120,
        cwd=cwd,
        check=False,
    )
    texts = (ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace"))
    return subprocess.CompletedProcess(ended.args, ended.returncode, *texts)
