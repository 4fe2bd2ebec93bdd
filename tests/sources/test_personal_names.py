from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from doctor.sources import personal_names
from doctor.sources.redaction import Redactor

PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
canary:x:{uid}:1000:Jane Canary,,,:/home/canary:/bin/bash
neighbour:x:4711:4711::/home/neighbour:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
broken line
"""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Redactor:
    if sys.platform == "win32":
        pytest.skip("needs /etc/passwd of POSIX")
    import pwd

    lines = {"/etc/passwd": PASSWD.format(uid=os.geteuid()).splitlines(), "/etc/hostname": ["nest.birds.example"]}
    monkeypatch.setattr(personal_names, "_lines", lambda path: lines[path])
    monkeypatch.setattr(socket, "gethostname", lambda: "cage")
    for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "DOAS_USER", "HOSTNAME", "COMPUTERNAME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/data/people/canary")
    entry = pwd.struct_passwd(("canary", "x", os.geteuid(), 1000, "Jane Canary", "/home/canary", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: entry)
    monkeypatch.setenv("SUDO_USER", "helper")
    personal_names.redactor_of_this_machine.cache_clear()
    yield personal_names.redactor_of_this_machine()
    personal_names.redactor_of_this_machine.cache_clear()


def test_names_and_homes_are_found(here: Redactor) -> None:
    assert here.text("/home/canary/a:/data/people/canary/b") == "~/a:~/b"
    told = here.text("canary, Jane Canary, neighbour, helper; daemon, nobody at cage nest birds.example")
    for name in ("canary", "Jane", "neighbour", "helper", "cage", "nest", "birds"):
        assert name not in told
    assert "daemon, nobody at" in told


def test_it_is_one_for_the_whole_process(here: Redactor) -> None:
    assert personal_names.redactor_of_this_machine() is here


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert personal_names._lines(str(tmp_path / "none")) == []
