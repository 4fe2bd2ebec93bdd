"""Who and where this process is: the names and home folders that must not leave the machine. No network is asked."""

from __future__ import annotations

import os
import platform
import socket
import sys
from functools import cache
from pathlib import Path

from doctor.sources.redaction import Redactor

_FIRST_PERSON_UID = 1000
_NOBODY_UID = 65534
_PASSWD_CAP_BYTES = 1024 * 1024


@cache
def redactor_of_this_machine() -> Redactor:
    """The one redactor of this process: a value has one pseudonym in everything that is printed or written."""
    users, homes = _users_and_homes()
    return Redactor(users, _hosts(), homes)


def _hosts() -> set[str]:
    """The host's name, its first label and its domain."""
    names = {socket.gethostname(), platform.node(), os.environ.get("HOSTNAME", ""), os.environ.get("COMPUTERNAME", "")}
    names.add(_first_line("/etc/hostname"))
    for name in list(names):
        first, _, domain = name.partition(".")
        names |= {first, domain}
    return {name for name in names if name}


def _users_and_homes() -> tuple[set[str], list[str]]:
    own = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "DOAS_USER")}
    homes = [os.environ.get(name, "") for name in ("HOME", "USERPROFILE")]
    users = set(own)
    if sys.platform != "win32":
        uids = {os.getuid(), os.geteuid()}
        for name, uid, real_name, home in _accounts():
            if uid in uids or name in own:
                homes.append(home)
                users |= {name, real_name if " " in real_name else ""}
            elif _FIRST_PERSON_UID <= uid < _NOBODY_UID:
                users.add(name)
    homes += [str(Path(home).resolve()) for home in homes if home]
    return {user for user in users if user}, list(dict.fromkeys(home for home in homes if home))


def _accounts() -> list[tuple[str, int, str, str]]:
    """Name, user id, real name and home of the accounts in /etc/passwd, and of this process's own (LDAP)."""
    import pwd

    rows = []
    for line in _lines("/etc/passwd"):
        fields = line.split(":")
        if len(fields) >= 6 and fields[2].isdigit():
            rows.append((fields[0], int(fields[2]), fields[4].split(",")[0], fields[5]))
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        return rows
    return [*rows, (entry.pw_name, entry.pw_uid, entry.pw_gecos.split(",")[0], entry.pw_dir)]


def _first_line(path: str) -> str:
    return next(iter(_lines(path)), "").strip()


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as opened:
            return opened.read(_PASSWD_CAP_BYTES).splitlines()
    except OSError:
        return []
