"""An environment with the torch of the tests and the stand-in for torch-directml beside it."""

from __future__ import annotations

import importlib.util
import json
import sys
import sysconfig
import venv
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).parent / "fake_directml"
RELEASE = "0.2.5.dev240914"


def skip_where_torch_cannot_host_a_device() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")
    # `find_spec` would import torch itself; its file tells as much.
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    text = (Path(spec.origin).parent / "utils" / "backend_registration.py").read_text(encoding="utf-8")
    if "_setup_privateuseone_for_python_backend" not in text:
        pytest.skip("this torch hosts no device from Python")


def told(**what: Any) -> dict[str, str]:
    """The variable that tells the stand-in what is to go wrong."""
    return {"FAKE_DIRECTML": json.dumps(what)}


def clocked(**what: Any) -> dict[str, str]:
    """The variable that makes the time of measured processes follow from what they do; see `simulated_clock`."""
    return {"FAKE_CLOCK": json.dumps(what)}


def environment_with_directml(folder: Path, requires_torch: str | None = None) -> Path:
    """The interpreter of a new environment. torch-directml asks for the torch that is there, or for another one."""
    venv.EnvBuilder(with_pip=False, symlinks=sys.platform != "win32").create(folder)
    inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    site.mkdir(parents=True, exist_ok=True)
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "beside.pth").write_text("\n".join([*sorted(packages), str(FAKE), "import simulated_clock"]))
    wanted = requires_torch or version("torch").partition("+")[0]
    metadata = site / f"torch_directml-{RELEASE}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: torch-directml\nVersion: {RELEASE}\nRequires-Dist: torch =={wanted}\n"
    )
    (metadata / "INSTALLER").write_text("pip\n")
    return folder / inside
