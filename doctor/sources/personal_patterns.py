"""Patterns of personal data that can be recognised without knowing the person: addresses, identifiers, secrets.

A pattern that begins with a run of letters looks behind itself first: without that, a long word of somebody else's
making would be scanned anew from each of its letters.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

_HEX = "[0-9A-Fa-f]"

#: 8-4-4-4-12, as Kubernetes writes it (`pod1234abcd_…`) too, and as 32 digits (machine ids).
UUID = re.compile(
    rf"(?:(?<!{_HEX})|(?<=pod)){_HEX}{{8}}(?P<s>[-_]){_HEX}{{4}}(?P=s){_HEX}{{4}}(?P=s){_HEX}{{4}}(?P=s){_HEX}{{12}}(?!{_HEX})"
    rf"|(?<![^\W_]){_HEX}{{32}}(?![^\W_])"
)
SID = re.compile(r"\bS-1-5-21(?:-[0-9]+){3,5}\b")
MAC = re.compile(
    rf"(?<![0-9A-Fa-f:-])(?:{_HEX}{{2}}:){{5,19}}{_HEX}{{2}}(?![0-9A-Fa-f:])"
    rf"|(?<![0-9A-Za-z-])(?:{_HEX}{{2}}-){{5,7}}{_HEX}{{2}}(?![0-9A-Za-z-])"
    rf"|(?<![^\W_])(?:enx|wlx|wwx){_HEX}{{12}}(?![^\W_])"
)

#: `user@1000.service` is a unit of systemd.
EMAIL = re.compile(
    r"(?<![\w.+-])(?!removed@)[\w.+-]+@(?:[A-Za-z0-9-]+\.)+(?!service\b|slice\b|scope\b|socket\b|mount\b|target\b)[A-Za-z]{2,}\b"
)

#: Whatever stands in front of the host of a URL, values of telling parameters, and tokens that show what they are.
SECRET = re.compile(
    r"(?P<scheme>(?<![\w+.-])[A-Za-z][\w+.-]*://)(?!removed@)[^/@\s'\"]+(?=@)"
    r"|(?P<parameter>(?:^|[?&;,\s'\"])(?:[\w.-]*[_.-])?(?:token|key|secret|sig|signature|password|passwd|auth|credential)=)"
    r"(?!removed(?![\w]))[^&\s'\";]+"
    r"|(?<![^\W_])(?:hf_|gh[opsu]_|github_pat_|glpat-|pypi-|sk-|xox[bp]-|AKIA)[A-Za-z0-9_-]{16,}"
)

#: A text without any of these holds no secret: looking for them costs a tenth of the pattern.
SIGNS_OF_SECRETS = ("://", "=", "hf_", "gh", "github_pat_", "glpat-", "pypi-", "sk-", "xox", "AKIA")

_PERSONAL_KEY = (
    r"(?:i?serial(?:[ _-]?(?:number|no|short))?|asset[ _-]?tag|uuid(?:_sub)?(?:_enc)?|(?:fs|part)[ _]label(?:_enc)?"
    r"|part_entry_name|ww(?:id|n)(?:_\w+)?|unique[ _-]?id|(?:machine|boot)[ _-]?id|(?:host|node|computer)[ _-]?name)"
)

#: A key of a JSON value that is personal as a whole.
KEY_OF_PERSONAL = re.compile(rf"(?:\w+[ _-])?{_PERSONAL_KEY}", re.IGNORECASE)

#: A line of dmidecode (`Serial Number: 1234`), udev (`E:ID_SERIAL=…`), uevent or os-release.
KEYED_LINE = re.compile(
    rf"^(?P<key>[ \t]*(?:\w[\w ./()-]*[ ])?{_PERSONAL_KEY}[ \t]*:[ \t]+"
    rf"|(?:[A-Z]:[ ]?)?(?:[A-Z0-9]+_)*?{_PERSONAL_KEY}=(?=.*$))(?P<value>\S(?:.*\S)?)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)

#: A word of a kernel command line: `root=UUID=…`, `systemd.hostname=…`.
KEYED_WORD = re.compile(
    rf"(?P<key>(?<![\w.-])(?:[\w.-]*[._-])?(?:(?:PART)?(?:UUID|LABEL)|{_PERSONAL_KEY})=)(?P<value>[^\s,;:=\"']+)",
    re.IGNORECASE,
)

#: A folder of another person. A name may hold blanks only where a further folder shows its end.
WINDOWS_HOME = re.compile(
    r"(?P<before>[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2})(?P<name>[^\\/:*?\"<>|\r\n]+(?=[\\/])|[^\\/\s:;,'\"]+)"
)
HOME_OF_ANOTHER = re.compile(r"(?<!~)(?P<before>/(?:home|Users)/)(?P<name>[^/\\\s:;,'\"()<>]+)")

#: Where desktops mount the disks of a user, by label.
VOLUME = re.compile(r"(?<![\w.~-])(?P<before>/run/media/|/media/)(?P<name>[^/\s:;,'\"]+)(?:/(?P<label>[^/\s:;,'\"]+))?")

_IPV4 = re.compile(r"(?<![\w.+~^-])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w-]|\.[0-9])")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{6,39}(?![\w:])")
_VERSION_BEFORE = re.compile(r"(?:version|release|revision|driver|bios|firmware)\W{0,4}$|[=<>~!]=\s?$|[<>]\s?$", re.I)
_ADDRESS_BEFORE = re.compile(r"(?://|@|\bip=|addr\w*\W{1,3}|server\W{1,3}|host\W{1,3})$", re.I)
_ADDRESS_AFTER = re.compile(r":[0-9]|/[0-9]")

#: Four numbers that begin lower are rather a version (`12.1.3.1`), unless something near says otherwise; 10 is private.
_FIRST_OF_AN_ADDRESS = 32


def kind_of_key(key: str) -> str:
    """Which pseudonym the value behind a key gets."""
    key = key.lower()
    for word, kind in (("serial", "serial"), ("label", "label"), ("entry_name", "label"), ("name", "host")):
        if word in key:
            return kind
    return "uuid" if "id" in key else "serial"


def addresses(text: str, pseudonym: Callable[[str], str]) -> str:
    """`text` with every IP address replaced, but for loopback, unspecified and broadcast ones."""

    def of_four(match: re.Match[str]) -> str:
        return pseudonym(match[0]) if _is_address(match) else match[0]

    def of_six(match: re.Match[str]) -> str:
        return pseudonym(match[0]) if _is_address6(match[0]) else match[0]

    return _IPV6.sub(of_six, _IPV4.sub(of_four, text)) if "." in text or ":" in text else text


def _is_address(match: re.Match[str]) -> bool:
    parts = [int(part) for part in match[0].split(".")]
    if max(parts) > 255 or parts[0] in (0, 127, 255):
        return False
    text = match.string
    before, after = text[max(match.start() - 20, 0) : match.start()], text[match.end() : match.end() + 2]
    if _ADDRESS_BEFORE.search(before) or _ADDRESS_AFTER.match(after):
        return True
    if _VERSION_BEFORE.search(before):
        return False
    alone = not before and not after
    return parts[0] >= _FIRST_OF_AN_ADDRESS or (parts[0] == 10 and not alone)


def _is_address6(text: str) -> bool:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    # `c10::add` is a name of C++: an address has three groups at least, or is a local one.
    if address.is_loopback or address.is_unspecified:
        return False
    return address.is_link_local or address.is_private or len(text.replace("::", ":").split(":")) > 2
