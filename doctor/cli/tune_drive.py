"""Drives a run of `tune`: its events go into the log and onto stderr, and the result comes back with every sample."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click
import msgspec

from doctor.cli.tune_kept import Journal
from doctor.measure.units import Measured
from doctor.present.language import counted, language, phrase, say, speaking
from doctor.present.terminal import Line, Look, look_of, to_ascii
from doctor.present.text import clean
from doctor.present.tune_progress import Progress, followed, progress_lines, stage_words
from doctor.tune.log import SavedRun
from doctor.tune.plan import Plan
from doctor.tune.result import TuneResult
from doctor.tune.run import Experiment, events

if TYPE_CHECKING:
    from rich.text import Text

#: The picture is drawn anew this often: more would take CPU time from what is measured.
_FRAMES_PER_SECOND = 2

#: Is told the progress before and after an event.
_Show = Callable[[Progress, Progress], None]


class Driven(msgspec.Struct, frozen=True):
    """`samples`: every unit with its result, those of a saved run too. `kept`: whether the run is saved."""

    result: TuneResult
    samples: tuple[Measured, ...]
    kept: bool


class Stopped(BaseException):
    """A run that something asked to end in the middle: Ctrl-C, a signal. `measured` units are behind it."""

    def __init__(self, measured: int, kept: bool) -> None:
        super().__init__(f"stopped after {measured} units")
        self.measured, self.kept = measured, kept


def driven(
    plan: Plan,
    experiment: Experiment,
    saved: SavedRun | None = None,
    *,
    save: bool = True,
    quiet: bool = False,
    ascii_only: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Driven:
    """Run a plan to its end. Raises Stopped, caused by what stopped it, and OtherRun."""
    before = saved.events if saved is not None else ()
    samples = list(before)
    journal = Journal(plan, before, _not_kept, enabled=save)
    progress = Progress(plan.workloads, measured=len(before))
    try:
        with _shown(quiet=quiet, ascii_only=ascii_only, clock=clock) as show:
            for event in events(plan, experiment, before):
                if isinstance(event, TuneResult):
                    return Driven(event, tuple(samples), journal.keeps)
                if isinstance(event, Measured):
                    samples.append(event)
                    journal.add(event)
                earlier, progress = progress, followed(progress, event, clock())
                show(earlier, progress)
    except Exception:
        raise
    except BaseException as cause:
        raise Stopped(len(samples), journal.keeps) from cause
    finally:
        journal.close()
    raise AssertionError("a run ends with a result")


def tell_stopped(stopped: Stopped, command: str) -> None:
    """One line: what is kept, and how to go on. `command`: what has to be typed again, ` -- python train.py`."""
    again = f"amd-doctor tune --resume{clean(command)}"
    one = "stopped after {count} process; nothing is kept"
    many = phrase("stopped after {count} processes; nothing is kept")
    if stopped.kept and stopped.measured:
        one = "stopped after {count} process; they are kept, go on with: {command}"
        many = phrase("stopped after {count} processes; they are kept, go on with: {command}")
    click.echo(f"amd-doctor: {counted(one, many, stopped.measured, command=again)}", err=True)


def _not_kept(reason: str) -> None:
    text = say("this run is not saved, so it cannot be resumed: {reason}", reason=clean(reason))
    click.echo(f"amd-doctor: {text}", err=True)


@contextlib.contextmanager
def _shown(*, quiet: bool, ascii_only: bool, clock: Callable[[], float]) -> Iterator[_Show]:
    """The progress on stderr: a picture on a terminal, else a line for each stage; nothing with `-q`."""
    if quiet:
        yield lambda before, after: None
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _picture(look_of(sys.stderr, ascii_only=ascii_only), clock) as show:
            yield show
    else:
        look = look_of(sys.stderr, ascii_only=ascii_only)
        yield lambda before, after: _say_stage(before, after, look)


def _say_stage(before: Progress, after: Progress, look: Look) -> None:
    words = stage_words(before, after)
    if words is not None:
        text = clean(f"amd-doctor: {words}")
        click.echo(to_ascii(text, look.letters) if look.ascii else text, err=True)


@contextlib.contextmanager
def _picture(look: Look, clock: Callable[[], float]) -> Iterator[_Show]:
    from rich.console import Console
    from rich.live import Live

    latest: list[Progress] = []
    spoken = language()

    def drawn() -> Text:
        with speaking(spoken):  # it is drawn in a thread of its own, which does not know the language
            return _rich(progress_lines(latest[-1], clock(), look) if latest else [], look)

    def show(_before: Progress, after: Progress) -> None:
        latest[:] = [after]

    console = Console(stderr=True, no_color=not look.colour, highlight=False, markup=False, emoji=False)
    live = Live(
        console=console,
        get_renderable=drawn,
        refresh_per_second=_FRAMES_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with live:
        yield show


def _rich(lines: list[Line], look: Look) -> Text:
    from rich.text import Text

    text = Text(no_wrap=True)
    for at, spans in enumerate(lines):
        text.append("\n" if at else "")
        for span in spans:
            piece = clean(span.text)
            piece = to_ascii(piece, look.letters) if look.ascii else piece
            text.append(piece, style=span.style if look.colour else None)
    return text
