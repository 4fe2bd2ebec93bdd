"""The HTML page: what it is built of, that no text of a machine leaves its place, that it fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest

from doctor.diagnosis.model import Diagnosis, Finding, Fix
from doctor.machine.model import Cpu, Machine
from doctor.present import html_report
from doctor.present.checked import Checked
from doctor.present.html_report import ExtraMissing, page
from doctor.present.language import speaking
from tests.browser.machines import HOSTILE, MACHINES, checked
from tests.browser.tuned import tuned
from tests.present import diagnoses
from tests.present.html_reading import Element, read, words


@pytest.fixture(scope="module", params=list(MACHINES))
def named(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Each machine's name and page, with a run of `tune` where it has one."""
    result, samples = tuned(request.param)
    return request.param, page(checked(request.param), result, samples)


@pytest.fixture(scope="module")
def root(named: tuple[str, str]) -> Element:
    return read(named[1])


def _of(diagnosis: Diagnosis, **machine: object) -> Element:
    whole = Machine(**machine)  # type: ignore[arg-type]
    return read(page(Checked(whole, {}, diagnosis)))


def test_has_landmarks_and_a_way_to_skip_to_them(root: Element) -> None:
    for landmark in ("header", "main", "nav", "footer", "h1"):
        assert len(root.all(landmark)) == 1, landmark
    skip = root.all("a", class_="skip")[0]
    assert skip.attributes["href"] == "#main"
    assert root.all("main")[0].attributes["id"] == "main"
    assert root.all("html")[0].attributes["lang"] == "en"


def test_headings_go_down_one_by_one(root: Element) -> None:
    levels = [int(element.tag[1]) for element in root.all() if re.fullmatch(r"h[1-6]", element.tag)]
    assert levels[0] == 1
    for before, after in pairwise(levels):
        assert after <= before + 1, levels


def test_every_id_is_unique_and_every_reference_meets_one(root: Element) -> None:
    ids = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in root.all():
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(name, "").split()) <= set(ids)
        href = element.attributes.get("href", "")
        if href.startswith("#"):
            assert href[1:] in ids


def test_every_picture_says_in_words_what_it_shows(root: Element) -> None:
    ids = {element.attributes["id"]: words(element) for element in root.all() if "id" in element.attributes}
    for svg in root.all("svg"):
        if svg.attributes.get("role") == "img":
            label = svg.attributes.get("aria-label") or " ".join(
                ids[each] for each in svg.attributes["aria-labelledby"].split()
            )
            assert label.strip()
            assert svg.all("title")
        else:
            assert svg.attributes["aria-hidden"] == "true"


def test_every_plot_has_its_numbers_as_a_table(root: Element) -> None:
    for plot in root.all("figure", class_="plot"):
        rows = plot.all("tr")
        assert len(rows) >= 2
        assert len({len(row.all("th")) + len(row.all("td")) for row in rows}) == 1
        assert plot.all("svg", class_="chart")[0].all("desc")


def test_nothing_is_fetched_and_only_references_are_linked(root: Element) -> None:
    for element in root.all():
        assert not {"src", "srcset", "action", "data", "poster", "background", "ping", "xlink:href"} & set(
            element.attributes
        )
        assert element.tag not in ("link", "iframe", "object", "embed", "img", "base", "form", "image", "use")
        if "href" in element.attributes:
            assert element.tag == "a"
            assert re.match(r"#|https?://", element.attributes["href"])
    style = root.all("style")[0].text
    assert not re.search(r"@import|url\((?!#)|@font-face|expression", style)


def test_no_attribute_holds_style_or_script(root: Element) -> None:
    for element in root.all():
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]


