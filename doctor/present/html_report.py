"""The report as one HTML file: verdict first, the machine as a picture, findings, what was measured.

It fetches nothing and sends nothing. Its policy allows the one style sheet and the one script that stand in it, by
their hashes, and no other source of anything; there is no style and no script in any attribute. All text of a machine
passes `clean` and the template engine's escaping, and nothing here is marked as safe but what this package wrote.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor import __version__
from doctor.measure.units import Measured
from doctor.present import html_words
from doctor.present.areas import areas_of
from doctor.present.checked import Checked
from doctor.present.html_measured import measured_view
from doctor.present.html_memory import gpu_pictures, memory_picture
from doctor.present.html_plot import Plot
from doctor.present.html_svg import NARROW, WIDE, colour_of, svg_of
from doctor.present.html_topology import topology_picture
from doctor.present.language import language, say
from doctor.present.summary import last_line
from doctor.present.text import clean, listed, typed_path
from doctor.tune.result import TuneResult

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("html")
_PACKAGES = "jinja2 pygal"


class ExtraMissing(Exception):
    """The extra `html` is not installed. The message is one sentence."""


def page(
    checked: Checked,
    tune: TuneResult | None = None,
    samples: Sequence[Measured] = (),
    *,
    made_at: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The whole page. `samples` are the units of the run that `tune` tells of, () where they are not kept.

    `made_at` is a date to print; without one the page of the same input is the same to the byte. `notes` are sentences
    for its end. Raises ExtraMissing.
    """
    environment = _environment()
    style, script = _source("page.css"), _source("page.js")
    return environment.get_template("page.html").render(
        version=__version__,
        made_at=made_at,
        notes=tuple(notes),
        policy=_policy(style, script),
        style=style,
        script=script,
        head=html_words.headline(checked),
        machine_line=html_words.machine_line(checked.machine),
        looked_at=html_words.looked_at(checked),
        last_line=last_line(checked.diagnosis),
        told=html_words.told(checked.diagnosis.findings),
        topology=topology_picture(checked.machine),
        memory=memory_picture(checked.machine),
        gpus=gpu_pictures(checked.machine),
        gpus_known=checked.machine.gpus is not None,
        areas=areas_of(checked.machine, checked.diagnosis, checked.only),
        unknowns=html_words.unknowns(checked.machine),
        undecided=html_words.undecided_rows(checked.diagnosis),
        diagnosis=checked.diagnosis,
        contradictions=checked.machine.contradictions or (),
        measured=measured_view(checked.machine, tune, samples) if tune is not None else None,
    )


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ExtraMissing(_sentence("Jinja2")) from error
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_final,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(say=say, language=language)
    environment.filters["listed"] = lambda words: listed(tuple(words))
    environment.filters["num"] = _number
    environment.filters["code"] = _code
    environment.filters["wide"] = lambda plot: _drawn(plot, WIDE, "")
    environment.filters["narrow"] = lambda plot: _drawn(plot, NARROW, "-narrow")
    environment.filters["colour"] = colour_of
    environment.filters["capital"] = lambda text: text[:1].upper() + text[1:]
    environment.filters["short_link"] = lambda link: link.partition("://")[2].removesuffix("/")
    return environment


def _sentence(name: str) -> str:
    install = f"{typed_path(sys.executable)} -m pip install {_PACKAGES}"
    return f"The HTML report needs {name}, which is not installed: {install}"


def _final(value: object) -> object:
    """What any expression of a template gives: text without what could turn the reading direction, and a number kept
    with its sign of percent. Markup, which is escaped already, passes."""
    return clean(value).replace(" %", "\u00a0%") if type(value) is str else value


def _code(text: str) -> Any:
    """Lines of a command: the only text in which the ends of lines are kept."""
    from markupsafe import Markup

    return Markup("\n").join(clean(row) for row in text.splitlines())


def _drawn(plot: Plot, size: tuple[int, int], suffix: str) -> Any:
    """The plot as markup: ElementTree has escaped its text. Raises ExtraMissing."""
    from markupsafe import Markup

    try:
        return Markup(svg_of(plot, size, suffix))
    except ImportError as error:
        raise ExtraMissing(_sentence("pygal")) from error


def _number(value: float) -> str:
    """A length of a picture, as short as it can be said."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


@cache
def _source(name: str) -> Any:
    """The text of one of our own files, marked as safe."""
    from markupsafe import Markup

    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Everything is forbidden but our own two blocks, by the hash of what stands between their tags."""
    return f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; " \
        "form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
