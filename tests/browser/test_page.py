"""The HTML page in a real browser: five machines, light and dark, at the width of a desk and of a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.machines import MACHINES, THIS_MACHINE
from tests.browser.opened import Opened

_PHONE = 360
_LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"width": _PHONE},
    "phone-dark": {"width": _PHONE, "dark": True},
}

#: Elements that stick out of the window, but for what scrolls by itself or is there for screen readers alone.
_STICKING_OUT = """() => [...document.body.querySelectorAll("*")]
  .filter(each => !each.closest(".scroll, .said, .skip, .definitions"))
  .filter(each => { const box = each.getBoundingClientRect(); return box.width && box.right > innerWidth + 1; })
  .map(each => `${each.tagName}.${each.getAttribute("class")}: ${each.textContent.trim().slice(0, 40)}`)"""

#: Texts in a picture that leave it.
_CUT_OFF = """() => [...document.querySelectorAll("svg[role=img] text")]
  .filter(each => each.getClientRects().length)
  .filter(each => {
    const text = each.getBoundingClientRect(), svg = each.closest("svg").getBoundingClientRect();
    const across = text.left < svg.left - 1 || text.right > svg.right + 1;
    return across || text.top < svg.top - 2 || text.bottom > svg.bottom + 2;
  })
  .map(each => each.textContent)"""


@pytest.mark.parametrize("look", _LOOKS)
@pytest.mark.parametrize("name", [*MACHINES, THIS_MACHINE])
def test_it_opens_quietly_and_fits(name: str, look: str, opened: Callable[..., Opened]) -> None:
    seen = opened(name, **_LOOKS[look])
    assert seen.console == []
    assert len(seen.asked) == 1, seen.asked
    assert seen.asked[0].startswith("file:")
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert seen.page.evaluate(_STICKING_OUT) == []
    assert seen.page.evaluate(_CUT_OFF) == []


@pytest.mark.parametrize(
    ("name", "look"), [*((name, look) for name in MACHINES for look in ("light", "dark")), ("laptop", "phone")]
)
def test_an_accessibility_checker_finds_nothing(name: str, look: str, opened: Callable[..., Opened]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra dev)")
    page = opened(name, **_LOOKS[look]).page
    # What is folded away is part of the page too.
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found = axe.Axe().run(page).response
    assert len(found["passes"]) > 20
    assert [_told(violation) for violation in found["violations"]] == []


def _told(violation: dict[str, Any]) -> str:
    where = [node["html"][:120] for node in violation["nodes"][:3]]
    return f"{violation['impact']} {violation['id']}: {violation['help']}: {where}"


def test_dark_is_dark_and_light_is_light(opened: Callable[..., Opened]) -> None:
    def brightness(dark: bool) -> float:
        page = opened("virtual-machine", dark=dark).page
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        numbers = [int(part) for part in colour.strip("rgb()").split(",")]
        return sum(numbers) / 3

    assert brightness(dark=False) > 240
    assert brightness(dark=True) < 40


def test_a_command_is_copied(opened: Callable[..., Opened]) -> None:
    page = opened("dual-epyc-9654").page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = page.locator(".finding .command").first
    block.get_by_role("button").click()
    page.wait_for_function("document.getElementById('said').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == block.locator("code").text_content()
    assert block.get_by_role("button").text_content() == "Copied"


def test_where_the_clipboard_is_refused_the_command_is_selected(opened: Callable[..., Opened]) -> None:
    page = opened("dual-epyc-9654").page
    page.evaluate("""() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
      document.execCommand = () => false;
    }""")
    block = page.locator(".finding .command").first
    block.get_by_role("button").click()
    page.wait_for_function("document.getElementById('said').textContent !== ''")
    assert page.evaluate("getSelection().toString()") == block.locator("code").text_content()
    assert block.get_by_role("button").text_content() == "Ctrl+C"
    assert page.locator("#said").text_content() == "Selected: press Ctrl+C to copy"


def test_without_script_nothing_is_missing_but_the_buttons(opened: Callable[..., Opened]) -> None:
    page = opened("dual-epyc-9654", script=False).page
    assert page.locator("button").count() == 0
    assert page.locator(".finding .command code").first.is_visible()
    assert page.locator("figure.plot svg.chart").first.is_visible()


def test_the_keyboard_reaches_the_verdict_and_every_button(opened: Callable[..., Opened]) -> None:
    page = opened("desktop-7950x3d").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
    labels = page.locator("button").evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
    assert set(labels) <= reached


def test_on_a_phone_the_small_drawing_of_a_plot_stands_for_the_large_one(opened: Callable[..., Opened]) -> None:
    for width, shown, hidden in ((1280, ".wide", ".narrow"), (_PHONE, ".narrow", ".wide")):
        plot = opened("laptop", width=width).page.locator("figure.plot").first
        assert plot.locator(f"{shown} svg").is_visible()
        assert not plot.locator(f"{hidden} svg").is_visible()
        size = plot.locator(f"{shown} .axis text").first.evaluate("each => each.getBoundingClientRect().height")
        assert size >= 10, "the letters of a plot keep their size"


def test_paper_has_no_controls_and_is_white(opened: Callable[..., Opened]) -> None:
    seen = opened("desktop-7950x3d", dark=True)
    seen.page.emulate_media(media="print")
    for away in ("nav", ".skip", ".command button"):
        assert not seen.page.locator(away).first.is_visible()
    assert seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 28, 26)"
    assert seen.page.pdf(format="A4").startswith(b"%PDF")
    assert seen.console == []
