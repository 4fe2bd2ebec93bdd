"""Makes the checkout's `.venv` and installs into it. Shared by start.py and test.py. Standard library only.

Parses on any Python 3, so that an old one can be told in one sentence what it lacks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
VENV_PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
VENV_DOCTOR = VENV / ("Scripts/amd-doctor.exe" if WINDOWS else "bin/amd-doctor")
TORCH = "torch==2.13.0"

_NO_PIP = (
    "this Python has neither ensurepip nor a pip of version 22.3 or later, so it cannot make a virtual environment; "
    "on Debian and Ubuntu: sudo apt install python3-venv"
)


def say(text: str) -> None:
    """Progress and notes go to stderr: stdout is for the result."""
    print("amd-doctor: " + text, file=sys.stderr, flush=True)


def fail(text: str, status: int = 2) -> None:
    """One sentence, and the end."""
    say(text)
    raise SystemExit(status)


def require_python() -> None:
    if sys.version_info < (3, 10):
        fail(f"Python 3.10 or later is needed; this is {sys.version.split()[0]} ({sys.executable})")


def make_venv() -> None:
    """Make `.venv` with the Python that runs this, unless it is there and works."""
    require_python()
    if _works(VENV_PYTHON):
        return
    if VENV.exists():
        say(f"{VENV} does not work (its Python may have been removed): making it anew")
        shutil.rmtree(VENV)
    say("making .venv (once)")
    made = _run([sys.executable, "-m", "venv", str(VENV)])
    if made.returncode == 0 and _has_pip():
        return
    # A Debian Python without ensurepip: an environment without pip, filled by the pip of this Python.
    shutil.rmtree(VENV, ignore_errors=True)
    bare = _run([sys.executable, "-m", "venv", "--without-pip", str(VENV)])
    if bare.returncode != 0:
        fail(f"cannot make {VENV}: {_last_line(bare.stderr or bare.stdout)}")
    probe = _run([*_pip(), "--version"])
    if probe.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        fail(_NO_PIP)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run to the end and keep the output: a failure is told by its last lines, whatever their bytes are."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )


def _works(python: Path) -> bool:
    if not python.exists():
        return False
    try:
        return _run([str(python), "-c", "import sys"]).returncode == 0
    except OSError:
        return False


def _has_pip() -> bool:
    return _run([str(VENV_PYTHON), "-m", "pip", "--version"]).returncode == 0


def _pip() -> list[str]:
    if _has_pip():
        return [str(VENV_PYTHON), "-m", "pip"]
    return [sys.executable, "-m", "pip", "--python", str(VENV_PYTHON)]


def pip(*arguments: str, what: str) -> None:
    """Run pip on `.venv`; on failure its last lines and one sentence."""
    done = _run([*_pip(), *arguments, "--disable-pip-version-check", "--no-input", "--quiet"])
    if done.returncode != 0:
        for line in [line for line in done.stderr.splitlines() if line.strip()][-8:]:
            print("  " + line, file=sys.stderr)
        fail(f"pip could not install {what}; its last lines stand above. Is there a network, or a mirror set for pip?")


def install_once(name: str, *steps: tuple[str, ...], what: str, covered_by: str | None = None) -> None:
    """Run the pip steps unless this very `pyproject.toml` was installed under this name, or a larger one, before."""
    state = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode()).hexdigest()
    stamps = [VENV / f".amd-doctor-{each}" for each in (name, covered_by) if each]
    if any(stamp.exists() and stamp.read_text(encoding="utf-8") == state for stamp in stamps):
        return
    say(f"installing {what} into .venv (once)")
    for step in steps:
        pip(*step, what=what)
    stamps[0].write_text(state, encoding="utf-8")


def has_torch(python: str) -> bool:
    """Whether an interpreter would find torch, without importing it."""
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    try:
        done = subprocess.run(
            [python, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20, cwd=VENV
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
