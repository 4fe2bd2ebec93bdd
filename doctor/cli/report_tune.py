"""The last result of `tune`, which a report carries where it is one of this very machine and PyTorch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from doctor.machine.model import Machine

if TYPE_CHECKING:
    from doctor.tune.result import SavedResult

#: What must be the same for a result to be about a machine; Python and the driver may have changed since.
_SAME = ("hardware", "cpu")

#: Values that are our own words, or numbers as a string.
_OWN_WORDS = frozenset({"schema", "name", "arm", "workload", "torch", "cpus", "fate", "word", "outcome", "stage"})
_BUSY = re.compile(r"(other processes used [\d.]+ ?% of the CPUs): .*", re.DOTALL)


def kept_tune_result() -> SavedResult | None:
    """The last result that was kept; None where there is none, or none that can be read."""
    import platformdirs

    if not platformdirs.user_state_path("amd-doctor").exists():  # before anything of tune is imported
        return None
    from doctor.cli.tune_kept import last_path
    from doctor.tune.result import BadResult, read_saved_result

    try:
        return read_saved_result(_without_personal_data(last_path().read_bytes()))
    except (OSError, BadResult):
        return None


def _without_personal_data(data: bytes) -> bytes:
    """The result as it may be shown to others: what a failing program said may name folders, and what else ran on the
    machine is nobody's business."""
    from doctor.sources.personal_names import redactor_of_this_machine

    try:
        plain = _without_processes(msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data  # whoever reads it says so
    return msgspec.json.encode(redactor_of_this_machine().json(plain, _OWN_WORDS))


def _without_processes(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_processes(item) for item in value]
    if isinstance(value, str):
        return _BUSY.sub(r"\1", value)
    if isinstance(value, dict):
        kept = ((key, inner) for key, inner in value.items() if key != "other_processes")
        return {key: _without_processes(inner) for key, inner in kept}
    return value


def is_of(saved: SavedResult, machine: Machine) -> bool:
    """Was it measured on this hardware, with this PyTorch? The machine is a completed one.

    Where the Python that was looked at has no PyTorch, that of another Python may have been measured: `start.py`
    installs one for `tune` alone.
    """
    from doctor.tune.subject import NO_TORCH, subject_of

    now, then = subject_of(machine), saved.result.plan.subject
    with_this_torch = now["torch"] in (NO_TORCH, then.get("torch"))
    return with_this_torch and all(then.get(key) == now[key] for key in _SAME)
