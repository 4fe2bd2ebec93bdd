"""The arms of the axis "threads and placement", from the layout of the CPUs, in a fixed order of priority.

The order decides what a small budget leaves out, before anything is measured. Later arms fill the gaps between the
thread counts of earlier ones: the best count of a chip is often neither all cores nor half of them (Ryzen 7 5700G:
6 of 8, llama.cpp#39; EPYC 9654: about 60 of 96, llama.cpp#6434).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from doctor.machine.cpulist import format_cpulist, parse_cpulist
from doctor.measure.units import Setting
from doctor.tune.layout import CoreCpus, Group, Layout

#: More arms than this make each of them too poorly known for the rounds of a usual budget.
MAX_ARMS = 12

#: What torch and most others read. Where the user has set MKL_NUM_THREADS, that wins in torch: an arm sets both.
THREADS, MKL_THREADS = "OMP_NUM_THREADS", "MKL_NUM_THREADS"
#: What the OpenBLAS of NumPy reads first, and torch does not read.
OPENBLAS_THREADS = "OPENBLAS_NUM_THREADS"
_COUNTS = (THREADS, MKL_THREADS, OPENBLAS_THREADS)

#: With MKL, torch asks MKL for its count, and MKL answers with at most the cores of the mask unless this is FALSE.
_MKL_DYNAMIC = "MKL_DYNAMIC"


class Arm(msgspec.Struct, frozen=True, omit_defaults=True):
    """One setting to try. `name` is unique in a run; `title` is for the screen."""

    name: str
    setting: Setting
    title: str = ""


class Addition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Variables that are tried on top of the setting that leads: a wait policy, huge pages, a kernel path.

    `for_threads`: it does nothing for a setting of one thread, and is not tried on top of one.
    """

    name: str
    variables: dict[str, str | None]
    title: str = ""
    for_threads: bool = False

    def on(self, arm: Arm) -> Arm:
        setting = Setting(variables={**arm.setting.variables, **self.variables}, cpus=arm.setting.cpus)
        return Arm(f"{arm.name} + {self.name}", setting, f"{arm.title}, {self.title}")

    @property
    def alone(self) -> Arm:
        """On top of nothing: what is tried where no thread count or placement is."""
        return Arm(self.name, Setting(variables=self.variables), self.title)


def is_default(setting: Setting, default_threads: int | None) -> bool:
    """Whether a setting only asks for the threads that the target starts anyway."""
    if setting.cpus is not None or default_threads is None:
        return False
    return all(name in _COUNTS and value == str(default_threads) for name, value in setting.variables.items())


def threads_of(setting: Setting) -> int | None:
    """The thread count that a setting asks for; None where it asks for none."""
    value = next((setting.variables[name] for name in _COUNTS if name in setting.variables), None)
    return int(value) if value is not None and value.isascii() and value.isdigit() else None


def between(leader: Arm, tried: Iterable[Arm], default_threads: int | None) -> tuple[Arm, ...]:
    """The thread counts halfway (as ratios) between the leader and its neighbours that were tried in the same place,
    the default among them. None where the leader asks for no threads, or nothing lies between."""
    own = threads_of(leader.setting)
    if own is None:
        return ()
    beside = {threads_of(arm.setting): arm for arm in tried if arm.setting.cpus == leader.setting.cpus}
    counts = set(beside)
    counts |= {default_threads} if leader.setting.cpus is None else {1}
    known = sorted(count for count in counts if count is not None)
    lower, upper = (max((c for c in known if c < own), default=own), min((c for c in known if c > own), default=own))
    middles = {round(math.sqrt(own * other)) for other in (lower, upper)} - {own, lower, upper}
    # Between the cores and the CPUs, MKL has to be told that the count is meant, as in the arm above.
    above = beside[upper].setting.variables if upper in beside else {}
    meant = {name: value for name, value in above.items() if name == _MKL_DYNAMIC}
    return tuple(_with_threads(leader, count, meant if count > own else {}) for count in sorted(middles))


def _with_threads(arm: Arm, count: int, more: Mapping[str, str | None]) -> Arm:
    own = str(threads_of(arm.setting))
    variables = {name: str(count) if name in _COUNTS else value for name, value in arm.setting.variables.items()}
    variables.update(more)
    renamed = arm.name.replace(f"threads-{own}", f"threads-{count}", 1)
    return Arm(
        name=renamed if renamed != arm.name else f"{arm.name}, {count} threads",
        setting=Setting(variables=variables, cpus=arm.setting.cpus),
        title=f"{count} threads: beside {arm.name}",
    )


class _Place(msgspec.Struct, frozen=True):
    threads: int
    cpus: str | None
    name: str  # of the place: "", "ccx0", "spread"
    title: str


