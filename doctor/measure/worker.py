"""Runs a unit for real: one fresh process of the target interpreter, bound from outside, watched, and ended in time."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from doctor.machine.cpulist import parse_cpulist
from doctor.measure import told
from doctor.measure.array_size import array_bytes, l3_bytes
from doctor.measure.kills import out_of_memory_kills
from doctor.measure.surroundings import Watch
from doctor.measure.units import Setting, Unit, UnitResult, Variant
from doctor.measure.workloads import OF_DEVICES, WORKLOADS
from doctor.processes.run import Child, Ended, kill_running
from doctor.sources.base import Source
from doctor.sources.inside import cleaned_environment, start_inside
from doctor.sources.live import ThisMachine

#: Its length shifts the stack of the child.
PAD = "AMD_DOCTOR_PAD"

#: A child ends itself this long after its time, should nobody be left to end it.
_GRACE_SECONDS = 5.0


class Pace(msgspec.Struct, frozen=True):
    """How each workload is timed. Warmed up until two halves agree, for `warm_up_seconds` at most; then `blocks` blocks
    of at least `block_seconds`, fewer (but `least_blocks`) where they take longer than `most_seconds` together."""

    block_seconds: float = 0.020
    blocks: int = 8
    least_blocks: int = 3
    warm_up_seconds: float = 1.0
    most_seconds: float = 2.5


USUAL_PACE = Pace()
#: Many sizes on several devices: each a little shorter, and a step may take seconds.
DEVICES_PACE = Pace(blocks=5, least_blocks=2, warm_up_seconds=0.5, most_seconds=1.0)


class WorkerExperiment:
    """Units of the target interpreter at the absolute path `python`.

    `environ`: the user's. `all_cpus`: every CPU that the user's own process may use, as a list, which a setting without
    a mask gets. `l3_bytes`: all L3 caches together; looked up here where it is not given.
    """

    def __init__(
        self,
        python: str,
        environ: Mapping[str, str],
        *,
        all_cpus: str,
        l3_bytes: int | None = None,
        pace: Pace = USUAL_PACE,
        source: Source | None = None,
    ) -> None:
        self._python = python
        self._environ = cleaned_environment(environ).variables
        self._all_cpus = parse_cpulist(all_cpus)
        self._pace = pace
        self._source = source if source is not None else ThisMachine()
        self._l3_bytes = l3_bytes
        self._array_bytes: int | None = None

    def measure(self, unit: Unit) -> UnitResult:
        """Run one unit to its end. However it fails is a value; a KeyboardInterrupt passes through, its process gone.

        Raises ValueError for a unit that names what does not exist, OSError where there is no room for a folder.
        """
        order = msgspec.json.encode(self._order(unit)).decode()
        began, kills = time.monotonic(), out_of_memory_kills(self._source)
        watch = Watch(self._all_cpus, self._source)
        with tempfile.TemporaryDirectory(prefix="amd-doctor-", ignore_cleanup_errors=True) as folder:
            start = partial(
                start_inside,
                self._python,
                "worker.py",
                [order],
                environ=environment_of(unit.setting, self._environ, unit.pad_bytes, hash_seed=True),
                folder=folder,
                on_line=lambda line: watch.look(),
                affinity=bound_to(unit.setting, self._all_cpus),
            )
            ended = waited(start, unit.limit_seconds)
        events = told.read_events(ended.stdout)
        done = told.last(events, told.Done)
        return told.result_of(
            events,
            ended,
            watch.end(None if done is None else done.cpu_seconds),
            goes_on=bool(unit.variants),
            memory_kills=out_of_memory_kills(self._source) - kills,
            wall_seconds=time.monotonic() - began,
        )

    def _order(self, unit: Unit) -> dict[str, object]:
        variants = unit.variants or (Variant(""),)
        return {
            "runs": [
                _run(workload, variant) for variant in variants for workload in variant.workloads or unit.workloads
            ],
            "options": unit.setting.options,
            "go_on": bool(unit.variants),
            "pace": DEVICES_PACE if unit.stage == "devices" else self._pace,
            # A second or more where the machine is busy: only where types or devices are compared.
            "loss": unit.stage not in ("cost", "search", "confirm", "devices"),
            "array_bytes": self._bytes_of_an_array() if "triad" in unit.workloads else 0,
            "limit_seconds": unit.limit_seconds + _GRACE_SECONDS,
            "threadpoolctl": _threadpoolctl(),
        }

    def _bytes_of_an_array(self) -> int:
        """The same in every unit of a run: looked up once."""
        if self._array_bytes is None:
            self._array_bytes = array_bytes(self._l3_bytes or l3_bytes(self._source))
        return self._array_bytes


def _run(name: str, variant: Variant) -> dict[str, object]:
    workload = WORKLOADS.get(name) or OF_DEVICES.get(name)
    if workload is None:
        raise ValueError(f"no workload is called {name[:40]!r}")
    return {
        "workload": name,
        "module": workload.module,
        "arguments": workload.arguments,
        "variant": variant.name,
        "options": variant.options,
    }


def environment_of(
    setting: Setting, environ: Mapping[str, str], pad_bytes: int, *, hash_seed: bool = False
) -> dict[str, str]:
    """The user's environment as a setting changes it, with a variable of a given length, and with hashes that are the
    same in every process where `hash_seed` says so."""
    changed: dict[str, str | None] = {**environ, **setting.variables, PAD: "x" * pad_bytes}
    if hash_seed:
        changed["PYTHONHASHSEED"] = "0"
    return {name: value for name, value in changed.items() if value is not None}


def bound_to(setting: Setting, all_cpus: frozenset[int]) -> frozenset[int] | None:
    """The CPUs that a child is started on. Also without a mask of its own a setting gets one, all that there is: the
    doctor's own could have been narrowed meanwhile. None where the system binds nothing."""
    if sys.platform == "darwin":
        return None
    return all_cpus if setting.cpus is None else parse_cpulist(setting.cpus)


def waited(start: Callable[[], Child], limit_seconds: float) -> Ended:
    """Start a child and wait for it; nothing of it is left whatever happens meanwhile."""
    try:
        return start().wait(limit_seconds)
    except BaseException:
        # It may have come before anybody held the child.
        kill_running()
        raise


def _threadpoolctl() -> str:
    found = importlib.util.find_spec("threadpoolctl")
    return (found.origin if found is not None else None) or "-"
