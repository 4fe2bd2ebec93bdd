"""Takes personal data out of text when it is read, so that neither a document nor a recording ever holds any.

Home folders become `~`. User and host names, serial numbers, UUIDs, addresses and labels get a pseudonym, the same one
for the same value (`user-1`, `uuid-2`); secrets become `removed`. Names are replaced as whole path components and whole
words of three letters or more, never as keys, and never where they are words of the trade (`product_words`).
A path that was asked for with a pseudonym in it leads to the real one again: see `Redactor.restored`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec

from doctor.sources.base import Json
from doctor.sources.personal_patterns import (
    DISK,
    DOTTED_MAC,
    EMAIL,
    HOME_OF_ANOTHER,
    HOST_OF_KERNEL,
    KEY_OF_PERSONAL,
    KEY_OF_SECRET,
    KEYED_INSIDE,
    KEYED_LINE,
    KEYED_WORD,
    MAC,
    SECRETS,
    SHARE,
    SID,
    URL_HOST,
    UUID,
    VOLUME,
    WINDOWS_HOME,
    WINDOWS_HOST,
    addresses,
    is_public_host,
    kind_of_key,
)
from doctor.sources.personal_spellings import AFTER_ESCAPE, path_pattern, plainly, word_pattern
from doctor.sources.product_words import PRODUCT_WORDS
from doctor.sources.windows_guids import PUBLIC_GUIDS

_PSEUDONYM = re.compile(r"(?P<kind>user|host|uuid|mac|ip|serial|label|email|sid)-(?P<number>[0-9]+)(?![0-9])")
_NOT_A_PERSON = frozenset({"public", "default", "all users", "default user", "shared", "linuxbrew"})
_MIN_LETTERS = 3
_ERROR_CAP = 500
_LONGEST_REMEMBERED = 200

#: Folders that are no one's own, though an account may have one of them as its home.
_COMMON_FOLDERS = frozenset(
    {"/", "/app", "/bin", "/data", "/dev", "/etc", "/home", "/lib", "/mnt", "/nonexistent", "/opt", "/proc", "/run"}
    | {"/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/sbin", "/var", "/var/empty", "/var/lib", "/workspace"}
)

#: Values under these keys of an exercise are our own words or those of packages: a user `rich` is not the package.
KEYS_OF_EXERCISES = frozenset(
    {"name", "version", "requires", "outcome", "event", "device", "installer", "build", "implementation", "machine"}
)

#: Of these the ones whose values are more than a word: `rich>=13; extra == "dev"`.
_KEYS_OF_LINES = frozenset({"requires"})
_NUMBERS = re.compile(r"[0-9.]+")
_PLAIN_WORD = re.compile(r"[\w.+!-]{1,40}|\w{1,20}:\d{1,2}")

#: Keys of a machine document whose values are numbers, or words of the trade, hundreds of them.
KEYS_OF_DOCUMENT = frozenset({"cpus", "flags", "schema"})


class Removals(msgspec.Struct, frozen=True):
    """What was taken out. `counts`: how many different values of each kind, `{"user": 1, "uuid": 2}`. `rows`: what
    stands there now and what stood there before, for the eyes of the person whose data it is; of secrets not even
    that."""

    counts: Mapping[str, int] = {}
    rows: tuple[tuple[str, str], ...] = ()


def together(removals: Sequence[Removals]) -> Removals:
    """What was taken out of several texts. Each counts its own values."""
    counts: Counter[str] = Counter()
    for each in removals:
        counts.update(each.counts)
    return Removals(dict(sorted(counts.items())), tuple(row for each in removals for row in each.rows))


class Redactor:
    """Replaces what it knows (names and home folders of one machine) and what it recognises (patterns).

    Names and folders are the same in any case: a person is not somebody else in capitals. `before` is a text whose
    pseudonyms are taken: no new value gets one of them. With `learns` the owner of a home folder is known from then
    on, where it says that the name can be one.
    """

    def __init__(
        self,
        users: Iterable[str] = (),
        hosts: Iterable[str] = (),
        homes: Iterable[str] = (),
        *,
        before: str = "",
        learns: Callable[[str], bool] | None = None,
    ) -> None:
        self._pseudonyms: dict[tuple[str, str], str] = {}
        self._originals: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        for taken in _PSEUDONYM.finditer(before):
            self._numbers[taken["kind"]] = max(self._numbers[taken["kind"]], int(taken["number"][:6]))
        self._secrets: set[str] = set()
        self._homes_seen: set[str] = set()
        self._remembered: dict[tuple[str, bool, bool], str] = {}
        self._homes = tuple(home.rstrip("/\\") for home in homes if (home.rstrip("/\\") or "/") not in _COMMON_FOLDERS)
        self._home = _alternatives(map(path_pattern, self._homes), _PATH_START, _PATH_END)
        self._users = set(_words(users))
        self._learns = learns
        self._user = _alternatives(map(word_pattern, self._users), _WORD_START, _WORD_END)
        self._host = _alternatives(map(word_pattern, _words(hosts)), _WORD_START, _DOMAIN_BEHIND + _WORD_END)

    @property
    def removed(self) -> Mapping[str, int]:
        """How many different values of each kind were replaced so far: `{"user": 1, "uuid": 2}`."""
        return self.removals.counts

    @property
    def removals(self) -> Removals:
        """What was replaced so far."""
        counts = Counter(kind for kind, _ in self._pseudonyms)
        counts += Counter({"home": len(self._homes_seen), "secret": len(self._secrets)})
        rows = [("~", home) for home in sorted(self._homes_seen)] + list(self._originals.items())
        return Removals(dict(sorted(counts.items())), tuple(rows))

    def text(self, text: str, *, keyed: bool = True, is_version: bool = False) -> str:
        """`text` without personal data. `keyed`: a name in front of a colon at a line's start is a key, and stays.
        `is_version`: four numbers that are all of it are no address."""
        if len(text) > _LONGEST_REMEMBERED:
            return self._redacted(text, keyed, is_version)
        # The folder of an environment stands beside each of its hundreds of packages.
        asked = (text, keyed, is_version)
        if asked not in self._remembered:
            self._remembered[asked] = self._redacted(*asked)
        return self._remembered[asked]

    def _redacted(self, text: str, keyed: bool, is_version: bool) -> str:
        return self._without_names(self._without_patterns(text, is_version), keyed)

    def _without_patterns(self, text: str, is_version: bool) -> str:
        lower = text.lower()
        for signs, pattern in SECRETS:
            if any(sign in lower for sign in signs):
                text = pattern.sub(self._secret, text)
        text = KEYED_LINE.sub(self._keyed_value, text)
        if "serial" in lower or "tag" in lower:
            text = KEYED_INSIDE.sub(self._keyed_value, text)
        if "=" in lower:
            text = HOST_OF_KERNEL.sub(self._host_behind, text) if "ip=" in lower else text
            text = KEYED_WORD.sub(self._keyed_value, text)
        text = DISK.sub(self._disk, text) if any(sign in lower for sign in _SIGNS_OF_DISKS) else text
        for kind, pattern in (("uuid", UUID), ("sid", SID), ("mac", MAC)):
            text = pattern.sub(partial(self._whole_match, kind), text)
        text = DOTTED_MAC.sub(self._dotted_mac, text) if "." in lower else text
        if "@" in lower:
            text = EMAIL.sub(partial(self._whole_match, "email"), text)
        if not (is_version and _NUMBERS.fullmatch(text)):
            text = addresses(text, partial(self._pseudonym, "ip"))
        return self._without_hosts(self._without_homes(text, lower), lower)

    def words(self, text: str) -> str:
        """Text of our own or of a package, such as a name or a version: no known name is looked for in it."""
        return text if _PLAIN_WORD.fullmatch(text) else self._without_patterns(text, is_version=True)

    def json(self, value: Json, own_keys: frozenset[str] = frozenset(), key: str = "") -> Json:
        """A JSON value with every string in it redacted. Keys stay, unless they are paths.

        Values under `own_keys` are known to be no one's name: only home folders and secrets are taken out of them.
        """
        if isinstance(value, Mapping):
            return {self._json_key(name): self.json(inner, own_keys, name) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item, own_keys, key) for item in value]
        if not isinstance(value, str):
            return value
        if value and KEY_OF_PERSONAL.fullmatch(key):
            return self._pseudonym(kind_of_key(key), value)
        if value and KEY_OF_SECRET.fullmatch(key):
            return self._hidden(value)
        if key in own_keys and (key in _KEYS_OF_LINES or _PLAIN_WORD.fullmatch(value)):
            return self.words(value)
        return self.text(value, keyed=False, is_version=is_name_of_version(key))

    def whole(self, kind: str, text: str) -> str:
        """The pseudonym of a text that is personal as a whole, such as the content of a file `serial_number`."""
        value = text.strip()
        return text.replace(value, self._pseudonym(kind, value)) if value else text

    def error(self, error: BaseException) -> str:
        """An exception as one line: type and message."""
        message = self.text(str(error), keyed=False)
        return " ".join(f"{type(error).__name__}: {message}".split())[:_ERROR_CAP]

    def restored(self, path: str) -> tuple[str, ...]:
        """The real paths that a path with pseudonyms may stand for, the likeliest first; the path itself always."""
        real = _PSEUDONYM.sub(lambda match: self._originals.get(match[0], match[0]), path)
        candidates = [path, real]
        if real == "~" or real.startswith(("~/", "~\\")):
            candidates = [home + real[1:] for home in self._homes] + [path]
        return tuple(dict.fromkeys(candidates))

    def _pseudonym(self, kind: str, value: str) -> str:
        if _PSEUDONYM.fullmatch(value):
            return value
        same = plainly(value).lower()
        known = self._pseudonyms.get((kind, same))
        if known is None:
            self._numbers[kind] += 1
            known = self._pseudonyms[kind, same] = f"{kind}-{self._numbers[kind]}"
            self._originals[known] = value
        return known

    def _whole_match(self, kind: str, match: re.Match[str]) -> str:
        return match[0] if match[0].lower() in PUBLIC_GUIDS else self._pseudonym(kind, match[0])

    def _secret(self, match: re.Match[str]) -> str:
        return f"{match['before']}{self._hidden(match[0])}"

    def _dotted_mac(self, match: re.Match[str]) -> str:
        return match[0] if re.fullmatch("[0-9.]+", match[0]) else self._pseudonym("mac", match[0])

    def _hidden(self, value: str) -> str:
        if value != "removed":
            self._secrets.add(value)
        return "removed"

    def _keyed_value(self, match: re.Match[str]) -> str:
        return match["key"] + self._pseudonym(kind_of_key(match["key"]), match["value"])

    def _disk(self, match: re.Match[str]) -> str:
        if match["drive"]:
            return match["drive"] + self._pseudonym("serial", match["serial"])
        return match["before"] + self._pseudonym("label", match["label"])

    def _without_homes(self, text: str, lower: str) -> str:
        if self._home is not None:
            text = self._home.sub(self._own_home, text)
        if "users" in lower:
            text = WINDOWS_HOME.sub(self._home_of_another, text)
        if "users" in lower or "home" in lower:
            text = HOME_OF_ANOTHER.sub(self._home_of_another, text)
        return VOLUME.sub(self._volume, text) if "media" in lower else text

    def _own_home(self, match: re.Match[str]) -> str:
        self._homes_seen.add(plainly(match[0]))
        return "~"

    def _home_of_another(self, match: re.Match[str]) -> str:
        name = match["name"]
        if name.lower() in _NOT_A_PERSON:
            return match[0]
        if self._learns is not None and self._learns(plainly(name)):
            self._know_user(plainly(name))
        return match["before"] + self._pseudonym("user", name)

    def _know_user(self, name: str) -> None:
        new = set(_words([name])) - self._users
        if new:
            self._users |= new
            self._user = _alternatives(map(word_pattern, self._users), _WORD_START, _WORD_END)
            self._remembered.clear()

    def _volume(self, match: re.Match[str]) -> str:
        label = match["label"]
        user = self._pseudonym("user", match["name"])
        return f"{match['before']}{user}" + (f"{match['slash']}{self._pseudonym('label', label)}" if label else "")

    def _without_hosts(self, text: str, lower: str) -> str:
        """Hosts that show what they are: in a URL, in front of a share, by the way in which Windows names them."""
        if "://" in lower:
            text = URL_HOST.sub(self._host_behind, text)
        if "\\\\" in lower:
            text = SHARE.sub(self._host_behind, text)
        if any(sign in lower for sign in ("desktop-", "laptop-", "win-")):
            text = WINDOWS_HOST.sub(partial(self._whole_match, "host"), text)
        return text

    def _host_behind(self, match: re.Match[str]) -> str:
        host = match["host"]
        keep = is_public_host(host) or host.lower() in PRODUCT_WORDS
        return match[0] if keep else match["before"] + self._pseudonym("host", host)

    def _without_names(self, text: str, keyed: bool) -> str:
        for kind, pattern in (("host", self._host), ("user", self._user)):
            if pattern is not None:
                text = pattern.sub(partial(self._name, kind, keyed), text)
        return text

    def _name(self, kind: str, keyed: bool, match: re.Match[str]) -> str:
        return match[0] if _is_key(match, keyed) else self._pseudonym(kind, match[0])

    def _json_key(self, key: str) -> str:
        return self.text(key, keyed=False) if "/" in key or "\\" in key else key


_WORD_START = rf"(?:(?<![^\W_])|{AFTER_ESCAPE})"
_WORD_END = r"(?![^\W_])"
#: A host goes on with its domain: two labels at least, so that `tower.py` is none.
_DOMAIN_BEHIND = r"(?:(?:\.[a-z0-9-]{1,63}){2,8})?"
_PATH_START = rf"(?:(?<![\w.~-])|{AFTER_ESCAPE})"
_PATH_END = r"(?![\w-]|\.\w)"

_SIGNS_OF_DISKS = ("/dev/disk/", "/dev/mapper/", "rd.lvm.", "zfs", "bootfs")


def _alternatives(patterns: Iterable[str], before: str, after: str) -> re.Pattern[str] | None:
    longest_first = sorted(set(patterns), key=lambda pattern: (-len(pattern), pattern))
    if not longest_first:
        return None
    return re.compile(f"{before}(?:{'|'.join(longest_first)}){after}", re.IGNORECASE)


def is_name_of_version(name: str) -> bool:
    """Is the value under this key, or of this registry value, a version? `10.1.1.45` may be one, or an address."""
    return "version" in name.lower()


def _words(names: Iterable[str]) -> list[str]:
    """The names that are replaced as words."""
    return [
        name
        for name in (name.strip() for name in names)
        if len(name) >= _MIN_LETTERS and name.lower() not in PRODUCT_WORDS and not _PSEUDONYM.fullmatch(name)
    ]


def _is_key(match: re.Match[str], keyed: bool) -> bool:
    """True for `name=` anywhere, and for `name: ` at the start of a line of a text that has keys."""
    text, end = match.string, match.end()
    if text[end : end + 1] == "=":
        return True
    if not keyed or not re.match(r"[ \t]*:(?:\s|$)", text[end : end + 20]):
        return False
    line_start = text.rfind("\n", 0, match.start()) + 1
    return not text[line_start : match.start()].strip()


def redacted_error(error: BaseException) -> str:
    """An exception of this process as one line, without the names and home folders of the machine it runs on."""
    from doctor.sources.personal_names import redactor_of_this_machine

    return redactor_of_this_machine().error(error)
