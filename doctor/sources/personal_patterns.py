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
    rf"|(?<![^\W_])(?i:enx|wlx|wwx){_HEX}{{12}}(?![^\W_])"
)
#: As Cisco writes it. Without a letter in it, it may be a version.
DOTTED_MAC = re.compile(rf"(?<![\w.]){_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}(?![\w.])")

#: `user@1000.service` is a unit of systemd.
EMAIL = re.compile(
    r"(?<![\w.+-])(?!removed@)[\w.+-]+@(?:[A-Za-z0-9-]+\.)+(?!service\b|slice\b|scope\b|socket\b|mount\b|target\b)[A-Za-z]{2,}\b"
)

#: Names of what is secret, as parameters, variables and keys have them.
_SECRET_NAME = (
    r"(?:token|key|secret|sig|signature|password|passwd|passphrase|pwd|auth|credentials?|api_?key|access_?key|pat)"
)

#: What tokens begin with.
TOKENS = r"hf_|gh[opsur]_|github_pat_|glpat-|pypi-|npm_|dckr_pat_|sk-|xox[bp]-|AKIA|AIza"

#: Whatever stands in front of the host of a URL, values of telling parameters and headers, and tokens that show what
#: they are. With each the signs, in small letters, without one of which it is not worth looking: a text is long.
SECRETS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("://",), re.compile(r"(?P<before>(?<![\w+.-])[A-Za-z][\w+.-]*://)(?!removed@)[^/@\s'\"]+(?=@)")),
    (
        ("=",),
        re.compile(
            rf"(?P<before>(?:^|[?&;,\s'\"])(?:[\w.-]*[_.-])?{_SECRET_NAME}=['\"]?)(?!removed(?![\w]))[^&\s'\";]+",
            re.IGNORECASE,
        ),
    ),
    (
        ("bearer", "authorization"),
        re.compile(
            r"(?P<before>\b(?:authorization['\"]?[ \t]*[:=][ \t]*['\"]?(?:bearer|basic|token)|bearer)[ \t]+)"
            r"(?!removed\b)[\w.+/=~-]{8,}",
            re.IGNORECASE,
        ),
    ),
    (
        ("password", "passwd", "passphrase", "api", "access", "client"),
        re.compile(
            r"(?P<before>\b(?:password|passwd|passphrase|api[_ -]?key|access[_ -]?token|client[_ -]?secret)['\"]?"
            r"[ \t]*:[ \t]*['\"]?)(?!removed\b)[^\s'\",;]+",
            re.IGNORECASE,
        ),
    ),
    (
        ("hf_", "gh", "github_pat_", "glpat-", "pypi-", "npm_", "dckr_pat_", "sk-", "xox", "akia", "aiza"),
        re.compile(rf"(?P<before>)(?<![^\W_])(?:{TOKENS})[A-Za-z0-9_-]{{16,}}"),
    ),
    (("eyj",), re.compile(r"(?P<before>)(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")),
)


#: A key of a JSON value that is secret as a whole.
KEY_OF_SECRET = re.compile(
    r"(?:[\w.-]*[_. -])?(?:token|secret|password|passwd|passphrase|credentials?|api[_ -]?key|access[_ -]?key)"
    r"|[\w.-]*(?:secret|private|auth)[_ -]?key",
    re.IGNORECASE,
)

