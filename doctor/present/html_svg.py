"""Draws a plot as SVG with pygal: axes, scales, lines and dots are its work. Intervals, bands and rules are added to
its chart, and everything that a page with a strict policy refuses is taken out of what it made.

Colours, fonts and strokes are classes that the page's own style sheet fills in, so the same drawing serves light, dark
and paper. Text stays text.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from doctor.present.html_plot import Plot, Point, Series, thinned
from doctor.present.text import clean

#: Wide for a desk and for paper, narrow for a phone: text keeps its size in both.
WIDE, NARROW = (720, 400), (340, 320)
_SIZE = 12.0
#: The room that a mark of the x axis needs.
_MARK = 34
#: The height of a row that has a name instead of a height.
_ROW = 38
_SVG = "http://www.w3.org/2000/svg"
#: What of pygal's own classes the style sheet uses; the rest is dropped.
_UNWANTED = ("reactive", "tooltip-trigger", "always_show")
#: The attributes that say what a shape is; all others are dropped.
_SHAPE = ("d", "x", "y", "cx", "cy", "r", "rx", "ry", "width", "height", "transform")
_TOO_EXACT = re.compile(r"-?\d+\.\d{2,}")


def svg_of(plot: Plot, size: tuple[int, int], suffix: str = "") -> str:
    """One drawing of the plot as the text of an `svg` element, with title and description inside.

    `suffix` makes its ids differ from those of another drawing of the same plot. Raises ImportError without pygal.
    """
    if plot.across:
        size = (size[0], 76 + round(_ROW * len(plot.y.marks)))
    from pygal.etree import etree

    etree.to_etree()  # the drawing must not depend on whether lxml is there
    chart = _chart(plot, size)
    for series in plot.series:
        chart.add(clean(series.name), [_value(point) for point in series.points], stroke=series.joined,
                  show_dots=not series.roof)  # fmt: skip
    root = chart.render_tree()
    _strip(root)
    _name(root, plot, size, suffix)
    return ElementTree.tostring(root, encoding="unicode")


def _value(point: Point) -> dict[str, Any]:
    dot = {"class": "dot confirmed", "r": "5.5"} if point.confirmed else {}
    return {"value": (point.x, point.y), "tooltip": clean(point.said), "point": point, "node": dot}


def _chart(plot: Plot, size: tuple[int, int]) -> Any:
    from pygal.style import Style

    style = Style(label_font_size=_SIZE, major_label_font_size=_SIZE, title_font_size=_SIZE, font_family="sans-serif")
    chart = _chart_class()(
        js=[], css=[], no_prefix=True, disable_xml_declaration=True, style=style, width=size[0], height=size[1],
        show_legend=False, x_title=clean(plot.x.title), y_title=clean(plot.y.title) or None, dots_size=3.5, spacing=8,
        margin=6, margin_right=12, margin_top=10, margin_bottom=10, show_x_guides=False, allow_interruptions=True,
        xrange=(plot.x.low, plot.x.high), range=(plot.y.low, plot.y.high), x_labels_major=[], y_labels_major=[],
    )  # fmt: skip
    least = (plot.x.high - plot.x.low) * (_MARK / (size[0] - 90))
    chart.x_labels = [{"value": mark.at, "label": clean(mark.text)} for mark in thinned(plot.x.marks, least)]
    chart.y_labels = [{"value": mark.at, "label": clean(mark.text)} for mark in plot.y.marks]
    chart.plot = plot
    return chart


def _chart_class() -> Any:
    """pygal's chart of points, with what it does not draw itself. Made here, so that the module needs no pygal."""
    from pygal import XY

    class Chart(XY):  # type: ignore[misc]
        plot: Plot

        def _plot(self) -> None:
            self._band()
            self._rules()
            super()._plot()
            if plot_is_wide(self.width):
                self._labels()

        def _band(self) -> None:
            band = self.plot.band
            if band is None:
                return
            top, bottom = self.view.y(min(band.high, self.plot.y.high)), self.view.y(max(band.low, self.plot.y.low))
            self.svg.node(self.nodes["plot"], "rect", class_="band", x=0, y=top, width=self.view.width,
                          height=max(bottom - top, 1))  # fmt: skip

        def _rules(self) -> None:
            node, plot = self.nodes["plot"], self.plot
            if plot.rule_y is not None:
                y = self.view.y(plot.rule_y.at)
                self.svg.node(node, "path", class_="rule", d=f"M0 {y:.1f}h{self.view.width:.1f}")
                if plot.rule_y.text:
                    self.svg.node(node, "text", class_="note after", x=6, y=y - 5).text = plot.rule_y.text
            if plot.rule_x is not None:
                x = self.view.x(plot.rule_x.at)
                self.svg.node(node, "path", class_="rule", d=f"M{x:.1f} 0v{self.view.height:.1f}")
                if plot.rule_x.text:
                    before = x > self.view.width * 0.6
                    text = self.svg.node(node, "text", class_="note before" if before else "note after",
                                         x=x - 5 if before else x + 5, y=12)  # fmt: skip
                    text.text = plot.rule_x.text

        def _labels(self) -> None:
            """The names of dots, where there is room: beside, above or below, and none where all would hide others."""
            taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in map(self._place, self._dots())]
            for point in self._dots():
                if not point.label:
                    continue
                x, y = self._place(point)
                length = 6.6 * len(point.label)
                for at, anchor, down in ((x + 8, "after", 4), (x - 8, "before", 4), (x, "over", -9), (x, "over", 17)):
                    left = at - {"after": 0, "before": length, "over": length / 2}[anchor]
                    box = (left, y + down - 11, left + length, y + down + 3)
                    inside = _within(box, self.view.width, self.view.height)
                    if inside and not any(_overlap(box, other) for other in taken):
                        node = self.svg.node(self.nodes["overlay"], "text", class_=f"name {anchor}", x=at, y=y + down)
                        node.text = clean(point.label)
                        taken.append(box)
                        break

        def _dots(self) -> list[Point]:
            return [point for series in self.plot.series if not series.roof for point in series.points]

        def _place(self, point: Point) -> tuple[float, float]:
            return self.view.x(point.x), self.view.y(point.y)

        def _confidence_interval(self, node: Any, x: float, y: float, value: Any, metadata: Any) -> None:
            point = (metadata or {}).get("point")
            if point is None or point.low is None or point.high is None:
                return
            if self.plot.across:
                low, high = self.view.x(point.low), self.view.x(point.high)
                path = f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8"
            else:
                low, high = self.view.y(point.low), self.view.y(point.high)
                path = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
            self.svg.node(node, "path", class_="interval confirmed" if point.confirmed else "interval", d=path)

        def _tooltip_data(self, *_: Any, **__: Any) -> None:
            """What pygal's script would show. A browser shows the title that each dot has."""

        def _static_value(self, *_: Any, **__: Any) -> None:
            return

    return Chart


