"""Whose names stand in what somebody else made: nobody knows them beforehand, but a home folder, a prompt or a line of
`systeminfo` tells them, and then they are known wherever else they stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.knowledge.known_packages import is_known_package
from doctor.sources.base import Missing, Source
from doctor.sources.personal_patterns import HOME_OF_ANOTHER, WINDOWS_HOME, is_public_host
from doctor.sources.personal_spellings import plainly
from doctor.sources.redaction import Redactor

#: `jane@tower:~$ ` and `[jane@tower venv]$ ` at the beginning of a line.
_PROMPT = re.compile(
    r"^[ \t>]{0,8}(?:\([\w.-]{1,40}\)[ ]?)?\[?(?P<user>[a-z_][\w.-]{1,31})@(?P<host>[A-Za-z0-9][\w.-]{0,62})"
    r"(?=[: ][^\n]{0,120}[$#%>])",
    re.MULTILINE,
)
_USER_VARIABLE = re.compile(
    r"(?<![\w-])(?:USER|LOGNAME|USERNAME|SUDO_USER)[\"']?[ \t]*[=:][ \t]*[\"']?(?P<user>[\w.-]{2,40})"
)
_OWNER = re.compile(r"^[ \t]*Registered Owner:[ \t]+(?P<user>\S[^\r\n]{1,60})", re.MULTILINE | re.IGNORECASE)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?P<host>(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,12})\b")
_DOMAIN = re.compile(r"^[ \t]*(?:Primary Dns Suffix|Domain)[ .]*:[ \t]+(?P<host>[\w-]+(?:\.[\w-]+)+)", re.M | re.I)
_HOST_LINE = re.compile(
    r"(?<![\w-])(?:Host ?name|Machine name|Computer ?name|Node ?name|Logon ?Server|systemd\.hostname)"
    r"[\"']?[ \t]*[=:][ \t]*[\"']?\\{0,4}(?P<host>[A-Za-z0-9][\w.-]{1,62})",
    re.IGNORECASE,
)
#: What `uname -a` prints.
_UNAME = re.compile(r"^[ \t>]{0,8}Linux (?P<host>[A-Za-z0-9][\w.-]{1,62}) \d+\.\d+\S* #", re.MULTILINE)

_HOST_FILES = ("/etc/hostname", "/proc/sys/kernel/hostname")
_NOT_A_NAME = frozenset({"workgroup", "unknown", "not", "available", "n", "na", "name"})
#: As much of a text is looked through for names.
_MOST_LOOKED_THROUGH = 8 * 1024 * 1024


def redactor_of_text(text: str) -> Redactor:
    """For a text that somebody else made, and everything that is read from it."""
    looked = text[:_MOST_LOOKED_THROUGH]
    if looked.lstrip()[:1] in ("{", "["):  # JSON: its texts stand in one line
        looked = looked.replace("\\n", "\n").replace("\\t", "\t")
    lower = looked.lower()
    users, hosts = set(_users(looked, lower)), set(_hosts(looked, lower))
    return Redactor(sorted(users), sorted(hosts), before=looked, learns=is_name)


def redactor_of_source(source: Source) -> Redactor:
    """For a tree or recording: its host's name where it has a file for that."""
    answers = (source.text(path) for path in _HOST_FILES)
    names = {answer.strip() for answer in answers if not isinstance(answer, Missing)}
    return Redactor(hosts=sorted({part for name in names for part in _parts_of_host(name)}), learns=is_name)


def _users(text: str, lower: str) -> Iterator[str]:
    for sign, pattern in (("home", HOME_OF_ANOTHER), ("users", HOME_OF_ANOTHER), ("users", WINDOWS_HOME)):
        if sign in lower:
            yield from (plainly(found["name"]) for found in pattern.finditer(text) if is_name(found["name"]))
    variables = (("user", _USER_VARIABLE), ("logname", _USER_VARIABLE))
    for sign, pattern in (("@", _PROMPT), *variables, ("registered", _OWNER)):
        if sign in lower:
            yield from (found["user"].strip() for found in pattern.finditer(text) if is_name(found["user"]))


#: What a text must hold for a pattern to be worth the time.
_HOST_SIGNS = ("host", "machine name", "computer", "node name", "nodename", "logon")


def _hosts(text: str, lower: str) -> Iterator[str]:
    for signs, pattern in ((("@",), _PROMPT), (_HOST_SIGNS, _HOST_LINE), (("linux ",), _UNAME)):
        if any(sign in lower for sign in signs):
            for found in pattern.finditer(text):
                yield from _parts_of_host(found["host"])
    for sign, pattern in (("@", _MAIL), ("domain", _DOMAIN), ("dns suffix", _DOMAIN)):
        if sign in lower:
            yield from (found["host"] for found in pattern.finditer(text) if not is_public_host(found["host"]))


def _parts_of_host(name: str) -> Iterator[str]:
    """The name, its first label and its domain. `Redactor` passes over words of the trade."""
    first, _, domain = name.strip(" .").partition(".")
    for part in (name.strip(" ."), first, domain if "." in domain else ""):
        if is_name(part) and not is_public_host(part):
            yield part


def is_name(word: str) -> bool:
    """False for what is a package, or can be no name: replaced, it would take facts with it."""
    lower = word.strip().lower()
    has_letters = re.search(r"[^\W\d_]", lower) is not None
    return has_letters and lower not in _NOT_A_NAME and not is_known_package(lower)
