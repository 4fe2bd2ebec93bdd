"""torch-directml in the target: what its metadata asks for, the adapters it sees, and what its exercises came to."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from packaging.requirements import InvalidRequirement, Requirement

from doctor.machine.model import Exercise, TorchDirectml, UnknownFact
from doctor.probes.exercised import Exercised, exercised
from doctor.probes.found import Found, unknown
from doctor.probes.interpreter import ORIGIN, Distribution, interpreter
from doctor.sources.base import Missing, Source

_EXERCISES = "exercise:directml"
_LISTING = "list-adapters"

#: What only the exercises tell.
_EXERCISED_FACTS = ("torch_directml.device_names", "torch_directml.default_device")

#: Stands for the name of an adapter that did not tell it: the place in the list is the number of the adapter.
UNNAMED = "unnamed"


def probe(source: Source) -> Found:
    """`torch_directml`, and the rows of its `exercises`."""
    told = interpreter(source)
    if isinstance(told, Missing):
        return Found()
    package = told.package("torch-directml")
    if package is None:
        return Found({"torch_directml": TorchDirectml(installed=False)}, origins={"torch_directml": ORIGIN})
    files = _of_files(package)
    ran = exercised(source, "directml")
    if isinstance(ran, Missing):
        unknowns = tuple(unknown(fact, ran) for fact in _EXERCISED_FACTS)
        return Found({"torch_directml": files}, unknowns, {"torch_directml": ORIGIN})
    facts = {"torch_directml": _with_exercises(files, ran), "exercises": _rows(ran)}
    return Found(facts, _still_unknown(ran), {"torch_directml": ORIGIN, **dict.fromkeys(_EXERCISED_FACTS, _EXERCISES)})


def _of_files(package: Distribution) -> TorchDirectml:
    return TorchDirectml(
        installed=True,
        version=package.version,
        requires_torch=_pinned(package.requires, "torch"),
        requires_torchvision=_pinned(package.requires, "torchvision"),
    )


def _pinned(requires: Iterable[str] | None, name: str) -> str | None:
    """The one version of `name` that a package asks for: "2.4.1" for `torch==2.4.1`."""
    for text in requires or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        versions = [each.version for each in wanted.specifier if each.operator in ("==", "===")]
        if wanted.name.lower() == name and len(versions) == 1:
            return versions[0]
    return None


def _with_exercises(files: TorchDirectml, ran: Exercised) -> TorchDirectml:
    names = ran.fact(_LISTING, "names")
    default = ran.fact(_LISTING, "default")
    return msgspec.structs.replace(
        files,
        device_names=tuple(str(name or UNNAMED) for name in names) if isinstance(names, list) else None,
        default_device=default if isinstance(default, int) else None,
        cpu_fallbacks=_fallbacks(ran),
    )


def _fallbacks(ran: Exercised) -> tuple[str, ...] | None:
    """The operators that the CPU did; None where nothing could be tried."""
    told = [step.facts.get("fell_back") for step in ran.steps if step.outcome not in ("skipped", "signal", "timeout")]
    tried = any(step.name == "matmul" and step.outcome in ("ok", "wrong") for step in ran.steps)
    if not tried:
        return None
    return tuple(sorted({str(name) for names in told if isinstance(names, list) for name in names}))


def _rows(ran: Exercised) -> tuple[Exercise, ...]:
    """What was tried. The import of PyTorch is told by the exercises on the CPU, the listing only where it failed."""
    return tuple(
        row
        for row in ran.rows(None)
        if row.outcome != "skipped" and row.name != "import-torch" and (row.name, row.outcome) != (_LISTING, "ok")
    )


def _still_unknown(ran: Exercised) -> tuple[UnknownFact, ...]:
    step = ran.step(_LISTING)
    if step is not None and step.outcome == "ok":
        return ()
    missing = Missing("probe-failed", step.detail if step is not None else None)
    return tuple(unknown(fact, missing) for fact in _EXERCISED_FACTS)
