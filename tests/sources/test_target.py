"""Which Python is inspected, and what is said of paths that are none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from doctor.processes.run import Ended
from doctor.sources import inside, target
from doctor.sources.base import Missing
from doctor.sources.inside import cleaned_environment, read_interpreter, signal_of_status, telling_line
from doctor.sources.target import BadTarget, find_target

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments of links and shell scripts are POSIX")

REAL = Path(sys._base_executable)  # type: ignore[attr-defined]


def environment(folder: Path, *, torch: bool = False) -> Path:
    """A virtual environment as `python -m venv` lays it out, of links; returns its interpreter."""
    site = folder / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(REAL)
    (folder / "bin" / "python3").symlink_to("python")
    (folder / "pyvenv.cfg").write_text(f"home = {REAL.parent}\ninclude-system-site-packages = false\n")
    if torch:
        (site / "torch").mkdir()
        (site / "torch" / "__init__.py").write_text("raise SystemExit('imported')")
    return folder / "bin" / "python"


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def own(tmp_path: Path) -> str:
    """The doctor's own interpreter, without torch."""
    return str(environment(tmp_path / "own"))


def found(own: str, python: str | None = None, **variables: object) -> target.Target:
    return find_target(python, environ={"PATH": "", **{name: str(value) for name, value in variables.items()}}, own=own)


def test_what_the_user_names_comes_first(tmp_path: Path, own: str) -> None:
    named, active = environment(tmp_path / "named"), environment(tmp_path / "active", torch=True)
    chosen = found(own, str(named), VIRTUAL_ENV=tmp_path / "active")
    assert (chosen.path, chosen.chosen_by) == (str(named), "--python")
    assert chosen.identity["prefix"] == str(tmp_path / "named")
    assert chosen.others == (str(active),)


def test_the_order_of_what_the_session_names(tmp_path: Path, own: str) -> None:
    for name in ("venv", "conda"):
        environment(tmp_path / name)
    caller = environment(tmp_path / "caller")
    every = {"VIRTUAL_ENV": tmp_path / "venv", "CONDA_PREFIX": tmp_path / "conda", target.CALLER: caller}
    order = []
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", target.CALLER, None):
        chosen = found(own, **every)
        order.append((Path(chosen.path).parts[-3], chosen.chosen_by))
        if name:
            del every[name]
    assert order == [
        ("venv", "the active virtual environment (VIRTUAL_ENV)"),
        ("conda", "the active conda environment (CONDA_PREFIX)"),
        ("caller", "the Python that started amd-doctor"),
        ("own", "amd-doctor's own Python"),
    ]


def test_the_first_on_path_that_holds_torch(tmp_path: Path, own: str) -> None:
    environment(tmp_path / "a")
    second, third = environment(tmp_path / "b", torch=True), environment(tmp_path / "c", torch=True)
    path = os.pathsep.join(str(tmp_path / name / "bin") for name in ("missing", "a", "b", "c"))
    chosen = found(own, PATH=path)
    assert chosen.path == str(second.with_name("python3"))
    assert chosen.chosen_by == "the first Python on PATH that holds torch"
    assert chosen.others == (str(third.with_name("python3")),)


def test_without_torch_anywhere_it_is_the_doctors_own(tmp_path: Path, own: str) -> None:
    environment(tmp_path / "a")
    chosen = found(own, PATH=tmp_path / "a" / "bin")
    assert (chosen.path, chosen.others) == (own, ())


def test_an_active_environment_without_torch_is_still_the_target(tmp_path: Path, own: str) -> None:
    active, other = environment(tmp_path / "active"), environment(tmp_path / "other", torch=True)
    chosen = found(own, VIRTUAL_ENV=tmp_path / "active", PATH=tmp_path / "other" / "bin")
    assert chosen.path == str(active)
    assert chosen.others == (str(other.with_name("python3")),)


def test_the_doctors_own_environment_is_among_the_others(tmp_path: Path) -> None:
    own = environment(tmp_path / "own", torch=True)
    environment(tmp_path / "active")
    assert found(str(own), VIRTUAL_ENV=tmp_path / "active").others == (str(own),)


def test_a_link_of_an_environment_is_not_followed(tmp_path: Path, own: str) -> None:
    chosen = found(own, str(environment(tmp_path / "a")))
    assert Path(chosen.path).is_symlink()
    assert chosen.identity["venv"] is True


