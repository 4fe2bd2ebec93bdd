"""`--lang`: the language that a command speaks. JSON and CSV are English whatever is asked for."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import click

from doctor.knowledge.catalog import ENGLISH, LANGUAGES, BadCatalog
from doctor.present.language import speaking

#: Locales whose readers read Simplified Chinese. Those of Taiwan, Hong Kong and Macau write other characters.
_SIMPLIFIED = ("zh", "zh_cn", "zh_sg", "zh_my", "zh_hans", "zh_hans_cn", "zh_hans_sg", "zh_hans_my")

#: What only a terminal or file that takes the language can show.
_LETTERS = {"zh": "显存，。"}


def _named(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """One of our languages, by its own name or by that of a locale: `zh_CN`, `zh-Hans`."""
    if value is None:
        return None
    language = _language(value)
    if language is None:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(map(repr, LANGUAGES))}.")
    return language


def speaks(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the option `--lang`, and runs it in the language of that option, else of the locale."""

    @click.option(
        "--lang",
        metavar=f"[{'|'.join(LANGUAGES)}]",
        callback=_named,
        help="The language of the screen: English or Simplified Chinese. Default: that of the locale.",
    )
    @functools.wraps(command)
    def spoken(*arguments: Any, lang: str | None, **options: Any) -> int:
        plain = options.get("ascii_only") or _is_for_programs(options)
        language = ENGLISH if plain else language_of(lang, os.environ, sys.stdout)
        try:
            with speaking(language):
                return command(*arguments, **options)
        except BadCatalog as error:
            click.echo(f"amd-doctor: {error}; it goes on in English", err=True)
            return command(*arguments, **options)

    return spoken


def _is_for_programs(options: Mapping[str, Any]) -> bool:
    return bool(options.get("as_json") or options.get("as_csv"))


def language_of(wanted: str | None, environ: Mapping[str, str], stream: TextIO) -> str:
    """The language for `stream`: the one that is wanted, else that of the locale, else of the system. English where
    the encoding of the stream does not have its letters."""
    language = wanted or language_of_locale(environ) or _language_of_windows()
    if language is None or not _takes(stream, _LETTERS.get(language, "")):
        return ENGLISH
    return language


def language_of_locale(environ: Mapping[str, str]) -> str | None:
    """As gettext reads them: LC_ALL, LC_MESSAGES and LANG name a locale, the first that is set counts; `C` is English.
    LANGUAGE lists languages, the best first, and beats a locale other than `C`. None where nothing is set."""
    named = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), None)
    if named is None:
        return None
    if _bare(named) in ("C", "POSIX"):
        return ENGLISH
    wanted = [*(part for part in environ.get("LANGUAGE", "").split(":") if part), named]
    return next((found for found in map(_language, wanted) if found is not None), ENGLISH)


def _bare(locale: str) -> str:
    """`zh_CN.UTF-8@pinyin` as `zh_CN`."""
    return locale.partition(".")[0].partition("@")[0]


def _language(locale: str) -> str | None:
    """The language of ours that a locale names, None where it names another one."""
    bare = _bare(locale).replace("-", "_").lower()
    if bare in _SIMPLIFIED:
        return "zh"
    return ENGLISH if bare.partition("_")[0] == ENGLISH else None


def _language_of_windows() -> str | None:
    """The language in which Windows itself speaks to this user."""
    if sys.platform != "win32":
        return None
    from doctor.sources.windows_language import ui_language

    name = ui_language()
    return _language(name) if name is not None else None


def _takes(stream: TextIO, letters: str) -> bool:
    try:
        letters.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
