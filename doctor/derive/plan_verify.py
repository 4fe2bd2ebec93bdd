"""Did what was planned come out? Judged by what the exercises did, never by what PyTorch says of itself alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doctor.derive.facts import Derived
from doctor.derive.gpu_failures import calculated_right
from doctor.derive.plan import choice_for, suits
from doctor.derive.plan_model import Plan
from doctor.machine.model import Exercise, Machine

#: Of DirectML's exercises those that training and inference need; the others ask for what it is known to lack.
_DIRECTML_NEEDS = ("import-torch-directml", "open-adapter", "matmul", "conv", "eval-forward", "train-step")

#: Devices of the exercises, by the option of the plan, and what they are called.
_DEVICES = {"cpu": ("cpu",), "rocm": ("cuda",), "cuda": ("cuda",), "directml": ("privateuseone", "directml")}
_WORDS = {"cpu": "the CPU", "rocm": "the GPU", "cuda": "the GPU", "directml": "DirectML"}


class Check(msgspec.Struct, frozen=True):
    """One thing that has to be so. `right` is None where it could not be seen."""

    name: str
    right: bool | None
    words: str


class Verification(msgspec.Struct, frozen=True):
    checks: tuple[Check, ...]

    @property
    def right(self) -> bool:
        """Everything was seen, and was right."""
        return all(check.right is True for check in self.checks)


def verify(machine: Machine, plan: Plan, derived: Derived) -> Verification:
    """Judge the exercised machine. What was not seen does not count as right."""
    imports = _imports(machine)
    if not imports.right:
        return Verification((imports,))
    checks = [imports, _build(machine, plan, derived), _exercised(machine, "cpu", derived)]
    if plan.option in _DEVICES and plan.option != "cpu":
        checks.append(_exercised(machine, plan.option, derived))
    return Verification(tuple(checks))


def _imports(machine: Machine) -> Check:
    torch = machine.torch
    if torch is None or torch.installed is None:
        return Check("import", None, "whether PyTorch is installed is not known")
    if not torch.installed:
        return Check("import", False, "PyTorch is not installed in this Python")
    if torch.importable is None:
        return Check("import", None, f"torch {torch.version}: the import was not tried")
    if not torch.importable:
        return Check("import", False, f"torch {torch.version} cannot be imported: {torch.import_error}")
    return Check("import", True, f"torch {torch.version} imports")


def _build(machine: Machine, plan: Plan, derived: Derived) -> Check:
    choice = choice_for(machine, plan, derived)
    if choice is None:
        return Check("build", False, plan.reason)
    right = suits(machine, choice, derived)
    said = {True: "it is", False: "it is not", None: "whether it is could not be told:"}[right]
    return Check("build", right, f"{said} what the plan wants: {choice.title}")


def _exercised(machine: Machine, option: str, derived: Derived) -> Check:
    rows = _rows_of(machine, option, derived)
    if not any(row.outcome != "ok" or calculated_right(row) for row in rows):
        return Check(f"exercises-{option}", None, f"no exercise ran on {_WORDS[option]}, and nothing else proves it")
    failed = [row for row in rows if row.outcome != "ok"]
    if not failed:
        return Check(f"exercises-{option}", True, f"{len(rows)} of {len(rows)} exercises on {_WORDS[option]} are right")
    words = ", ".join(f"{row.name} ({row.detail or row.outcome})" for row in failed)
    return Check(f"exercises-{option}", False, f"not right on {_WORDS[option]}: {words}")


def _rows_of(machine: Machine, option: str, derived: Derived) -> Sequence[Exercise]:
    """The exercises that count for a backend, without those that were left out. Of DirectML's adapters the default
    one counts, where it is known which that is; of several GPUs those to compute on, all of them being visible."""
    tried = (row for row in machine.exercises or () if row.outcome not in (None, "skipped"))
    rows = [row for row in tried if row.name != "import-torch" and (row.device or "").startswith(_DEVICES[option])]
    if option != "directml":
        spare = {gpu.where for gpu in (derived.gpu_code.failed if derived.gpu_code else None) or () if gpu.spare}
        return [row for row in rows if not row.with_mask and row.device not in spare]
    default = machine.torch_directml.default_device if machine.torch_directml else None
    own = [row for row in rows if default is None or row.device in (f"privateuseone:{default}", "directml")]
    return [row for row in own if row.name in _DIRECTML_NEEDS]
