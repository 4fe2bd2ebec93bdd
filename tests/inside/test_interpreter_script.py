"""`interpreter.py` as an interpreter runs it, beside packages that are whole, broken and hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "interpreter.py"

DAY = 1_700_000_000  # 2023-11-14T22:13:20Z


def told(site: Path, *arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> dict:
    """What the script says with `site` in front of everything that is installed."""
    variables = {**os.environ, "PYTHONPATH": str(site), **(env or {})}
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, env=variables, cwd=cwd, timeout=60
    )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads([line for line in run.stdout.splitlines() if b"amd-doctor/interpreter/1" in line][-1])


def install(
    site: Path, name: str, version: str, metadata: str | bytes = "", at: int = DAY, **files: str | bytes
) -> Path:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    text = metadata if isinstance(metadata, bytes) else f"Name: {name}\nVersion: {version}\n{metadata}".encode()
    (folder / "METADATA").write_bytes(text)
    for file, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / file.replace("_json", ".json")).write_bytes(data)
    os.utime(folder, (at, at))
    return folder


def packages(answer: dict, site: Path) -> dict[str, dict]:
    return {row["name"]: row for row in answer["packages"] if row["location"] == str(site)}


def test_it_says_what_runs_it(tmp_path: Path) -> None:
    answer = told(tmp_path)
    assert answer["version"].startswith("{}.{}.{}".format(*sys.version_info[:3]))
    assert answer["implementation"] == sys.implementation.name
    assert answer["bits"] == (64 if sys.maxsize > 2**32 else 32)
    assert answer["executable"] == sys.executable
    assert answer["venv"] == (sys.prefix != sys.base_prefix)
    assert answer["cache_tag"] == sys.implementation.cache_tag
    assert answer["free_threaded"] is (sysconfig.get_config_var("Py_GIL_DISABLED") == 1)
    assert answer["sys_path"][0] == str(tmp_path)
    assert str(SCRIPT.parent) not in answer["sys_path"]


def test_what_matters_to_pytorch_is_told_in_full(tmp_path: Path) -> None:
    install(
        tmp_path,
        "torch_directml",
        "0.2.5.dev240914",
        "Requires-Dist: torch==2.4.1\nRequires-Dist: torchvision==0.19.1\n\nRequires-Dist: not a header any more\n",
        INSTALLER="pip\n",
    )
    install(tmp_path, "pytorch_triton_rocm", "3.1.0", INSTALLER="uv")
    rows = packages(told(tmp_path), tmp_path)
    assert rows["torch-directml"] == {
        "name": "torch-directml",
        "version": "0.2.5.dev240914",
        "location": str(tmp_path),
        "installer": "pip",
        "installed_at": "2023-11-14T22:13:20Z",
        "requires": ["torch==2.4.1", "torchvision==0.19.1"],
        "direct_url": None,
    }
    assert rows["pytorch-triton-rocm"]["installer"] == "uv"


def test_others_are_named_and_those_that_may_have_brought_torch_say_what_they_want(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.5.1+cu124")
    install(tmp_path, "lion_pytorch", "0.2.2", "Requires-Dist: torch>=1.6\nRequires-Dist: tqdm\n", at=DAY + 5)
    install(tmp_path, "old_user", "1.0", "Requires-Dist: torch>=1.6\n", at=DAY - 86400)
    install(tmp_path, "torchsomething", "1.0", "Requires-Dist: torchmetrics\nRequires-Dist: torch-geometric\n")
    install(tmp_path, "plain", "3.0", "Requires-Dist: tqdm\n")
    rows = packages(told(tmp_path), tmp_path)
    assert rows["lion-pytorch"]["requires"] == ["torch>=1.6"]
    assert rows["lion-pytorch"]["installed_at"] == "2023-11-14T22:13:25Z"
    for name in ("old-user", "torchsomething", "plain"):
        assert set(rows[name]) == {"name", "version", "location"}


def test_the_first_of_a_name_on_the_path_counts(tmp_path: Path) -> None:
    for folder, version in (("first", "1.0"), ("second", "2.0")):
        install(tmp_path / folder, "numpy", version)
    both = os.pathsep.join([str(tmp_path / "first"), str(tmp_path / "second")])
    answer = told(tmp_path, env={"PYTHONPATH": both})
    assert [row["version"] for row in answer["packages"] if row["name"] == "numpy"] == ["1.0"]


def test_broken_metadata_breaks_nothing(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.1", b"\xff\xfe\x00Requires-Dist: x", INSTALLER=b"\xff\n")
    install(tmp_path, "numpy", "1.26", direct_url_json="{not json")
    install(tmp_path, "scipy", "1.0", direct_url_json="[]")
    install(tmp_path, "mkl", "2024", direct_url_json='{"url": 5, "dir_info": null}')
    (tmp_path / "torchaudio-2.1.dist-info").write_text("a file where a folder should be")
    (tmp_path / "torchvision-0.16.dist-info").mkdir()
    (tmp_path / "~orch-2.0.dist-info").mkdir()
    (tmp_path / ".dist-info").mkdir()
    (tmp_path / "noversion.dist-info").mkdir()
    (tmp_path / "triton-3.0.dist-info").symlink_to(tmp_path / "missing")
    loop = tmp_path / "rocm-7.0.dist-info"
    loop.symlink_to(loop)
    rows = packages(told(tmp_path), tmp_path)
    assert {name: row["version"] for name, row in rows.items()} == {
        "torch": "2.1",
        "numpy": "1.26",
        "scipy": "1.0",
        "mkl": "2024",
        "torchaudio": "2.1",
        "torchvision": "0.16",
        "noversion": None,
        "triton": "3.0",
        "rocm": "7.0",
    }
    assert {name for name, row in rows.items() if "broken" in row} == {"numpy", "scipy", "mkl"}


def test_egg_info_of_old_tools_is_read(tmp_path: Path) -> None:
    (tmp_path / "torch-1.13.1-py3.11.egg-info").mkdir()
    (tmp_path / "torch-1.13.1-py3.11.egg-info" / "PKG-INFO").write_text("Name: torch\nVersion: 1.13.1\n")
    (tmp_path / "numpy-1.24-py3.11-linux-x86_64.egg-info").write_text("Name: numpy\nVersion: 1.24\n")
    (tmp_path / "zentorch.egg-info").mkdir()
    (tmp_path / "zentorch.egg-info" / "PKG-INFO").write_text("Name: zentorch\nVersion: 5.1\n")
    rows = packages(told(tmp_path), tmp_path)
    assert {name: row["version"] for name, row in rows.items()} == {
        "torch": "1.13.1",
        "numpy": "1.24",
        "zentorch": "5.1",
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@host.example/a/torch.whl?token=1#sha", "https://host.example/a/torch.whl"),
        ("file:///home/somebody/builds/torch-2.1.whl", "file:torch-2.1.whl"),
        ("/home/somebody/pytorch/", "file:pytorch"),
    ],
)
def test_where_a_package_came_from_without_its_secrets(tmp_path: Path, url: str, shown: str) -> None:
    install(tmp_path, "torch", "2.1", direct_url_json=json.dumps({"url": url, "dir_info": {"editable": True}}))
    row = packages(told(tmp_path), tmp_path)["torch"]
    assert row["direct_url"] == {"url": shown, "kind": "dir", "editable": True}


def test_torch_is_found_and_read_but_never_imported(tmp_path: Path) -> None:
    package = tmp_path / "torch"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "version.py").write_text("__version__ = '2.4.1+rocm6.1'\nhip = '6.1.40091'\n")
    for name in ("libgomp-a34b3233.so.1", "libtorch_hip.so", "libhsa-runtime64.so", "libshm.so", "torch_cuda.dll"):
        (package / "lib" / name).touch()
    torch = told(tmp_path)["torch"]
    assert torch["origin"] == str(package / "__init__.py")
    assert "6.1.40091" in torch["version_file"]
    assert torch["libraries"] == ["libgomp-a34b3233.so.1", "libhsa-runtime64.so", "libtorch_hip.so", "torch_cuda.dll"]
    assert told(tmp_path, "--brief")["torch"] is True


def test_torch_without_a_version_file_or_libraries_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    torch = told(tmp_path)["torch"]
    assert (torch["version_file"], torch["libraries"]) == (None, None)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A virtual environment in which nothing is installed; only its links and its configuration."""
    home = Path(sys._base_executable).parent  # type: ignore[attr-defined]
    (tmp_path / "bare" / "bin").mkdir(parents=True)
    (tmp_path / "bare" / "bin" / "python").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    (tmp_path / "bare" / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\nuv = 0.9.1\n")
    return tmp_path / "bare"


@pytest.mark.skipif(os.name == "nt", reason="a venv of links is POSIX")
def test_a_left_over_folder_is_no_torch(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "site" / "torch" / "lib").mkdir(parents=True)
    run = subprocess.run(
        [str(bare / "bin" / "python"), str(SCRIPT)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        timeout=60,
        check=True,
    )
    answer = json.loads(run.stdout)
    assert answer["torch"] is None
    assert answer["venv"] is True
    assert answer["pyvenv"]["uv"] == "0.9.1"
    assert answer["packages"] == []


@pytest.mark.skipif(os.name == "nt", reason="a venv of links is POSIX")
def test_conda_lists_its_own(bare: Path) -> None:
    records = bare / "conda-meta"
    records.mkdir()
    for name in ("pytorch-2.2.2-py3.11_cpu_0.json", "intel-openmp-2023.1.0-hdb19cb5_46306.json", "history", "odd.json"):
        (records / name).write_text("{}")
    run = subprocess.run([str(bare / "bin" / "python"), str(SCRIPT)], capture_output=True, timeout=60, check=True)
    assert json.loads(run.stdout)["conda"] == [
        {"name": "intel-openmp", "version": "2023.1.0", "build": "hdb19cb5_46306"},
        {"name": "pytorch", "version": "2.2.2", "build": "py3.11_cpu_0"},
    ]


def test_a_finder_that_fails_and_noise_on_stdout_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'torch': raise RuntimeError('no')\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.stdout.write('half a line {')\n"
    )
    assert told(tmp_path)["torch"] is None


@pytest.mark.parametrize("name", ["json.py", "re.py", "time.py", "torch.py", "importlib.py", "sitecustomize.py"])
def test_nothing_comes_from_the_current_folder(tmp_path: Path, name: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / name).write_text("import os; os.write(2, b'IMPORTED'); raise SystemExit(9)")
    answer = told(tmp_path / "site", cwd=here)
    assert answer["torch"] is None or str(here) not in answer["torch"]["origin"]


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="only there a name may be any bytes")
def test_a_path_that_is_not_utf_8_does_not_make_the_answer_unreadable(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/caf\xe9"
    Path(os.fsdecode(odd)).mkdir()
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        env={**os.environb, b"PYTHONPATH": odd},
        timeout=60,
        check=True,
    )
    assert json.loads(run.stdout)["sys_path"][0] == f"{tmp_path}/caf?"
