"""Takes personal data out of text when it is read, so that neither a document nor a recording ever holds any.

Home folders become `~`. User and host names, serial numbers, UUIDs, addresses and labels get a pseudonym, the same one
for the same value (`user-1`, `uuid-2`); secrets become `removed`. Names are replaced as whole path components and whole
words of three letters or more, never as keys, and never where they are words of the trade (`product_words`).
A path that was asked for with a pseudonym in it leads to the real one again: see `Redactor.restored`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from doctor.sources.base import Json
from doctor.sources.personal_patterns import (
    EMAIL,
    HOME_OF_ANOTHER,
    KEY_OF_PERSONAL,
    KEYED_LINE,
    KEYED_WORD,
    MAC,
    SECRET,
    SID,
    SIGNS_OF_SECRETS,
    UUID,
    VOLUME,
    WINDOWS_HOME,
    addresses,
    kind_of_key,
)
from doctor.sources.product_words import PRODUCT_WORDS
from doctor.sources.windows_guids import PUBLIC_GUIDS

_PSEUDONYM = re.compile(r"(?:user|host|uuid|mac|ip|serial|label|email|sid)-[0-9]+(?![0-9])")
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


class Redactor:
    """Replaces what it knows (names and home folders of one machine) and what it recognises (patterns).

    `ignore_case` is for Windows, where paths and names are the same in any case.
    """

    def __init__(
        self,
        users: Iterable[str] = (),
        hosts: Iterable[str] = (),
        homes: Iterable[str] = (),
        *,
        ignore_case: bool = False,
    ) -> None:
        self._pseudonyms: dict[tuple[str, str], str] = {}
        self._originals: dict[str, str] = {}
        self._removed: Counter[str] = Counter()
        self._remembered: dict[tuple[str, bool], str] = {}
        self._homes = tuple(home.rstrip("/\\") for home in homes if (home.rstrip("/\\") or "/") not in _COMMON_FOLDERS)
        case = re.IGNORECASE if ignore_case else re.RegexFlag(0)
        self._home = _alternatives(self._homes, r"(?<![\w.~-])", r"(?![\w-]|\.\w)", case)
        self._user = _alternatives(_words(users), _WORD_START, _WORD_END, case)
        self._host = _alternatives(_words(hosts), _WORD_START, _WORD_END, re.IGNORECASE)

    @property
    def removed(self) -> Mapping[str, int]:
        """How many different values of each kind were replaced so far: `{"user": 1, "uuid": 2}`."""
        kinds = Counter(kind for kind, _ in self._pseudonyms)
        return dict(sorted((kinds + self._removed).items()))

    def text(self, text: str, *, keyed: bool = True) -> str:
        """`text` without personal data. `keyed`: a name in front of a colon at a line's start is a key, and stays."""
        if len(text) > _LONGEST_REMEMBERED:
            return self._redacted(text, keyed)
        # The folder of an environment stands beside each of its hundreds of packages.
        if (text, keyed) not in self._remembered:
            self._remembered[text, keyed] = self._redacted(text, keyed)
        return self._remembered[text, keyed]

    def _redacted(self, text: str, keyed: bool) -> str:
        if any(sign in text for sign in SIGNS_OF_SECRETS):
            text = SECRET.sub(self._secret, text)
        text = KEYED_LINE.sub(self._keyed_value, text)
        if "=" in text:
            text = KEYED_WORD.sub(self._keyed_value, text)
        for kind, pattern in (("uuid", UUID), ("sid", SID), ("mac", MAC), ("email", EMAIL)):
            text = pattern.sub(partial(self._whole_match, kind), text)
        text = addresses(text, partial(self._pseudonym, "ip"))
        text = self._without_homes(text)
        return self._without_names(text, keyed)

    def words(self, text: str) -> str:
        """Text of our own or of a package, such as a name or a version: only home folders and secrets can be in it."""
        return self._without_homes(SECRET.sub(self._secret, text))

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
        if KEY_OF_PERSONAL.fullmatch(key) and value:
            return self._pseudonym(kind_of_key(key), value)
        return self.words(value) if key in own_keys else self.text(value, keyed=False)

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
        known = self._pseudonyms.get((kind, value.lower()))
        if known is None:
            count = sum(other == kind for other, _ in self._pseudonyms) + 1
            known = self._pseudonyms[kind, value.lower()] = f"{kind}-{count}"
            self._originals[known] = value
        return known

    def _whole_match(self, kind: str, match: re.Match[str]) -> str:
        return match[0] if match[0].lower() in PUBLIC_GUIDS else self._pseudonym(kind, match[0])

    def _secret(self, match: re.Match[str]) -> str:
        self._removed["secret"] += 1
        return f"{match['scheme'] or match['parameter'] or ''}removed"

    def _keyed_value(self, match: re.Match[str]) -> str:
        return match["key"] + self._pseudonym(kind_of_key(match["key"]), match["value"])

    def _without_homes(self, text: str) -> str:
        if self._home is not None:
            text = self._home.sub("~", text)
        text = WINDOWS_HOME.sub(self._home_of_another, text)
        text = HOME_OF_ANOTHER.sub(self._home_of_another, text)
        return VOLUME.sub(self._volume, text)

    def _home_of_another(self, match: re.Match[str]) -> str:
        name = match["name"]
        return match[0] if name.lower() in _NOT_A_PERSON else match["before"] + self._pseudonym("user", name)

    def _volume(self, match: re.Match[str]) -> str:
        label = match["label"]
        user = self._pseudonym("user", match["name"])
        return f"{match['before']}{user}" + (f"/{self._pseudonym('label', label)}" if label else "")

    def _without_names(self, text: str, keyed: bool) -> str:
        for kind, pattern in (("host", self._host), ("user", self._user)):
            if pattern is not None:
                text = pattern.sub(partial(self._name, kind, keyed), text)
        return text

    def _name(self, kind: str, keyed: bool, match: re.Match[str]) -> str:
        return match[0] if _is_key(match, keyed) else self._pseudonym(kind, match[0])

    def _json_key(self, key: str) -> str:
        return self.text(key, keyed=False) if "/" in key or "\\" in key else key


_WORD_START = r"(?<![^\W_])"
_WORD_END = r"(?![^\W_])"


def _alternatives(values: Iterable[str], before: str, after: str, flags: re.RegexFlag) -> re.Pattern[str] | None:
    longest_first = sorted(set(values), key=lambda value: (-len(value), value))
    if not longest_first:
        return None
    return re.compile(f"{before}(?:{'|'.join(map(re.escape, longest_first))}){after}", flags)


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
