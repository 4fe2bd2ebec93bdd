"""Runs of `tune` that are kept in the user's own state folder: the log of each as it goes, and the last result.

Nobody else may read them. They hold settings and times; of the user's own command only a digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from doctor.measure.units import Measured
from doctor.sources.whole_file import write_whole
from doctor.tune.log import SavedRun, first_line, next_line, read_log
from doctor.tune.plan import Plan

_OWNER_ONLY = 0o600


def folder() -> Path:
    """Where runs are kept: `~/.local/state/amd-doctor/tune` on Linux."""
    import platformdirs

    return Path(platformdirs.user_state_path("amd-doctor")) / "tune"


def log_path(subject: Mapping[str, str]) -> Path:
    """The log of the last run on the same hardware, torch and command."""
    digest = hashlib.sha256(json.dumps(dict(sorted(subject.items()))).encode()).hexdigest()
    return folder() / f"{digest[:16]}.jsonl"


def last_path() -> Path:
    return folder() / "last.json"


def saved_run(subject: Mapping[str, str]) -> SavedRun | None:
    """The saved run on the same subject; None where there is none. Raises OSError, and BadLog."""
    try:
        data = log_path(subject).read_bytes()
    except FileNotFoundError:
        return None
    return read_log(data)


def keep_last(document: bytes) -> None:
    """Keep a result as the last one. Raises OSError."""
    _make_folder()
    write_whole(last_path(), document, mode=_OWNER_ONLY)


def _make_folder() -> None:
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)


class Journal:
    """The log of a run as it goes: a line for each unit, handed to the system before the next begins.

    A disk that cannot be written does not end the run: `on_failure` is told why, and nothing more is written.
    """

    def __init__(
        self, plan: Plan, saved: Sequence[Measured], on_failure: Callable[[str], None], *, enabled: bool = True
    ) -> None:
        self._on_failure = on_failure
        self._opened: IO[bytes] | None = None
        if enabled:
            try:
                self._opened = _begun(plan, saved)
            except OSError as error:
                self._give_up(error)

    @property
    def keeps(self) -> bool:
        """Whether the run can be resumed from what was written."""
        return self._opened is not None

    def add(self, measured: Measured) -> None:
        if self._opened is None:
            return
        try:
            self._opened.write(next_line(measured))
            self._opened.flush()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        if self._opened is not None:
            with contextlib.suppress(OSError):
                self._opened.close()

    def _give_up(self, error: OSError) -> None:
        self.close()
        self._opened = None
        self._on_failure(error.strerror or str(error))


def _begun(plan: Plan, saved: Sequence[Measured]) -> IO[bytes]:
    """A log that holds the plan and what was measured before, in the place of an older one. Raises OSError.

    It is written under another name first: a run that was cut off in the middle of a line leaves no half line behind,
    and another process that still writes to the older log does not write into this one.
    """
    _make_folder()
    path = log_path(plan.subject)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    opened = os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb")
    try:
        opened.write(first_line(plan) + b"".join(map(next_line, saved)))
        opened.flush()
        temporary.replace(path)
    except BaseException:
        opened.close()
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return opened
