"""Where the command starts, and how it ends: one exit status for everything that may happen.

0 nothing worse than a warning, 1 at least one error, 2 wrong usage or unreadable input, 3 warnings with `--strict`,
70 the doctor itself failed, 130 Ctrl-C, 128 + n ended by signal n.

Whatever takes time to import is imported inside `entry`, so that a Ctrl-C meanwhile ends as quietly as any other.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

FAILED = 70
INTERRUPTED = 130


class AskedToEnd(BaseException):
    """A signal asked this process to end: it takes its children with it, and ends with 128 + the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def entry() -> NoReturn:
    """Run the command line and leave with its exit status."""
    _forget_the_current_folder()
    try:
        _listen_to_signals()
        status = _run()
    except KeyboardInterrupt:
        status = _stopped(INTERRUPTED)
    except AskedToEnd as asked:
        status = _stopped(asked.status)
    except Exception as error:
        status = _failed(error)
    _leave(status)


def _forget_the_current_folder() -> None:
    """Import nothing from where the user stands: not the folder that `-m` puts first on the import path, and no empty
    or relative entry of PYTHONPATH. A file there may be called like a module (`json.py`), by accident or on purpose.
    """
    try:
        here = os.getcwd()
    except OSError:  # the current folder was removed
        here = ""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.environ.get("PYTHONPATH") else []
    relative = {os.path.normpath(os.path.join(here, entry)) for entry in entries if not os.path.isabs(entry)}
    started_by_m = getattr(sys.modules.get("__main__"), "__spec__", None) is not None
    if started_by_m and sys.path and sys.path[0] == here:
        del sys.path[0]
    sys.path[:] = [entry for entry in sys.path if entry and os.path.normpath(entry) not in relative]


def _listen_to_signals() -> None:
    import signal

    for name in ("SIGTERM", "SIGHUP"):
        # nohup ignores SIGHUP on purpose.
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:
            signal.signal(getattr(signal, name), _on_end_signal)


def _on_end_signal(number: int, _frame: FrameType | None) -> None:
    raise AskedToEnd(number)


def _run() -> int:
    import click

    from doctor.cli.group import amd_doctor

    try:
        # Click gives back the status of a `Context.exit`, or what the command returned: None is a plain success.
        status = amd_doctor.main(prog_name="amd-doctor", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return _stopped(INTERRUPTED)
    return int(status or 0)


def _stopped(status: int) -> int:
    """End quietly: the children first, so that none outlives the doctor."""
    try:
        _ignore_signals()
        from doctor.processes.descendants import end_descendants

        end_descendants()
    except Exception:
        return status
    return status


def _ignore_signals() -> None:
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _failed(error: Exception) -> int:
    """Say in one sentence what failed in the doctor itself and how to report it."""
    try:
        if os.environ.get("AMD_DOCTOR_DEBUG"):
            import traceback

            traceback.print_exc()
        reason = " ".join(str(error).split())[:300]
        what = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        print(
            f"amd-doctor: the doctor itself failed{_place(error)}: {_printable(what)}. "
            "Please report it to the project, with what AMD_DOCTOR_DEBUG=1 adds to this message.",
            file=sys.stderr,
        )
    except (OSError, ValueError):  # nobody reads stderr, or it cannot take the text
        return FAILED
    return FAILED


def _place(error: Exception) -> str:
    """` in present/screen.py line 12`: the last place in the doctor's own code, without the folders above it."""
    place, step = "", error.__traceback__
    while step is not None:
        path = step.tb_frame.f_code.co_filename.replace("\\", "/")
        if "/doctor/" in path:
            place = f" in {path.rpartition('/doctor/')[2]} line {step.tb_lineno}"
        step = step.tb_next
    return place


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _leave(status: int) -> NoReturn:
    """Leave with `status`. A reader that went away (`amd-doctor check | head -1`) is no error."""
    _ignore_signals()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _close_quietly(stream.fileno())
    if status >= 128:
        # Threads may still wait for a child: an ordinary exit would wait for them.
        os._exit(status)
    sys.exit(status)


def _close_quietly(descriptor: int) -> None:
    """Let the interpreter flush into nothing at its end, instead of complaining about a closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