def thread_arms(
    layout: Layout,
    *,
    default_threads: int | None,
    env: Mapping[str, str],
    most: int = MAX_ARMS,
    count: str = THREADS,
    mkl_cores: int | None = None,
) -> tuple[Arm, ...]:
    """At most `most` arms, none twice, and none that is the default itself (`default_threads`, where known).

    `count`: the variable that carries the number of threads. `mkl_cores`: where MKL has a say in it, the cores of all
    that is allowed: MKL grants no more threads unless it is told.
    """
    names = [count, *([MKL_THREADS] if count == THREADS and MKL_THREADS in env else [])]
    arms: dict[tuple[int, str | None], Arm] = {}
    for place in _places(layout):
        threads = min(place.threads, layout.budget)
        cpus = None if place.cpus == layout.all_cpus else place.cpus
        if threads >= 1:
            variables: dict[str, str | None] = dict.fromkeys(names, str(threads))
            if mkl_cores is not None and threads > _cores_within(layout, cpus, mkl_cores):
                variables[_MKL_DYNAMIC] = "FALSE"
            arms.setdefault((threads, cpus), _arm(threads, cpus, place, variables))
    return tuple(arm for arm in arms.values() if not is_default(arm.setting, default_threads))[:most]


def _cores_within(layout: Layout, cpus: str | None, all_cores: int) -> int:
    if cpus is None:
        return all_cores
    allowed = parse_cpulist(cpus)
    return sum(not allowed.isdisjoint(core) for core in layout.cores)


def _arm(threads: int, cpus: str | None, place: _Place, variables: dict[str, str | None]) -> Arm:
    count = "1 thread" if threads == 1 else f"{threads} threads"
    where = f"-{place.name}" if cpus is not None else ""
    return Arm(
        name=f"threads-{threads}{where}",
        setting=Setting(variables=variables, cpus=cpus),
        title=f"{count}: {place.title}",
    )


def _places(layout: Layout) -> Iterator[_Place]:
    """Everything worth trying, the most telling first. Duplicates are dropped by the caller."""
    groups, cores = layout.groups, layout.physical
    yield _Place(cores, None, "", "all cores")
    yield _Place(layout.budget, None, "", "all CPUs")
    if len(groups) > 1:
        yield from _whole_groups(groups)
        yield from _fast_cores(groups)
        yield _half_group(groups)
        yield from _spread(groups, layout.budget)
        yield from _one_package(groups)
    else:
        yield from _fast_cores(groups)
    yield _Place(cores // 2, None, "", "half of the cores")
    yield _Place(cores * 3 // 4, None, "", "three quarters of the cores")
    yield _Place(cores * 5 // 8, None, "", "five eighths of the cores")
    yield _Place(1, None, "", "one thread")
    if len(groups) > 1:
        yield from _several_groups(groups)
    yield _Place(cores // 4, None, "", "a quarter of the cores")
    yield from _first_siblings(layout)
    for eighths in (7, 3, 12, 14, 10):
        yield _Place(cores * eighths // 8, None, "", "between")


def _whole_groups(groups: Sequence[Group]) -> Iterator[_Place]:
    """One CCX of each likeness: the largest cache first."""
    seen = set()
    for at, group in sorted(enumerate(groups), key=lambda row: -(row[1].size_bytes or 0)):
        if group.like not in seen:
            seen.add(group.like)
            yield _Place(len(group.cores), _mask(group.cores), f"ccx{at}", f"one CCX (number {at})")


def _half_group(groups: Sequence[Group]) -> _Place:
    at, group = max(enumerate(groups), key=lambda row: (row[1].size_bytes or 0, -row[0]))
    half = len(group.cores) // 2
    return _Place(half, _mask(group.cores), f"ccx{at}", f"half a CCX (number {at})")


def _fast_cores(groups: Sequence[Group]) -> Iterator[_Place]:
    """Where one L3 serves both kinds of cores, or several: all of the fast kind."""
    fast = [core for group in groups for core in group.fast]
    if fast and len(fast) < sum(len(group.cores) for group in groups):
        yield _Place(len(fast), _mask(fast), "fast", "the fast cores")


def _spread(groups: Sequence[Group], budget: int) -> Iterator[_Place]:
    """As many cores as the largest CCX has, dealt out evenly; and one core of each CCX."""
    largest = max(len(group.cores) for group in groups)
    for count in (min(largest, budget), min(len(groups), budget)):
        dealt = _dealt(groups, count)
        yield _Place(len(dealt), _mask(dealt), f"spread{count}", f"{count} cores spread over the CCXs")


def _dealt(groups: Sequence[Group], count: int) -> list[CoreCpus]:
    rows = [[group.cores[at] for group in groups if at < len(group.cores)] for at in range(count)]
    return [core for row in rows for core in row][:count]


def _one_package(groups: Sequence[Group]) -> Iterator[_Place]:
    first = groups[0].package
    cores = [core for group in groups if group.package == first for core in group.cores]
    if any(group.package != first for group in groups):
        yield _Place(len(cores), _mask(cores), f"package{first}", "one socket")


def _several_groups(groups: Sequence[Group]) -> Iterator[_Place]:
    """Two, four … CCXs beside each other, while that is less than all of them."""
    count = 2
    while count < len(groups):
        cores = [core for group in groups[:count] for core in group.cores]
        yield _Place(len(cores), _mask(cores), f"ccx0-{count - 1}", f"{count} CCXs")
        count *= 2


def _first_siblings(layout: Layout) -> Iterator[_Place]:
    """One CPU of every core, the SMT siblings left idle by force."""
    firsts = [core[:1] for core in layout.cores]
    if layout.physical == len(layout.cores) and any(len(core) > 1 for core in layout.cores):
        yield _Place(layout.physical, _mask(firsts), "first-siblings", "all cores, their second CPUs idle")


def _mask(cores: Iterable[CoreCpus]) -> str:
    return format_cpulist(cpu for core in cores for cpu in core)