def plot_is_wide(width: float) -> bool:
    return width >= WIDE[0]


def _within(box: tuple[float, ...], width: float, height: float) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _strip(root: Any) -> None:
    """Take out what a strict policy refuses (script, style sheet, style attributes), comments, which hold a date, and
    the groups and names that only pygal's script fills and reads."""
    for parent in list(root.iter()):
        if not isinstance(parent.tag, str):
            continue
        for child in list(parent):
            if _is_unwanted(child) or (_local(child) == "title" and parent.get("class") == "guides"):
                parent.remove(child)
        kept = [word for word in parent.get("class", "").split() if word not in _UNWANTED]
        shape = {name: _TOO_EXACT.sub(_rounded, value) for name, value in parent.attrib.items() if name in _SHAPE}
        parent.attrib.clear()
        parent.attrib.update({**({"class": " ".join(kept)} if kept else {}), **shape})


def _is_unwanted(element: Any) -> bool:
    overlay = "text-overlay" in element.get("class", "") or "tooltip-overlay" in element.get("class", "")
    return overlay or not isinstance(element.tag, str) or _local(element) in ("script", "style", "defs")


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}"


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _name(root: Any, plot: Plot, size: tuple[int, int], suffix: str) -> None:
    """The role, the size, and the two texts that a screen reader says."""
    title, description = f"{plot.name}-title{suffix}", f"{plot.name}-desc{suffix}"
    for child in [child for child in root if _local(child) in ("title", "desc")]:
        root.remove(child)
    root.attrib.clear()
    for name, value in {
        "class": "chart", "role": "img", "aria-labelledby": f"{title} {description}",
        "viewBox": f"0 0 {size[0]} {size[1]}", "width": str(size[0]), "height": str(size[1]),
    }.items():  # fmt: skip
        root.set(name, value)
    namespace = "{" + _SVG + "}" if str(root.tag).startswith("{") else ""
    for at, (name, ident, text) in enumerate((("title", title, plot.title), ("desc", description, plot.said))):
        element = ElementTree.Element(namespace + name, {"id": ident})
        element.text = clean(text)
        root.insert(at, element)


def colour_of(series: Series, at: int) -> str:
    """The class of a series in the legend: the same that its line has."""
    return f"color-{at}{' roof' if series.roof else ''}"
