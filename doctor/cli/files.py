"""Machines that were saved or pasted: one file as it is, several files or the pieces of a text put together to one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from doctor.cli.inputs import Given, Unusable
from doctor.machine.crash import Crash
from doctor.machine.document import Document
from doctor.machine.model import Machine
from doctor.pasted.assemble import Assembled, Told, assembled
from doctor.pasted.parts import Part
from doctor.pasted.recognise import BadInput, Input, Pasted, Saved, open_input
from doctor.present.language import told
from doctor.present.text import clean, listed
from doctor.probes.collect import Collected, collect
from doctor.sources.redacted import RedactedSource
from doctor.sources.redaction import together

_STANDARD_INPUT = "-"


class _Read(msgspec.Struct, frozen=True):
    """What one file told, and which probes failed on it."""

    told: tuple[Told, ...]
    crashed: tuple[Crash, ...] = ()


def from_files(paths: Sequence[str]) -> Given:
    """One machine from one or several files; `-` is stdin. Raises Unusable for what cannot be read."""
    if list(paths).count(_STANDARD_INPUT) > 1:
        raise Unusable("standard input can be read once only")
    opened = [(_named(path), _opened(path)) for path in paths]
    for name, given in opened:
        _tell(name, given)
    name, given = opened[0]
    if len(opened) == 1 and not isinstance(given, Pasted):
        return _alone(name, given)
    read = [_told(name, given) for name, given in opened]
    whole = assembled([each for one in read for each in one.told])
    collected = Collected(whole.machine, tuple(crash for one in read for crash in one.crashed), whole.origins)
    documents = [given for _, given in opened if isinstance(given, Document)]
    document = Document(whole.machine, _of_a_newer_version(documents, whole))
    removed = together([given.removals for _, given in opened])
    return Given(collected, document, listed([name for name, _ in opened], at_most=3), removed=removed)


def _of_a_newer_version(documents: Sequence[Document], whole: Assembled) -> dict[str, Any]:
    """The areas that a newer version wrote and this one does not know, where there is no doubt whose they are."""
    if len(documents) != 1 or whole.set_aside:
        return {}
    known = [name for name in Machine.__struct_fields__ if name != "schema"]
    return {name: value for name, value in documents[0].read_from.items() if name not in known}


def _named(path: str) -> str:
    return "standard input" if path == _STANDARD_INPUT else Path(path).name or path


def _opened(path: str) -> Input:
    try:
        return open_input(path)
    except BadInput as error:
        many = "; check --from DIR --summary reads a folder of many inputs" if Path(path).is_dir() else ""
        raise Unusable(f"cannot read {error}{many}") from error


def _tell(name: str, given: Input) -> None:
    """What was ignored in a file, and what must not be trusted in it."""
    for note in () if isinstance(given, Document) else given.notes:
        click.echo(f"amd-doctor: {clean(name)}: {clean(told(note))}", err=True)


def _alone(name: str, given: RedactedSource | Saved) -> Given:
    if isinstance(given, Document):
        return Given(Collected(given.machine), given, name, removed=given.removals)
    collected = collect(given)
    return Given(collected, Document(collected.machine), name, removed=given.removals)


def _told(name: str, given: Input) -> _Read:
    if isinstance(given, Pasted):
        return _Read(tuple(Told(part, name) for part in given.parts if part.kind != "unreadable"))
    if isinstance(given, Document):
        return _Read((Told(Part("document", given.machine), name),))
    collected = collect(given)
    part = Part(given.origin.kind, collected.machine, collected.origins)
    return _Read((Told(part, name),), collected.crashed)
