"""An environment whose PyTorch is the one of the tests, dressed as a ROCm build with the GPUs that a test wants."""

from __future__ import annotations

import importlib.util
import json
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).parent / "fake_rocm"
RELEASE = "2.9.1+rocm6.4"


def skip_without_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")


def told(**what: Any) -> dict[str, str]:
    """The variable that tells the stand-in which GPUs there are, and what is to go wrong."""
    return {"FAKE_ROCM": json.dumps(what)}


def environment_with_rocm(folder: Path) -> Path:
    """The interpreter of a new environment that holds the stand-in, and behind it the packages of the tests."""
    venv.EnvBuilder(with_pip=False, symlinks=sys.platform != "win32").create(folder)
    inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    site.mkdir(parents=True, exist_ok=True)
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "beside.pth").write_text("\n".join([str(FAKE), *sorted(packages)]))
    metadata = site / "torch-2.9.1+rocm6.4.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {RELEASE}\n")
    (metadata / "INSTALLER").write_text("pip\n")
    return folder / inside
