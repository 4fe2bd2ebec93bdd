"""The one test command: `python3 scripts/test.py`. Makes `.venv`, installs what the tests need, runs every check.

Arguments are passed on to pytest. All checks run, also after one failed; the exit status is 1 if any did.
"""

from __future__ import annotations

import subprocess
import sys
import time

import project_venv as venv


def main(pytest_arguments: list[str]) -> int:
    venv.make_venv()
    # torch first: what depends on it would otherwise bring a build of several gigabytes.
    venv.install_once(
        "dev", ("install", venv.TORCH), ("install", "--editable", f"{venv.ROOT}[dev]"), what="torch and the test tools"
    )
    python = str(venv.VENV_PYTHON)
    bin_folder = venv.VENV_PYTHON.parent
    checks = [
        ("ruff", [python, "-m", "ruff", "check", "."]),
        ("mypy", [python, "-m", "mypy"]),
        ("import-linter", [str(bin_folder / "lint-imports")]),
        ("pytest", [python, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *pytest_arguments]),
    ]
    results = [(name, *_timed(command)) for name, command in checks]
    print()
    for name, status, seconds in results:
        print(f"{'ok    ' if status == 0 else 'FAILED'} {name} ({seconds:.0f} s)")
    return int(any(status != 0 for _, status, _ in results))


def _timed(command: list[str]) -> tuple[int, float]:
    began = time.monotonic()
    print(f"\n== {' '.join(command[-3:])}", flush=True)
    status = subprocess.run(command, cwd=venv.ROOT, check=False).returncode
    return status, time.monotonic() - began


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