def test_one_environment_is_named_once_whatever_leads_to_it(tmp_path: Path, own: str) -> None:
    python = environment(tmp_path / "a", torch=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    path = os.pathsep.join(str(folder / "bin") for folder in (tmp_path / "a", tmp_path / "link"))
    chosen = found(own, own, VIRTUAL_ENV=tmp_path / "link", PATH=path)
    assert len(chosen.others) == 1
    assert Path(chosen.others[0]).resolve() == python.resolve()
    assert found(own, str(python), VIRTUAL_ENV=tmp_path / "link", PATH=path).others == ()


def test_relative_names_are_not_believed_from_the_environment(tmp_path: Path, own: str, monkeypatch) -> None:
    environment(tmp_path / "here" / "venv", torch=True)
    monkeypatch.chdir(tmp_path / "here")
    assert found(own, VIRTUAL_ENV="venv", PATH=f"venv/bin{os.pathsep}", AMD_DOCTOR_CALLER="venv/bin/python").path == own


def test_a_relative_path_that_the_user_names_is_from_here(tmp_path: Path, own: str, monkeypatch) -> None:
    python = environment(tmp_path / "venv")
    monkeypatch.chdir(tmp_path)
    assert found(own, "venv/bin/python").path == str(python)


def test_a_bare_name_is_looked_up_on_path(tmp_path: Path, own: str) -> None:
    environment(tmp_path / "a")
    assert found(own, "python3", PATH=tmp_path / "a" / "bin").path == str(tmp_path / "a" / "bin" / "python3")


def test_a_broken_active_environment_is_passed_over_and_told(tmp_path: Path, own: str) -> None:
    python = environment(tmp_path / "gone")
    python.unlink()
    python.symlink_to(tmp_path / "python-that-was-removed")
    chosen = found(own, VIRTUAL_ENV=tmp_path / "gone")
    assert chosen.path == own
    assert chosen.passed_over == (
        f"{python} (the active virtual environment (VIRTUAL_ENV)): it does not start: No such file or directory",
    )


def shim(folder: Path, python: Path) -> Path:
    """Like pyenv's: what it stands for is written in the current folder."""
    return script(folder / "shims" / "python3", f'#!/bin/sh\n[ -f .python-version ] || exit 127\nexec {python} "$@"\n')


def test_a_shim_is_asked_where_the_user_stands(tmp_path: Path, own: str, monkeypatch) -> None:
    real = environment(tmp_path / "real", torch=True)
    shims = shim(tmp_path, real)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".python-version").touch()
    monkeypatch.chdir(tmp_path / "project")
    assert found(own, PATH=shims.parent).path == str(real)
    assert found(own, own, PATH=shims.parent).others == (str(real),)
    monkeypatch.chdir(tmp_path)
    assert found(own, PATH=shims.parent).path == own


def bad(tmp_path: Path, python: str, own: str) -> str:
    with pytest.raises(BadTarget) as error:
        found(own, python)
    text = str(error.value)
    assert text.startswith(f"--python {python}: ")
    return text.removeprefix(f"--python {python}: ").replace(str(tmp_path), "TMP")


def test_paths_that_are_no_interpreter_are_one_sentence(tmp_path: Path, own: str, monkeypatch) -> None:
    monkeypatch.setattr(target, "INTERPRETER_TIMEOUT_SECONDS", 1.0)
    environment(tmp_path / "venv")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    says = "echo >&2"
    prints = 'echo \'{"answer": "amd-doctor/interpreter/1", "version": "%s"}\''
    sentences = {
        "missing": "there is no such file",
        "dangling": "it is a link to nothing",
        "empty": "it is a folder, not an interpreter",
        "venv": "it is a folder, not an interpreter; did you mean TMP/venv/bin/python?",
        script(tmp_path / "notes.txt", "hello", 0o644).name: "it does not start: Permission denied",
        script(tmp_path / "text", "hello").name: "it does not start: Exec format error",
        script(tmp_path / "true", "#!/bin/sh\n").name: "it is not a working Python: exit 0 without an answer",
        script(tmp_path / "fails", f"#!/bin/sh\n{says} first\n{says} 'Fatal Python error: encodings'\nexit 1\n").name: (
            "it is not a working Python: exit 1 without an answer (Fatal Python error: encodings)"
        ),
        script(tmp_path / "dies", "#!/bin/sh\nkill -SEGV $$\n").name: "it died of SIGSEGV",
        script(tmp_path / "hangs", "#!/bin/sh\n/bin/sleep 600\n").name: "it did not answer (timeout after 1 s)",
        script(tmp_path / "old", f"#!/bin/sh\n{prints % '2.7.18'}\n").name: (
            "Python 2.7.18 is too old: 3.8 is the oldest that can be inspected"
        ),
        script(tmp_path / "strange", f"#!/bin/sh\n{prints % 'x'}\n").name: (
            "it is not a working Python: it names no version"
        ),
    }
    assert {name: bad(tmp_path, str(tmp_path / name), own) for name in sentences} == sentences
    assert bad(tmp_path, "no-such-python", own) == "there is no such file"


