from __future__ import annotations

from doctor.derive.loader import loader_facts
from doctor.machine.model import Intent, Library, Limits, Machine, Torch


def machine(backend: str, workers: int | None = 8, **parts: object) -> Machine:
    known = {"torch": Torch(installed=True, num_threads=6), "limits": Limits(cpu_budget=12), **parts}
    return Machine(intent=Intent(backend=backend, workers=workers), **known)  # type: ignore[arg-type]


def test_a_worker_is_one_thread_and_the_main_process_its_own() -> None:
    facts = loader_facts(machine("cpu"))
    assert (facts.main_threads, facts.running_threads, facts.workers) == (6, 14, 6)


def test_beside_a_gpu_the_main_process_waits() -> None:
    assert loader_facts(machine("rocm")).running_threads == 9
    assert loader_facts(machine("directml")).running_threads == 9


def test_what_is_not_told_is_unknown() -> None:
    assert loader_facts(machine("cpu", None)).running_threads is None
    assert loader_facts(machine("auto")).main_threads is None, "CPU or GPU is not known"
    assert loader_facts(machine("cpu", torch=Torch(installed=True))).running_threads is None
    assert loader_facts(Machine()) == type(loader_facts(Machine()))()


def test_the_pool_of_numpy() -> None:
    rows = (Library(kind="blas", name="openblas", threads=16), Library(kind="openmp", name="libgomp", threads=32))
    assert loader_facts(machine("cpu", libraries=rows)).pool_threads == 16
    assert loader_facts(machine("cpu", libraries=())).pool_threads == 1
    assert loader_facts(machine("cpu")).pool_threads is None


def test_one_cpu_still_has_one_worker() -> None:
    assert loader_facts(machine("cpu", limits=Limits(cpu_budget=1))).workers == 1
