"""A headless Chromium of the system, and pages as files for it to open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import Opened

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests of a process; skips with a message where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra dev)")
    program = next((path for path in map(shutil.which, _NAMES) if path), None)
    if program is None:
        pytest.skip("no chromium on this machine (Debian package chromium)")
    # Chromium refuses its sandbox to root, which is what CI runs as.
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=flags)
        yield started
        started.close()


@cache
def _html(name: str) -> str:
    from doctor.present.html_report import page
    from tests.browser.machines import checked
    from tests.browser.tuned import tuned

    result, samples = tuned(name)
    return page(checked(name), result, samples, made_at="2026-11-30", notes=("Nothing was removed.",))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens the page of a machine: `opened("laptop", width=360, dark=True)`. What is no file is refused and told."""
    contexts = []

    def open_page(name: str, *, width: int = 1280, dark: bool = False, script: bool = True) -> Opened:
        file = tmp_path / f"{name}.html"
        file.write_text(_html(name), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )  # fmt: skip
        contexts.append(context)
        seen = Opened(context.new_page())
        seen.page.on("console", lambda message: seen.console.append(message.text))
        seen.page.on("pageerror", lambda error: seen.console.append(str(error)))
        seen.page.on("request", lambda request: seen.asked.append(request.url))
        context.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        seen.page.goto(file.as_uri())
        return seen

    yield open_page
    for context in contexts:
        context.close()
