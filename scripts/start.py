"""The first command on a fresh machine: `python3 scripts/start.py check`.

Makes `.venv` beside this checkout, installs amd-doctor into it (no torch) and runs the command given, with the Python
that runs this script as the target unless told otherwise. All arguments are passed on. Standard library only.

`start.py tune …` needs a target that has torch. Where none has, torch is installed into `.venv`; not for `tune -- CMD`,
which measures a command of yours. `start.py report --format html` installs what draws the page.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import project_venv as venv

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
ASK_ABOVE_BYTES = 500_000_000
_INDEX_PATIENCE_SECONDS = 2


def main(arguments: list[str]) -> int:
    venv.make_venv()
    venv.install_once("base", ("install", "--editable", str(venv.ROOT)), what="amd-doctor", covered_by="dev")
    if _wants_page(arguments):
        with_html = ("install", "--editable", f"{venv.ROOT}[html]")
        venv.install_once("html", with_html, what="what draws the page", covered_by="dev")
    caller = sys.executable
    if _needs_torch(arguments):
        caller = _python_with_torch(yes="--yes" in arguments)
        active = _active_pythons()
        if active and caller not in active:
            # An active environment is what the doctor looks at first, and that one has no torch.
            arguments = ["tune", "--python", caller, *arguments[1:]]
    if shutil.which("amd-doctor") is None:
        typed = "py scripts\\start.py" if venv.WINDOWS else f"python3 {sys.argv[0]}"
        venv.say(f"where the screen says amd-doctor, type {typed}, or {venv.VENV_DOCTOR}")
    environment = {**os.environ, "AMD_DOCTOR_CALLER": caller}
    # The console script, not `-m doctor`: -m would put the caller's current folder first on the import path.
    command = [str(venv.VENV_DOCTOR), *arguments]
    if not venv.WINDOWS:
        os.execve(command[0], command, environment)
    try:
        return subprocess.run(command, env=environment, check=False).returncode
    except KeyboardInterrupt:
        return 130


def _wants_page(arguments: list[str]) -> bool:
    """Whether a report is to be drawn as HTML: told by its form, by the file's ending, or since it is to be opened."""
    if arguments[:1] != ["report"]:
        return False
    values = [argument.partition("=")[2] or argument for argument in arguments]
    return "--open" in arguments or any(value == "html" or value.endswith((".html", ".htm")) for value in values)


def _needs_torch(arguments: list[str]) -> bool:
    """Whether the doctor's own workloads are to be measured, in a Python that nobody has named."""
    nothing_measured = {"-h", "--help", "--dry-run", "--list"}
    if arguments[:1] != ["tune"] or "--" in arguments or nothing_measured & set(arguments):
        return False
    return not _names_target(arguments)


def _names_target(arguments: list[str]) -> bool:
    return any(argument == "--python" or argument.startswith("--python=") for argument in arguments)


def _python_with_torch(yes: bool) -> str:
    """An active environment, the caller, or `.venv`: the first that has torch. Else `.venv`, after installing it."""
    for python in [*_active_pythons(), sys.executable, str(venv.VENV_PYTHON)]:
        if venv.has_torch(python):
            return python
    _install_torch(yes)
    return str(venv.VENV_PYTHON)


def _active_pythons() -> list[str]:
    active = [os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    inside = "Scripts/python.exe" if venv.WINDOWS else "bin/python"
    return [str(Path(prefix) / inside) for prefix in active if prefix]


def _install_torch(yes: bool) -> None:
    extra = ["--index-url", CPU_INDEX] if _answers(CPU_INDEX + "/torch/") else []
    size = _download_bytes([venv.TORCH, *extra])
    known = "an unknown amount" if size is None else f"about {size / 1e6:,.0f} MB"
    venv.say(f"no Python found here has torch: {venv.TORCH} is needed in .venv, {known} to download")
    if not yes and (size is None or size > ASK_ABOVE_BYTES):
        _ask(known)
    venv.pip("install", venv.TORCH, *extra, what=venv.TORCH)


def _ask(known: str) -> None:
    if not sys.stdin.isatty():
        venv.fail(f"not downloading {known} without being told: add --yes, or name a Python that has torch (--python)")
    print(f"Download {known} and install torch into .venv? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        venv.fail("nothing was installed; name a Python that has torch with --python PATH", status=2)


def _answers(url: str) -> bool:
    """Whether an index answers within two seconds."""
    request = urllib.request.Request(url, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=_INDEX_PATIENCE_SECONDS) as reply:
            return bool(reply.status == 200)
    except (OSError, ValueError):
        return False


def _download_bytes(requirements: list[str]) -> int | None:
    """What pip would download, in bytes; None where a size could not be learned."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        venv.pip("install", "--dry-run", "--report", str(report), *requirements, what=requirements[0])
        plan = json.loads(report.read_text(encoding="utf-8"))
    sizes = [_size_bytes(item["download_info"]["url"]) for item in plan["install"]]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _size_bytes(url: str) -> int | None:
    request = urllib.request.Request(url, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            length = reply.headers.get("Content-Length")
            return int(length) if length else None
    except (urllib.error.URLError, OSError, ValueError):
        return None


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