_PERSONAL_KEY = (
    r"(?:i?serial(?:[ _-]?(?:number|no|short))?|asset[ _-]?tag|uuid(?:_sub)?(?:_enc)?|(?:fs|part)[ _]label(?:_enc)?"
    r"|part_entry_name|ww(?:id|n)(?:_\w+)?|unique[ _-]?id|(?:machine|boot)[ _-]?id|(?:host|node|computer)[ _-]?name"
    r"|mac[ _-]?addr(?:ess)?|ssid)"
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

#: The same in the middle of a line.
KEYED_INSIDE = re.compile(
    r"(?P<key>\b(?:serial[ _-]?(?:number|no)|(?:asset|service)[ _-]?tag)[\"']?[ \t]*[:=][ \t]*[\"']?)"
    r"(?P<value>[^\s,;\"']+)",
    re.IGNORECASE,
)

#: What stands between two folders: as such, in JSON or C (`\\/`, `\\\\`), and in URLs (`%2F`).
_SLASH = r"(?:\\?/|%2[Ff]|\\u002[Ff])"
_BACKSLASH = r"(?:[\\/]{1,4}|%5[Cc]|%2[Ff])"
_ESCAPED = r"%(?!2[Ff]|5[Cc])[0-9A-Fa-f]{2}"

#: A folder of another person. A name may hold blanks only where a further folder shows its end.
WINDOWS_HOME = re.compile(
    rf"(?P<before>[A-Za-z](?::|%3[Aa]){_BACKSLASH}Users{_BACKSLASH})"
    rf"(?P<name>(?:[^\\/:*?\"<>|\r\n%]|{_ESCAPED})+(?={_BACKSLASH})|(?:[^\\/\s:;,'\"%]|{_ESCAPED})+)",
    re.IGNORECASE,
)
HOME_OF_ANOTHER = re.compile(
    rf"(?<!~)(?P<before>{_SLASH}(?:home|Users){_SLASH})(?P<name>(?:[^/\\\s:;,'\"()<>%&?#]|{_ESCAPED})+)", re.IGNORECASE
)

#: Where desktops mount the disks of a user, by label.
VOLUME = re.compile(
    rf"(?<![\w.~-])(?P<before>{_SLASH}(?:run{_SLASH})?media{_SLASH})(?P<name>(?:[^/\\\s:;,'\"%]|{_ESCAPED})+)"
    rf"(?:(?P<slash>{_SLASH})(?P<label>(?:[^/\\\s:;,'\"%]|{_ESCAPED})+))?",
    re.IGNORECASE,
)

#: Disks by what their owner called them, or by the serial number of the drive.
DISK = re.compile(
    r"(?P<before>/dev/disk/by-(?:part)?label/|/dev/mapper/(?!control\b)|(?<![\w.-])rd\.lvm\.[lv][vg]="
    r"|(?<![\w.-])(?:root=)?(?:zfs|bootfs)=(?!AUTO\b)|(?<![\w.-])root=zfs:(?!AUTO\b))"
    r"(?P<label>[^\s:;,'\"]+)|(?P<drive>/dev/disk/by-id/)(?P<serial>[^\s:;,'\"]+)",
    re.IGNORECASE,
)

#: The fifth field of the kernel's `ip=`.
HOST_OF_KERNEL = re.compile(r"(?P<before>(?<![\w.-])ip=(?:[^:\s]*:){4})(?P<host>[^:\s]+)")

#: Names that Windows gives a machine, and the machine of a share.
WINDOWS_HOST = re.compile(r"(?<![\w-])(?:(?:DESKTOP|LAPTOP)-[A-Z0-9]{7}|WIN-[A-Z0-9]{11})(?![\w-])", re.IGNORECASE)
SHARE = re.compile(r"(?<![\\\w:])(?P<before>\\{2,4})(?P<host>[A-Za-z0-9][A-Za-z0-9.-]+)(?=\\)")

#: The host of a URL.
URL_HOST = re.compile(
    r"(?P<before>(?<![\w+.-])(?!file:)[A-Za-z][\w+.-]*://(?:[^/@\s'\"]*@)?)(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z][A-Za-z0-9.-]*)"
)

#: Where packages, documentation and models lie for everybody.
PUBLIC_HOSTS = (
    *("pypi.org", "pythonhosted.org", "python.org", "pypa.io", "pytorch.org", "github.com", "githubusercontent.com"),
    *("github.io", "gitlab.com", "readthedocs.io", "readthedocs.org", "amd.com", "radeon.com", "huggingface.co"),
    *("anaconda.org", "anaconda.com", "conda.io", "microsoft.com", "nvidia.com", "intel.com", "ubuntu.com"),
    *("debian.org", "fedoraproject.org", "archlinux.org", "opensuse.org", "redhat.com", "kernel.org", "docker.com"),
    *("docker.io", "aka.ms", "googleapis.com", "tensorflow.org", "numpy.org", "localhost", "example.com"),
)


def is_public_host(host: str) -> bool:
    lower = host.lower().rstrip(".")
    return any(lower == known or lower.endswith(f".{known}") for known in PUBLIC_HOSTS)


_IPV4 = re.compile(r"(?<![\w.+~^-])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w-]|\.[0-9])")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{6,39}(?![\w:])")
_VERSION_BEFORE = re.compile(
    r"(?:version|release|revision|driver|bios|firmware)\W{0,4}$|[=<>~!]=\s?$|[<>]\s?$|nvidia-[a-z0-9-]+\s+$", re.I
)
_ADDRESS_BEFORE = re.compile(r"(?://|@|\bip=|addr\w*\W{1,3}|server\W{1,3}|host\W{1,3})$", re.I)
_ADDRESS_AFTER = re.compile(r":[0-9]|/[0-9]")

#: Four numbers that begin lower are rather a version (`12.1.3.1`), unless something near says otherwise; 10 is private.
_FIRST_OF_AN_ADDRESS = 32


def kind_of_key(key: str) -> str:
    """Which pseudonym the value behind a key gets."""
    key = key.lower()
    kinds = (("serial", "serial"), ("label", "label"), ("entry_name", "label"), ("name", "host"), ("mac", "mac"))
    for word, kind in (*kinds, ("ssid", "label")):
        if word in key and (word != "mac" or "machine" not in key):
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
    before, after = text[max(match.start() - 60, 0) : match.start()], text[match.end() : match.end() + 2]
    if _ADDRESS_BEFORE.search(before) or _ADDRESS_AFTER.match(after):
        return True
    if _VERSION_BEFORE.search(before):
        return False
    return parts[0] >= _FIRST_OF_AN_ADDRESS or parts[0] == 10


def _is_address6(text: str) -> bool:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    # `c10::add` is a name of C++: an address has three groups at least, or is a local one.
    if address.is_loopback or address.is_unspecified:
        return False
    return address.is_link_local or address.is_private or len(text.replace("::", ":").split(":")) > 2
