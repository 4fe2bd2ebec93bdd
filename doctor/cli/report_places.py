"""Where a report goes: a file, stdout, the clipboard, the browser. Where one of them fails, the report is printed."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from doctor.present.language import told
from doctor.present.reported import Reported
from doctor.present.text import clean

_CANNOT = 2
#: How a report of each form begins.
_BEGINS = re.compile(
    rb"(?:`+text\n)?amd-doctor \S+ report: |\{\s*\"schema\": \"amd-doctor/report/|<!DOCTYPE html>.*amd-doctor report",
    re.DOTALL,
)
_LOOK_BYTES = 4096
_PAGE = "amd-doctor-report"


def put(text: str, *, form: str, output: str | None, copy: bool, open_page: bool, force: bool) -> int:
    """Bring a report where it was asked for; the exit status. What went wrong is one sentence on stderr."""
    status = 0
    written: Path | None = None
    if output is not None and output != "-":
        why = write_file(Path(output), text, force=force)
        if why:
            _say(f"{output}: not written: {why}.")
            status = _CANNOT
        else:
            written = Path(output)
            _say(f"Wrote {output}: {len(text.encode()) / 1000:.1f} kB.")
    if open_page:
        written = written or _page_file(text)
        if written is None or not _opened(written):
            _say("There is no browser here that could show the page." if written else "The page could not be written.")
    if copy:
        from doctor.cli.clipboard import copy_text

        _say(copy_text(text).says)
    if written is None and not _printed(text):
        status = _CANNOT
    return status


def page(reported: Reported) -> str:
    """The report as a page. Raises Unusable where the extra that draws it is missing."""
    from doctor.cli.inputs import Unusable
    from doctor.present.html_report import ExtraMissing
    from doctor.present.html_report import page as page_of
    from doctor.present.report_parts import left_out_sentences

    tune, samples = (None, ()) if reported.tune is None else (reported.tune.result, reported.tune.samples)
    try:
        return page_of(
            reported.checked, tune, samples, made_at=reported.today, notes=left_out_sentences(reported)
        )
    except ExtraMissing as error:
        raise Unusable(str(error)) from error


def write_file(path: Path, text: str, *, force: bool = False) -> str:
    """Write a report whole or not at all; `""`, or why it was not written. Devices and pipes are written to."""
    content = text.encode("utf-8", "replace")
    try:
        kind = path.stat().st_mode if path.exists() else None
        if kind is not None and stat.S_ISDIR(kind):
            return "it is a folder"
        if kind is not None and not stat.S_ISREG(kind):
            with path.open("wb", buffering=0) as opened:
                opened.write(content)
            return ""
        if kind is not None and not force and not _is_report(path):
            return "there is such a file, and it is no report; --force replaces it"
        from doctor.sources.whole_file import write_whole

        write_whole(path, content)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
            return f"there is no folder {path.parent}"
        return getattr(error, "strerror", None) or str(error)
    return ""


def _is_report(path: Path) -> bool:
    """True for an older report of any form, and for an empty file."""
    with path.open("rb") as opened:
        head = opened.read(_LOOK_BYTES)
    return not head or _BEGINS.match(head) is not None


def _page_file(text: str) -> Path | None:
    """Where a page lies that is to be opened: beside the user, since browsers in a sandbox do not see /tmp."""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        for number in range(1, 100):
            path = folder / f"{_PAGE}{'' if number == 1 else f'-{number}'}.html"
            if not path.exists():
                if not write_file(path, text):
                    _say(f"Wrote {path}.")
                    return path
                break
    return None


def _opened(path: Path) -> bool:
    if not has_browser(os.environ, sys.platform):
        return False
    import webbrowser

    try:
        return webbrowser.open(path.resolve().as_uri())
    except (OSError, webbrowser.Error):
        return False


def has_browser(env: Mapping[str, str], platform: str) -> bool:
    """False where only a browser in text could come, which would take the terminal."""
    if platform in ("win32", "darwin"):
        return True
    return any(env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"))


def _printed(text: str) -> bool:
    from doctor.present.terminal import to_ascii, write_text

    try:
        try:
            text.encode(sys.stdout.encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            text = to_ascii(text)
        write_text(text, sys.stdout)
    except OSError as error:
        _say(f"The report cannot be printed: {error.strerror or error}.")
        return False
    return True


def _say(sentence: str) -> None:
    click.echo(f"amd-doctor: {clean(told(sentence))}", err=True)
