"""A format of lines: what each of them shares. Comments, the managed block, and reading a file with it and around it.

All comments are plain ASCII. What a format cannot say in its own grammar is refused; what it wrote is read back before
it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from doctor import __version__
from doctor.envfile.block import BEGIN, BOM, END, BadBlock, Block, blocks_in, with_block, without_blocks
from doctor.envfile.content import CannotWrite, EnvContent, EnvLine, Evidence, checked_value
from doctor.envfile.evidence import EVIDENCE, evidence_in, evidence_text
from doctor.envfile.reading import EnvRead, Parsed, Problem

_WHOSE = "amd-doctor tune --write-env replaces this block, amd-doctor env remove takes it out."


class LineFormat(msgspec.Struct, frozen=True):
    """`assign` gives the line that sets a variable and raises CannotWrite; `unset` the one that takes it out, None
    where the format cannot. `parse` reads a text in the grammar of the format's own reader; it never raises."""

    name: str
    title: str
    file_name: str
    use: str  # how it is loaded; FILE stands for its path
    assign: Callable[[str, str], str]
    parse: Callable[[str], Parsed]
    unset: Callable[[str], str] | None = None
    suffixes: tuple[str, ...] = ()
    comment: str = "# "
    line_end: str = "\n"
    any_line_end: bool = False  # a file with Windows line ends is read alike
    plain: Callable[[str], str] = str  # what may stand in a comment

    # Writing

    def write(self, content: EnvContent) -> bytes:
        """The block as a whole file. Raises CannotWrite."""
        return self._block(content, self.line_end)

    def merged(self, old: bytes, content: EnvContent) -> bytes:
        """A file with the block of `content` in place of its own, else at its end. Raises CannotWrite, BadBlock."""
        line_end = "\r\n" if self.any_line_end and b"\r\n" in old else self.line_end
        new = with_block(old, self._block(content, line_end))
        self._refuse_other_meaning(old, new, content)
        return new

    def without(self, old: bytes) -> bytes:
        """A file without its managed block. Raises BadBlock."""
        return without_blocks(old)

    def _block(self, content: EnvContent, line_end: str) -> bytes:
        written = "".join(line + line_end for line in self.block_lines(content)).encode()
        if self.read(written).variables != _sayable(content, self.unset is not None):
            names = ", ".join(content.variables)
            raise CannotWrite(f"what {self.title} would read back differs from what was to be written ({names})")
        return written

    def block_lines(self, content: EnvContent) -> list[str]:
        """Every line of the block, without line ends."""
        lines = [self.said(f"{BEGIN}{self.name}, amd-doctor {__version__}"), self.said(_WHOSE)]
        lines += [self.said(text) for text in content.head]
        for line in content.lines:
            lines += [self.said(text) for text in comments_of(line, self.title, can_unset=self.unset is not None)]
            lines += self._statements(line)
        lines += [self.said(text) for text in content.tail]
        lines.append(self.said(EVIDENCE + evidence_text(content.evidence)))
        return [*lines, self.said(END)]

    def _statements(self, line: EnvLine) -> list[str]:
        if line.value is None:
            return [] if self.unset is None or not line.active else [self.unset(line.name)]
        said = self.assign(line.name, checked_value(line.name, line.value))
        return [said] if line.active else [self.said(said.rpartition("\n")[2])]

    def said(self, text: str) -> str:
        """A comment line. A backslash at its end would continue it in some grammars."""
        ascii_text = "".join(char if char.isprintable() else " " for char in text).encode("ascii", "replace").decode()
        return (self.comment + self.plain(ascii_text)).rstrip(" \\")

    def _refuse_other_meaning(self, old: bytes, new: bytes, content: EnvContent) -> None:
        """The rest of the file must mean what it meant, and so must the block within it."""
        before, after = self.read(old), self.read(new)
        if before.rest != after.rest or after.block != _sayable(content, self.unset is not None):
            raise BadBlock("what stands in it by hand goes on where the block would begin: a quotation has no end")

    # Reading

    def read(self, data: bytes) -> EnvRead:
        """What a file says, in the order of its lines. Raises BadBlock; whatever else is wrong is a problem."""
        found = blocks_in(data)
        lines = [_lines_of(block, data) for block in found]
        parsed = self.parse(text_of(data))
        assigned = tuple(
            msgspec.structs.replace(each, ours=any(each.line in range_ for range_ in lines)) for each in parsed.assigned
        )
        problems, evidence = list(parsed.problems), None
        for block, range_ in zip(found, lines, strict=True):
            evidence, broken = self._evidence(data[block.start : block.end].decode("utf-8", "replace"))
            problems += [Problem(range_.start, broken)] if broken else []
        by_hand = bool(without_blocks(data).removeprefix(BOM).strip())
        return EnvRead(self.name, assigned, tuple(problems), evidence, len(found), by_hand)

    def _evidence(self, text: str) -> tuple[Evidence | None, str]:
        sign = self.comment.strip()
        for line in text.split("\n"):
            words = line.strip()
            if words.startswith(sign) and words[len(sign) :].strip().startswith(EVIDENCE.strip()):
                return evidence_in(words[len(sign) :].strip()[len(EVIDENCE.strip()) :])
        return None, "the managed block has no line of evidence"


def text_of(data: bytes) -> str:
    """The text of a file, without its byte order mark. Bytes that are no UTF-8 become halves of surrogate pairs."""
    return data.removeprefix(BOM).decode("utf-8", "surrogateescape")


def _lines_of(block: Block, data: bytes) -> range:
    return range(block.line, block.line + data[block.start : block.end].rstrip(b"\r\n").count(b"\n") + 1)


def _sayable(content: EnvContent, can_unset: bool) -> dict[str, str | None]:
    return {name: value for name, value in content.variables.items() if value is not None or can_unset}


def comments_of(line: EnvLine, title: str, *, can_unset: bool) -> list[str]:
    """What stands above a variable."""
    said = [f"replaces {line.name}={line.replaces[:200]}, set in this session"] if line.replaces is not None else []
    if line.note:
        said.append(line.note)
    if not line.active:
        said.append(f"{line.name}: only together with the mask; amd-doctor run sets it")
    elif line.value is None and not can_unset:
        said.append(f"{line.name}: amd-doctor run takes it out; {title} can only set")
    return [*said, "confirmed" if line.confirmed else "search estimate, not confirmed by itself"]
