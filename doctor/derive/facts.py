"""Everything that follows from the machine document, as one struct that the rules read under `derived`.

`complete` fills fields of the document itself that follow from others (generation from family and model, the CPU
budget from affinity and quota …) where the source did not know them. `derive` computes what only rules need.

An area adds one line to `COMPLETE`, or one field to `Derived` and one line of the same name to `DERIVE`. A sub-struct
may say which machine facts stand behind its own: `READS: ClassVar[Mapping[str, tuple[str, ...]]] = {"field":
("torch.version",)}`; a rule that misses the derived fact then names those to the user.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from doctor.derive.backend import BackendFacts, backend_facts
from doctor.derive.blas import BlasFacts, blas_facts
from doctor.derive.budget import BudgetFacts, budget_facts
from doctor.derive.cpu import CpuFacts, complete_cpu, cpu_facts
from doctor.derive.directml import DirectmlFacts, complete_directml, directml_facts
from doctor.derive.directml_adapters import DirectmlAdapterFacts, directml_adapter_facts
from doctor.derive.directml_exercises import DirectmlExerciseFacts, directml_exercise_facts
from doctor.derive.environment import EnvironmentFacts, environment_facts
from doctor.derive.exercises import ExerciseFacts, exercise_facts
from doctor.derive.gpu_access import GpuAccessFacts, gpu_access_facts
from doctor.derive.gpu_code import GpuCodeFacts, gpu_code_facts
from doctor.derive.gpu_memory import GpuMemoryFacts, gpu_memory_facts
from doctor.derive.gpu_reach import GpuReachFacts, gpu_reach_facts
from doctor.derive.gpu_signs import GpuSignFacts, gpu_sign_facts
from doctor.derive.gpus import GpuFacts, complete_gpus, gpu_facts
from doctor.derive.limits import LimitsFacts, complete_limits, limits_facts
from doctor.derive.loader import LoaderFacts, loader_facts
from doctor.derive.log import LogFacts, log_facts
from doctor.derive.measured_devices import MeasuredDeviceFacts, measured_device_facts
from doctor.derive.memory import complete_memory
from doctor.derive.memory_facts import MemoryFacts, memory_facts
from doctor.derive.openmp import OpenmpFacts, openmp_facts
from doctor.derive.overwritten import OverwrittenFacts, overwritten_facts
from doctor.derive.placement import PlacementFacts, placement_facts
from doctor.derive.power import PowerFacts, power_facts
from doctor.derive.python import PythonFacts, python_facts
from doctor.derive.pytorch import PytorchFacts, pytorch_facts
from doctor.derive.rocm import RocmFacts, rocm_facts
from doctor.derive.tables import TableFacts, table_facts
from doctor.derive.thread_variables import ThreadFacts, thread_facts
from doctor.derive.torch_build import complete_torch_build
from doctor.derive.wheels import WheelFacts, wheel_facts
from doctor.derive.windows_driver import WindowsDriverFacts, windows_driver_facts
from doctor.machine.model import Fact, Machine


class Derived(Fact, frozen=True):
    """One sub-struct per area, each defined beside the functions that fill it."""

    cpu: CpuFacts | None = None
    memory: MemoryFacts | None = None
    python: PythonFacts | None = None
    pytorch: PytorchFacts | None = None
    openmp: OpenmpFacts | None = None
    blas: BlasFacts | None = None
    exercises: ExerciseFacts | None = None
    tables: TableFacts | None = None
    limits: LimitsFacts | None = None
    budget: BudgetFacts | None = None
    threads: ThreadFacts | None = None
    environment: EnvironmentFacts | None = None
    power: PowerFacts | None = None
    placement: PlacementFacts | None = None
    gpu: GpuFacts | None = None
    gpu_access: GpuAccessFacts | None = None
    gpu_memory: GpuMemoryFacts | None = None
    gpu_code: GpuCodeFacts | None = None
    gpu_reach: GpuReachFacts | None = None
    gpu_signs: GpuSignFacts | None = None
    rocm: RocmFacts | None = None
    backend: BackendFacts | None = None
    wheels: WheelFacts | None = None
    overwritten: OverwrittenFacts | None = None
    loader: LoaderFacts | None = None
    log: LogFacts | None = None
    directml: DirectmlFacts | None = None
    directml_adapters: DirectmlAdapterFacts | None = None
    directml_exercises: DirectmlExerciseFacts | None = None
    windows_driver: WindowsDriverFacts | None = None
    measured_devices: MeasuredDeviceFacts | None = None


#: (area, function), in the order in which they run: a later one may read what an earlier one filled in.
COMPLETE: tuple[tuple[str, Callable[[Machine], Machine]], ...] = (
    ("cpu", complete_cpu),
    ("limits", complete_limits),
    ("memory", complete_memory),
    ("gpus", complete_gpus),
    ("torch_build", complete_torch_build),
    ("directml", complete_directml),
)

#: (field of `Derived`, function of the completed document and of today's date, where it is known).
DERIVE: tuple[tuple[str, Callable[[Machine, date | None], Fact]], ...] = (
    ("cpu", cpu_facts),
    ("memory", memory_facts),
    ("python", python_facts),
    ("pytorch", pytorch_facts),
    ("openmp", openmp_facts),
    ("blas", blas_facts),
    ("exercises", exercise_facts),
    ("tables", table_facts),
    ("limits", limits_facts),
    ("budget", budget_facts),
    ("threads", thread_facts),
    ("environment", environment_facts),
    ("power", power_facts),
    ("placement", placement_facts),
    ("gpu", gpu_facts),
    ("gpu_access", gpu_access_facts),
    ("gpu_memory", gpu_memory_facts),
    ("gpu_code", gpu_code_facts),
    ("gpu_reach", gpu_reach_facts),
    ("gpu_signs", gpu_sign_facts),
    ("rocm", rocm_facts),
    ("backend", backend_facts),
    ("wheels", wheel_facts),
    ("overwritten", overwritten_facts),
    ("loader", loader_facts),
    ("log", log_facts),
    ("directml", directml_facts),
    ("directml_adapters", directml_adapter_facts),
    ("directml_exercises", directml_exercise_facts),
    ("windows_driver", windows_driver_facts),
    ("measured_devices", measured_device_facts),
)


def complete(machine: Machine) -> Machine:
    """The document with every field filled in that follows from its others."""
    for _, step in COMPLETE:
        machine = step(machine)
    return machine


def derive(machine: Machine, today: date | None = None) -> Derived:
    """The derived facts of a completed document. `today` is what the age of a table is counted to."""
    facts: dict[str, Any] = {field: step(machine, today) for field, step in DERIVE}
    return Derived(**facts)