def test_one_candidate_that_hangs_costs_a_bounded_time_only(tmp_path: Path, own: str, monkeypatch) -> None:
    monkeypatch.setattr(target, "ASKED_TIMEOUT_SECONDS", 1.0)
    pid = tmp_path / "pid"
    script(tmp_path / "slow" / "python3", f"#!/bin/sh\necho $$ >{pid}\n/bin/sleep 600\n")
    python = environment(tmp_path / "a", torch=True)
    path = os.pathsep.join([str(tmp_path / "slow"), str(python.parent)])
    assert found(own, PATH=path).path == str(python.with_name("python3"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_no_more_than_a_few_are_asked(tmp_path: Path, own: str, monkeypatch) -> None:
    asked = []
    honest = target.start_inside

    def counted(python: str, name: str, arguments, **options):
        asked.append(python)
        return honest(python, name, arguments, **options)

    monkeypatch.setattr(target, "start_inside", counted)
    folders = [script(tmp_path / str(number) / "python3", f"#!/bin/sh\nexit {number}\n").parent for number in range(30)]
    found(own, PATH=os.pathsep.join(map(str, folders)))
    assert len(asked) == target.MOST_ASKED + 1  # and the target itself, in full


def test_when_nothing_answers_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadTarget, match="name one with --python"):
        found(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("value", "kept", "dropped"),
    [
        ("", None, ("",)),
        (".", None, (".",)),
        ("/a", "/a", ()),
        ("/a::/b", "/a:/b", ("",)),
        ("lib:/a:../x:", "/a", ("lib", "../x", "")),
    ],
)
def test_pythonpath_keeps_absolute_entries(value: str, kept: str | None, dropped: tuple[str, ...]) -> None:
    cleaned = cleaned_environment({"PYTHONPATH": value, "HOME": "/h", "__PYVENV_LAUNCHER__": "/x"})
    assert cleaned.variables == {"HOME": "/h", **({"PYTHONPATH": kept} if kept else {})}
    assert cleaned.dropped_pythonpath == dropped


def ended(stdout: bytes, outcome: str = "exited", status: int | None = 0) -> Ended:
    return Ended(outcome, status, "exit 0", stdout, b"", False, 0.1)


ANSWER = b'{"answer": "amd-doctor/interpreter/1", "version": "3.12.1"}'


@pytest.mark.parametrize(
    "stdout",
    [
        ANSWER,
        b"noise\n" + ANSWER + b"\nmore noise\n",
        b'{"answer": "amd-doctor/interpreter/1"\n\n' + ANSWER,
        b"\xff\xfe amd-doctor/interpreter/1\n" + ANSWER + b"\r\n",
    ],
)
def test_the_answer_is_found_among_noise(stdout: bytes) -> None:
    told = read_interpreter(ended(stdout))
    assert not isinstance(told, Missing)
    assert told["version"] == "3.12.1"


def test_an_answer_that_was_cut_is_none() -> None:
    assert isinstance(read_interpreter(ended(ANSWER[:-3])), Missing)


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (b"", ""),
        (b"\n  \n", ""),
        (b"warning: x\nlibgomp: Invalid value\n", "libgomp: Invalid value"),
        (b"pyenv: python3.8: command not found\n\nIt exists in:\n  3.8\n", "pyenv: python3.8: command not found"),
        (b"Traceback (most recent call last):\n  error\nImportError: libx.so: no\n", "ImportError: libx.so: no"),
        (b"a\x1b[31mb\x00\n", "a[31mb"),
        (b"x" * 999, "x" * 200),
    ],
)
def test_the_line_that_says_why(stderr: bytes, line: str) -> None:
    assert telling_line(stderr) == line


def test_status_of_a_shell() -> None:
    assert signal_of_status(139) == "SIGSEGV"
    assert [signal_of_status(status) for status in (None, 0, 1, 128, 255)] == [None] * 5


def test_root_leaves_no_compiled_files(tmp_path: Path, monkeypatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(inside, "Child", lambda argv, **_: started.append(list(argv)))
    for user in (0, 1000):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        inside.start_inside("/usr/bin/python3", "interpreter.py", (), environ={}, folder=str(tmp_path))
    assert ["-B" in argv for argv in started] == [True, False]
    assert all(Path(argv[-1]) == inside.SCRIPTS / "interpreter.py" and Path(argv[-1]).is_file() for argv in started)
