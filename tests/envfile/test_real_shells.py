"""Real shells read the files back to the same values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.envfile.conda import CONDA
from doctor.envfile.dotenv import BARE
from doctor.envfile.formats import FORMATS
from tests.envfile.contents import AWKWARD, content_with, names, values

#: How each shell is started without its own start files, and the format that it reads.
SHELLS = {
    "sh": (["sh", "-c"], "sh"),
    "dash": (["dash", "-c"], "sh"),
    "bash": (["bash", "--norc", "--noprofile", "-c"], "sh"),
    "bash-posix": (["bash", "--posix", "--norc", "--noprofile", "-c"], "sh"),
    "zsh": (["zsh", "-f", "-c"], "sh"),
    "fish": (["fish", "--no-config", "-c"], "fish"),
}

EVERY_SHELL = pytest.mark.parametrize("shell", SHELLS)

few_examples = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def environment_after(shell: str, script: str, folder: Path, **before: str) -> dict[str, str]:
    """What a child of the shell sees, of the variables whose names begin with T_, after the script."""
    argv, _ = SHELLS[shell]
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", **before}
    ended = subprocess.run([*argv, f"{script}; env -0"], cwd=folder, env=plain, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
    rows = ended.stdout.decode("utf-8", "surrogateescape").split("\0")
    return {name: value for name, _, value in (row.partition("=") for row in rows) if name.startswith("T_")}


def load(shell: str) -> str:
    return "source ./file" if shell == "fish" else ". ./file"


@EVERY_SHELL
def test_awkward_values(shell: str, tmp_path: Path) -> None:
    variables = {f"T_{number}": value for number, value in enumerate(AWKWARD)}
    (tmp_path / "file").write_bytes(FORMATS[SHELLS[shell][1]].write(content_with(dict(variables))))
    assert environment_after(shell, load(shell), tmp_path) == variables


@EVERY_SHELL
@few_examples
@given(variables=st.dictionaries(names, values, min_size=3, max_size=12))
def test_any_values(shell: str, tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "file").write_bytes(FORMATS[SHELLS[shell][1]].write(content_with(dict(variables))))
    assert environment_after(shell, load(shell), tmp_path) == variables


@EVERY_SHELL
def test_what_is_taken_out(shell: str, tmp_path: Path) -> None:
    content = content_with({"T_GONE": None, "T_NEVER": None, "T_SET": "1"})
    (tmp_path / "file").write_bytes(FORMATS[SHELLS[shell][1]].write(content))
    assert environment_after(shell, load(shell), tmp_path, T_GONE="old", T_KEPT="1") == {"T_SET": "1", "T_KEPT": "1"}


@pytest.mark.parametrize("shell", [name for name in SHELLS if name != "fish"])
def test_a_shell_also_reads_plain_values_of_a_dotenv_file(shell: str, tmp_path: Path) -> None:
    variables = {f"T_{number}": value for number, value in enumerate(AWKWARD) if BARE.fullmatch(value)}
    (tmp_path / "file").write_bytes(FORMATS["dotenv"].write(content_with(dict(variables))))
    assert len(variables) > 3
    assert environment_after(shell, "set -a; . ./file; set +a", tmp_path) == variables


@pytest.mark.parametrize("shell", [name for name in SHELLS if name != "fish"])
def test_conda_gives_back_what_was_there(shell: str, tmp_path: Path) -> None:
    content = content_with({"T_NEW": "it's", "T_OLD": "8", "T_EMPTY": "1", "T_GONE": None})
    (tmp_path / "on").write_bytes(CONDA.write(content))
    (tmp_path / "off").write_bytes(CONDA.deactivation(content))
    before = {"T_OLD": "it's $OLD", "T_EMPTY": "", "T_GONE": "was here"}
    active = environment_after(shell, "set -u; . ./on", tmp_path, **before)
    assert active == {"T_NEW": "it's", "T_OLD": "8", "T_EMPTY": "1"}
    assert environment_after(shell, "set -u; . ./on; . ./off", tmp_path, **before) == before
    assert environment_after(shell, ". ./on; . ./off", tmp_path) == {}


def test_the_doctor_reads_conda_scripts_back() -> None:
    content = content_with({"T_NEW": "it's", "T_GONE": None})
    assert CONDA.read(CONDA.write(content)).variables == {"T_NEW": "it's", "T_GONE": None}