def test_the_policy_allows_its_own_two_blocks_alone(root: Element) -> None:
    policy = root.all("meta", http_equiv="Content-Security-Policy")[0].attributes["content"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert "unsafe" not in policy
    assert "nonce" not in policy
    for name in ("style", "script"):
        block = root.all(name)
        assert len(block) == 1
        digest = base64.b64encode(hashlib.sha256(block[0].text.encode()).digest()).decode()
        assert parts[f"{name}-src"] == f"'sha256-{digest}'"
    head = root.all("head")[0].inside
    assert [element.tag for element in head[:2]] == ["meta", "meta"]
    assert "Content-Security-Policy" in str(head[1].attributes)


def test_the_same_input_gives_the_same_page(named: tuple[str, str]) -> None:
    result, samples = tuned(named[0])
    html_report._environment.cache_clear()
    assert page(checked(named[0]), result, samples) == named[1]


def test_text_of_the_machine_stays_text() -> None:
    html = page(checked("broken"))
    root = read(html)
    assert len(root.all("script")) == 1
    assert len(root.all("style")) == 1
    assert "alert" not in root.all("script")[0].text
    names = [words(heading) for heading in root.all("h4")]
    assert HOSTILE in names
    assert words(root.all("figure", class_="topology")[0]).count(HOSTILE) == 1
    assert 'governor power"save\' onload="x' in words(root.all("dl", class_="areas")[0])
    assert HOSTILE in words(root.all("header")[0])
    slot = next(svg for svg in root.all("svg") if svg.attributes.get("aria-label", "").startswith(HOSTILE))
    assert words(slot.all("title")[0]).startswith(HOSTILE)
    assert "\u202e" not in html


def test_findings_of_a_machine_stay_text_too() -> None:
    finding = Finding(
        rule=HOSTILE, severity="error", area="gpu", subject=HOSTILE, title=HOSTILE, evidence=HOSTILE, why=HOSTILE,
        fix=Fix(HOSTILE, (f"echo {HOSTILE}\nsecond\x1b[31m line",)),
        references=("javascript:alert(1)", "https://example.org/?a=1&b=\"2'"),
    )  # fmt: skip
    root = _of(Diagnosis(findings=(finding,)))
    assert len(root.all("script")) == 1
    assert words(root.all("h1")[0]) == HOSTILE
    command = root.all("code")
    assert f"echo {HOSTILE}\nsecond[31m line" in [each.text for each in command]
    links = [element.attributes["href"] for element in root.all("a") if not element.attributes["href"].startswith("#")]
    assert links == ["https://example.org/?a=1&b=\"2'"]


def test_the_verdict_is_the_worst_finding_and_the_next_step() -> None:
    root = _of(diagnoses.TWO_ERRORS)
    verdict = root.all("section", class_="verdict")[0]
    assert words(verdict.all("h1")[0]) == diagnoses.RUNTIME.title
    assert words(verdict.all("p", class_="counts")[0]) == "✗ error 2 errors 0 warnings 1 note"
    assert diagnoses.RUNTIME.fix.commands[0] in [each.text for each in verdict.all("code")]


def test_a_healthy_machine_says_so() -> None:
    machine = checked("virtual-machine").machine
    root = read(page(Checked(machine, {}, diagnoses.CLEAN)))
    assert words(root.all("h1")[0]) == "Nothing to fix was found"
    assert root.all("span", class_="ok")
    assert not root.all("h2", id="findings")


def test_a_machine_of_which_nothing_is_known() -> None:
    root = _of(Diagnosis())
    assert words(root.all("h1")[0]) == "Nothing to fix was found, but of PyTorch itself nothing is known"
    assert "Whether there is a GPU is not known." in words(root)


def test_what_a_finding_explains_stands_beneath_it() -> None:
    root = _of(diagnoses.QUOTA)
    outer = root.all("ol", class_="findings")[0].inside
    assert len(outer) == 1
    under = outer[0].all("li", class_="finding")
    assert [words(each.all("h4")[0]) for each in under] == [diagnoses.THROTTLED.title]
    assert under[0].attributes["class"] == "finding warning"


def test_commands_stay_whole_and_can_be_reached_by_keyboard() -> None:
    root = _of(diagnoses.TWO_ERRORS)
    blocks = root.all("div", class_="command")
    assert diagnoses.RUNTIME.fix.commands[0] in [each.all("code")[0].text for each in blocks]
    assert all(each.all("pre")[0].attributes["tabindex"] == "0" for each in blocks)
    assert not root.all("button"), "a button that only a script can serve is made by the script"


def test_crashes_silenced_and_undecided_are_told() -> None:
    text = words(_of(diagnoses.TWO_ERRORS))
    assert "probe:memory: KeyError: 'MemTotal'" in text
    assert "threads-use-smt, beside rocm-runtime-missing" in text
    rows = _of(diagnoses.HEALTHY).all("dl", class_="rows")[0]
    assert [words(row) for row in rows.all("dt")] == ["ram-below-rated-speed", "one-channel"]
    assert words(rows.all("dd")[1]) == "memory.modules and memory.channels"


def test_every_area_keeps_its_line_with_a_word_for_its_state(root: Element) -> None:
    rows = root.all("div", class_="area")
    assert len(rows) == 12
    for row in rows:
        status = row.all("span", class_="status")[0]
        assert words(status)[2:] in ("ok", "warning", "error", "unknown", "not applicable", "crashed")


def test_notes_and_the_date_are_the_callers() -> None:
    html = page(Checked(Machine(), {}, Diagnosis()), made_at="2026-11-30", notes=("Removed: 1 user name <b>.",))
    assert "Report made 2026-11-30." in html
    assert "Removed: 1 user name <b>." in words(read(html).all("footer")[0])


def test_the_page_speaks_the_language_of_the_screens() -> None:
    result, samples = tuned("laptop")
    with speaking("zh"):
        root = read(page(checked("laptop"), result, samples))
    assert root.all("html")[0].attributes["lang"] == "zh"
    headings = {words(heading) for heading in root.all("h2")}
    assert headings == {"发现", "机器", "测量", "事实", "未知"}
    assert root.all("p", id="said")[0].attributes["data-copy"] == "复制"
    assert words(root.all("h3", id="memory")[0]) == "内存"
    again = read(page(checked("laptop"), result, samples))
    assert words(again.all("h3", id="memory")[0]) == "Memory"


def test_wide_letters_and_percent_signs() -> None:
    html = page(Checked(Machine(cpu=Cpu(name="处理器 50 %")), {}, Diagnosis()))
    assert "处理器 50\u00a0%" in html


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    html_report._environment.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == request.param]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, request.param, None)
    yield request.param
    html_report._environment.cache_clear()


@pytest.mark.parametrize("without", ["jinja2", "pygal"], indirect=True)
def test_without_the_extra_one_sentence_says_what_to_install(without: str) -> None:
    result, samples = tuned("laptop")
    with pytest.raises(ExtraMissing) as caught:
        page(checked("laptop"), result, samples)
    assert str(caught.value).endswith(f"{sys.executable} -m pip install jinja2 pygal"), "into the doctor's own Python"
    assert "\n" not in str(caught.value)
    assert without.lower() in str(caught.value).lower()
