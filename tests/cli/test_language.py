"""`--lang` and the locale, as processes: which language the screen is in, and that JSON never changes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from doctor import __version__
from doctor.cli.language import language_of, language_of_locale
from tests.cli.running import EVERY_MACHINE, MACHINES, ROOT, Doctor, environment

ERRORS = MACHINES / "two-errors.json"
CHINESE = re.compile("[\u4e00-\u9fff]")
ZH = {"LANG": "zh_CN.UTF-8"}


class TextFile(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def test_a_chinese_locale_gets_the_chinese_screen(doctor: Doctor, snapshot: SnapshotAssertion) -> None:
    ended = doctor("check", "--from", ERRORS, env=ZH)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.replace(__version__, "0.1.0") == snapshot.use_extension(TextFile)
    assert doctor("check", "--from", ERRORS, "--lang", "zh").stdout == ended.stdout


def test_the_last_line_is_for_scripts(doctor: Doctor) -> None:
    for more in ((), ("-q",), ("-v",)):
        last = doctor("check", "--from", ERRORS, *more, env=ZH).stdout.splitlines()[-1]
        assert re.fullmatch(r"amd-doctor: \d+ errors?, \d+ warnings?, \d+ undecided; first: [a-z0-9-]+", last)


def test_english_can_be_forced(doctor: Doctor) -> None:
    english = doctor("check", "--from", ERRORS).stdout
    assert not CHINESE.search(english)
    assert doctor("check", "--from", ERRORS, "--lang", "en", env=ZH).stdout == english


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--from", ERRORS, "--json"),
        ("check", "--from", MACHINES, "--summary", "--json"),
        ("check", "--from", MACHINES, "--summary", "--csv"),
        ("plan", "--from", MACHINES / "plans" / "7950x-7900xtx.json", "--json"),
        ("compare", MACHINES / "healthy-5950x.json", ERRORS, "--json"),
        ("topology", "--from", MACHINES / "windows-laptop.json", "--json"),
        ("rules", "--json"),
        ("rules", "folk", "--json"),
    ],
    ids=lambda arguments: "-".join(str(part) for part in arguments if not isinstance(part, Path)),
)
def test_json_and_csv_never_change(arguments: tuple[str | Path, ...], doctor: Doctor) -> None:
    """Byte for byte, under a Chinese locale and with `--lang zh`."""
    english = doctor(*arguments)
    assert english.stdout
    for ended in (doctor(*arguments, env=ZH), doctor(*arguments, "--lang", "zh")):
        assert (ended.stdout, ended.returncode) == (english.stdout, english.returncode)


@pytest.mark.parametrize("name", EVERY_MACHINE)
def test_json_of_every_machine_is_the_same(name: str, doctor: Doctor) -> None:
    arguments = ("check", "--from", MACHINES / name, "--json")
    assert doctor(*arguments, env=ZH).stdout == doctor(*arguments).stdout


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, {"LC_ALL": "POSIX", "LANGUAGE": "zh_CN"}],
    ids=["C", "POSIX"],
)
def test_the_c_locale_stays_english_and_ascii(env: dict[str, str], doctor: Doctor) -> None:
    ended = doctor("check", "--from", ERRORS, env=env)
    assert ended.returncode == 1 and ended.stdout.isascii() and ended.stdout


def test_ascii_is_english(doctor: Doctor) -> None:
    ended = doctor("check", "--from", ERRORS, "--ascii", "--lang", "zh")
    assert ended.stdout.isascii()
    assert ended.stdout == doctor("check", "--from", ERRORS, "--ascii").stdout


def test_chinese_that_is_asked_for_beats_the_c_locale(doctor: Doctor) -> None:
    """Its terminal may know no symbols, but whoever asks for Chinese can read it."""
    ended = doctor("check", "--from", ERRORS, "--lang", "zh", env={"LC_ALL": "C"})
    assert CHINESE.search(ended.stdout) and "✓" not in ended.stdout and "?" not in ended.stdout.partition("\n\n")[0]


def test_a_stdout_that_cannot_take_chinese_gets_english(doctor: Doctor) -> None:
    for encoding in ("cp1252", "ascii"):
        ended = doctor("check", "--from", ERRORS, "--lang", "zh", env={"PYTHONIOENCODING": encoding})
        assert ended.stdout.isascii() and ended.returncode == 1


def test_gbk_takes_chinese_and_no_symbols() -> None:
    """As in a pipe on a Chinese Windows."""
    ended = subprocess.run(
        [sys.executable, "-m", "doctor", "check", "--from", str(ERRORS), "--lang", "zh"],
        capture_output=True,
        env=environment(PYTHONIOENCODING="gbk"),
        check=False,
        timeout=120,
    )
    text = ended.stdout.decode("gbk")
    assert "+ CPU         正常" in text and "X PyTorch     错误" in text and "- 电源        不适用" in text


@pytest.mark.parametrize(
    "value",
    ["zz_ZZ.UTF-8", "??", "zh_CN\udcff", ".", "@", "zh_TW.UTF-8", "zh", "zh_CN.GBK", "a" * 5000],
    ids=lambda value: ascii(value[:12]),
)
def test_a_broken_locale_is_no_matter(value: str, doctor: Doctor) -> None:
    ended = doctor("check", "--from", ERRORS, env={"LC_ALL": value})
    assert ended.returncode == 1 and ended.stderr == ""
    assert ended.stdout.splitlines()[-1].startswith("amd-doctor: 1 error")


@pytest.mark.parametrize("spelled", ["zh", "zh_CN", "zh-CN", "zh-Hans", "zh_CN.UTF-8", "ZH"])
def test_names_of_the_language(spelled: str, doctor: Doctor) -> None:
    assert CHINESE.search(doctor("rules", "memory", "--lang", spelled).stdout)


@pytest.mark.parametrize("spelled", ["cn", "zh_TW", "de", ""])
def test_a_language_that_there_is_not(spelled: str, doctor: Doctor) -> None:
    ended = doctor("rules", "memory", "--lang", spelled)
    assert ended.returncode == 2 and "'en', 'zh'" in ended.stderr and ended.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--from", ERRORS, "--ask"),
        ("check", "--from", MACHINES, "--summary"),
        ("plan", "--from", MACHINES / "plans" / "7950x-7900xtx.json"),
        ("compare", MACHINES / "healthy-5950x.json", ERRORS),
        ("topology", "--from", MACHINES / "windows-laptop.json"),
        ("rules",),
        ("rules", "igpu-memory-limit"),
        ("rules", "folk"),
        ("rules", "folk-core-pinning"),
    ],
    ids=lambda arguments: "-".join(str(part) for part in arguments if not isinstance(part, Path)),
)
def test_every_command_speaks_it(arguments: tuple[str | Path, ...], doctor: Doctor) -> None:
    ended = doctor(*arguments, env=ZH)
    assert len(CHINESE.findall(ended.stdout)) > 20
    assert ended.returncode == doctor(*arguments).returncode


ENV_FILE = "# by hand\nexport OMP_NUM_THREADS=8\nexport NOT_FOR_TUNING=1\n"


def test_env_speaks_it_and_its_json_does_not(doctor: Doctor, tmp_path: Path) -> None:
    path = tmp_path / "tuned.sh"
    path.write_text(ENV_FILE)
    for command in (("env", "show", path), ("env", "check", path, "--from", ERRORS)):
        english, ended = doctor(*command), doctor(*command, env=ZH)
        assert CHINESE.search(ended.stdout) and not CHINESE.search(english.stdout)
        assert ended.returncode == english.returncode
        assert doctor(*command, "--json", env=ZH).stdout == doctor(*command, "--json").stdout
    last = doctor("env", "check", path, "--from", ERRORS, env=ZH).stdout.splitlines()[-1]
    assert re.fullmatch(r"amd-doctor: .*: \d+ errors?, \d+ warnings?", last)


@pytest.mark.parametrize("form", ["markdown", "text", "html"])
def test_a_chinese_report_is_read_back(form: str, doctor: Doctor, tmp_path: Path) -> None:
    """Its machine data are the same as those of the English one; so are its findings."""
    written = doctor("report", "--from", ERRORS, "--format", form, "--lang", "zh")
    assert written.returncode == 0 and CHINESE.search(written.stdout)
    if form == "html":
        assert '<html lang="zh' in written.stdout
        return
    path = tmp_path / "report.md"
    path.write_text(written.stdout, encoding="utf-8")
    assert _findings(doctor, path) == _findings(doctor, ERRORS)


def _findings(doctor: Doctor, path: Path) -> object:
    return json.loads(doctor("check", "--from", path, "--json").stdout)["findings"]


def test_the_json_of_a_report_never_changes(doctor: Doctor) -> None:
    arguments = ("report", "--from", ERRORS, "--format", "json")
    assert doctor(*arguments, "--lang", "zh").stdout == doctor(*arguments).stdout


def test_errors_are_told_in_chinese(doctor: Doctor, tmp_path: Path) -> None:
    ended = doctor("check", "--from", tmp_path / "no.json", env=ZH)
    assert ended.returncode == 2 and CHINESE.search(ended.stderr) and len(ended.stderr.splitlines()) == 1


def test_a_catalog_that_cannot_be_read_costs_the_language_only(tmp_path: Path) -> None:
    """In a copy of the checkout: what is broken there is said, and the screen is English."""
    for name in ("doctor", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rules" / "lang" / "zh" / "screens.po").write_text("no catalog\n")
    ended = subprocess.run(
        [sys.executable, "-m", "doctor", "check", "--from", str(ERRORS), "--lang", "zh"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(tmp_path)},
        check=False,
        timeout=120,
    )
    assert ended.returncode == 1
    assert "screens.po" in ended.stderr and "looked at two-errors.json" in ended.stdout


# Which language


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, None),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN"}, "zh"),
        ({"LANG": "zh_SG.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8@pinyin"}, "zh"),
        ({"LANG": "zh_TW.UTF-8"}, "en"),
        ({"LANG": "zh_HK.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": ""}, None),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en_US:zh_CN"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "de:fr"}, "zh"),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "fr:zh_CN"}, "zh"),
        ({"LANG": "C", "LANGUAGE": "zh_CN"}, "en"),
        ({"LANGUAGE": "zh_CN"}, None),
        ({"LC_CTYPE": "zh_CN.UTF-8"}, None),
    ],
)
def test_the_language_of_a_locale(environ: dict[str, str], language: str | None) -> None:
    assert language_of_locale(environ) == language


def test_the_stream_decides_last() -> None:
    ascii_stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    gbk_stream = io.TextIOWrapper(io.BytesIO(), encoding="gbk")
    assert language_of("zh", {}, ascii_stream) == "en"
    assert language_of("zh", {}, gbk_stream) == "zh"
    assert language_of(None, ZH, gbk_stream) == "zh"
    assert language_of("en", ZH, gbk_stream) == "en"


@pytest.mark.skipif(os.name != "nt", reason="needs Windows")
def test_windows_tells_its_language() -> None:
    from doctor.sources.windows_language import ui_language

    name = ui_language()
    assert name is not None and re.fullmatch(r"[a-z]{2,3}(-\w+)*", name)
