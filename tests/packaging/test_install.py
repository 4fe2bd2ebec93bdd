"""The rules are found from a wheel, from an sdist and from an editable install, from any folder."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES_IN_CHECKOUT = sorted(path.stem for path in (ROOT / "rules").glob("*/*.yaml") if path.parent.name != "knowledge")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wheel and an sdist of this checkout, and a wheel made from that sdist."""
    out = tmp_path_factory.mktemp("dist")
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)])
    return {"wheel": next(out.glob("*.whl")), "sdist": next(out.glob("*.tar.gz"))}


def _run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return done  # type: ignore[no-any-return]


def _environment(folder: Path, requirement: list[str]) -> Path:
    """A fresh environment holding the project alone; its dependencies are those of the environment that tests."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = Path(_run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).stdout.strip())
    # A path in a .pth file brings the dependencies, but not the .pth files there, so not the editable install.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _run([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps",
          "--no-build-isolation", "--no-index", *requirement])  # fmt: skip
    return folder / "bin" / "amd-doctor"


@pytest.mark.skipif(sys.platform == "win32", reason="the test environment is laid out for POSIX")
@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_rules_are_found(kind: str, distributions: dict[str, Path], tmp_path: Path) -> None:
    requirement = ["--editable", str(ROOT)] if kind == "editable" else [str(distributions[kind])]
    command = _environment(tmp_path / "env", requirement)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    listed = json.loads(_run([str(command), "rules", "--json"], cwd=elsewhere).stdout)
    rows = listed["rules"] if isinstance(listed, dict) else listed
    assert sorted(row["id"] for row in rows) == RULES_IN_CHECKOUT
    assert len(RULES_IN_CHECKOUT) >= 20


def test_what_the_distributions_hold(distributions: dict[str, Path]) -> None:
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        names = wheel.namelist()
    assert any(name.startswith("doctor/_rules/knowledge/") for name in names)
    assert "doctor/inside/exercises.py" in names
    assert {f"doctor/_rules/lang/zh/{name}.po" for name in ("folk", "rules", "screens", "told")} <= set(names)
    assert {f"doctor/present/html/page.{ending}" for ending in ("html", "css", "js")} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "rules/", "scripts/"))]
    with tarfile.open(distributions["sdist"]) as sdist:
        top = {name.split("/")[1] for name in sdist.getnames() if "/" in name}
    assert {"doctor", "rules", "tests", "scripts", "README.md", "LICENSE", "pyproject.toml"} <= top
