"""The scripts that make `.venv`: what they do where something is missing. Nothing is really installed here."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """The two modules, working on a folder of the test instead of the checkout."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("project_venv", "start"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import project_venv
    import start

    monkeypatch.setattr(project_venv, "ROOT", tmp_path)
    monkeypatch.setattr(project_venv, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(project_venv, "VENV_PYTHON", tmp_path / ".venv/bin/python")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(project_venv, "pip", lambda *arguments, what: calls.append(arguments))
    return SimpleNamespace(venv=project_venv, start=start, pip=calls)


def test_an_old_python_is_told_in_one_sentence(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 10))
    with pytest.raises(SystemExit) as ended:
        scripts.venv.make_venv()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "Python 3.10 or later is needed" in error and error.count("\n") == 1


def test_a_python_without_ensurepip_and_without_pip_names_the_package(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run(command: list[str], **_: object) -> SimpleNamespace:
        if "--without-pip" in command:
            (tmp_path / ".venv").mkdir()
            return SimpleNamespace(returncode=0, stdout="", stderr="")
        return SimpleNamespace(returncode=1, stdout="", stderr="ensurepip is not available")

    monkeypatch.setattr(scripts.venv.subprocess, "run", run)
    with pytest.raises(SystemExit) as ended:
        scripts.venv.make_venv()
    assert ended.value.code == 2
    assert "sudo apt install python3-venv" in capsys.readouterr().err
    assert not (tmp_path / ".venv").exists(), "half an environment must not stay behind"


def test_a_python_without_ensurepip_uses_its_own_pip(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command)
        works = "--without-pip" in command or "--python" in command
        return SimpleNamespace(returncode=0 if works else 1, stdout="", stderr="")

    monkeypatch.setattr(scripts.venv.subprocess, "run", run)
    scripts.venv.make_venv()
    assert [sys.executable, "-m", "pip", "--python", str(scripts.venv.VENV_PYTHON), "--version"] in asked


def test_a_venv_whose_python_is_gone_is_made_anew(scripts: SimpleNamespace, tmp_path: Path) -> None:
    broken = tmp_path / ".venv/bin"
    broken.mkdir(parents=True)
    (broken / "python").symlink_to(tmp_path / "gone")
    scripts.venv.make_venv()
    assert scripts.venv._works(scripts.venv.VENV_PYTHON)
    assert scripts.venv._has_pip()


def test_what_is_installed_is_not_installed_again(scripts: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    install = lambda name, covered_by=None: scripts.venv.install_once(  # noqa: E731
        name, ("install", name), what=name, covered_by=covered_by
    )
    install("dev")
    install("dev")
    install("base", covered_by="dev")
    assert scripts.pip == [("install", "dev")]
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'changed'\n")
    install("base", covered_by="dev")
    assert scripts.pip == [("install", "dev"), ("install", "base")]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("report --format html", True),
        ("report --format=html", True),
        ("report --open", True),
        ("report -o page.html", True),
        ("report --output=page.htm", True),
        ("report --format markdown -o report.md", False),
        ("check --json", False),
        ("tune -- python train.html", False),
    ],
)
def test_what_draws_a_page_is_installed_for_a_page(
    scripts: SimpleNamespace, arguments: str, wanted: bool
) -> None:
    assert scripts.start._wants_page(arguments.split()) is wanted


class _Index(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "123456")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/whl/cpu"
    server.shutdown()
    server.server_close()


def test_the_cpu_index_is_used_where_it_answers(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    monkeypatch.setattr(scripts.start, "CPU_INDEX", index)
    monkeypatch.setattr(scripts.start, "_download_bytes", lambda requirements: 200_000_000)
    scripts.start._install_torch(yes=False)
    assert scripts.pip == [("install", "torch==2.13.0", "--index-url", index)]


def test_without_that_index_pip_finds_torch_and_a_large_download_needs_a_yes(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scripts.start, "CPU_INDEX", "http://127.0.0.1:9")
    monkeypatch.setattr(scripts.start, "_download_bytes", lambda requirements: 3_000_000_000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    with pytest.raises(SystemExit) as ended:
        scripts.start._install_torch(yes=False)
    assert ended.value.code == 2 and scripts.pip == []
    assert "add --yes" in capsys.readouterr().err
    scripts.start._install_torch(yes=True)
    assert scripts.pip == [("install", "torch==2.13.0")]


def test_the_size_of_a_download_is_asked_of_its_server(scripts: SimpleNamespace, index: str) -> None:
    assert scripts.start._size_bytes(f"{index}/torch.whl") == 123456
    assert scripts.start._size_bytes("http://127.0.0.1:9/torch.whl") is None


def test_tune_takes_the_first_python_that_has_torch(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    active = tmp_path / "active"
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    having = {sys.executable}
    monkeypatch.setattr(scripts.venv, "has_torch", lambda python: python in having)
    assert scripts.start._python_with_torch(yes=False) == sys.executable
    having.add(str(active / "bin/python"))
    assert scripts.start._python_with_torch(yes=False) == str(active / "bin/python")


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [
        (["tune"], True),
        (["tune", "--budget", "120s", "--write-env"], True),
        (["tune", "--python", "/usr/bin/python3"], False),
        (["tune", "--yes", "--", "python", "train.py"], False),
        (["tune", "--help"], False),
        (["tune", "--dry-run"], False),
        (["check"], False),
        ([], False),
    ],
)
def test_torch_is_installed_only_for_what_is_measured_with_it(
    scripts: SimpleNamespace, arguments: list[str], needs: bool
) -> None:
    assert scripts.start._needs_torch(arguments) is needs


@pytest.mark.skipif(sys.platform == "win32", reason="needs execve")
def test_an_active_environment_without_torch_is_passed_over(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(scripts.start.os, "execve", lambda path, command, environment: started.append(command[1:]))
    monkeypatch.setattr(scripts.start.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    for name in ("make_venv", "install_once", "say"):
        monkeypatch.setattr(scripts.venv, name, lambda *_, **__: None)
    active = str(tmp_path / "active" / "bin" / "python")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    for having in (sys.executable, active):
        monkeypatch.setattr(scripts.venv, "has_torch", lambda python, having=having: python == having)
        scripts.start.main(["tune", "--budget", "120s"])
    assert started == [["tune", "--python", sys.executable, "--budget", "120s"], ["tune", "--budget", "120s"]]


def test_a_target_named_by_the_user_is_left_alone(scripts: SimpleNamespace) -> None:
    assert scripts.start._names_target(["tune", "--python", "/usr/bin/python3"])
    assert scripts.start._names_target(["tune", "--python=/usr/bin/python3"])
    assert not scripts.start._names_target(["tune", "--pythonic"])
