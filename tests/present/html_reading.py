"""Reads a page as a browser would, as far as the tests ask: elements in their order with attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def all(self, tag: str | None = None, **attributes: str) -> list[Element]:
        """Every element beneath this one, in the order of the page, that has the tag and attributes (`class_`: one of
        its classes)."""
        found = []
        for child in self.inside:
            if (tag is None or child.tag == tag) and child.has(**attributes):
                found.append(child)
            found += child.all(tag, **attributes)
        return found

    def has(self, **attributes: str) -> bool:
        for name, value in attributes.items():
            if name == "class_":
                if value not in self.attributes.get("class", "").split():
                    return False
            elif self.attributes.get(name.replace("_", "-")) != value:
                return False
        return True



class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].inside.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data


def read(html: str) -> Element:
    """The page; fails where an element is closed that is not open."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert [element.tag for element in reader._open] == [""], "an element is left open"
    return reader.root


def words(element: Element) -> str:
    """Its text with single blanks."""
    return " ".join(element.text.split())
