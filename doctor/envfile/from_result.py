"""From the result of a run of `tune` to the content of an env file.

Nothing is written as a variable unless it was confirmed as part of the file: the variables alone, as a sourced file
gives them, or together with the CPU mask, as `amd-doctor run` gives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from doctor import __version__
from doctor.derive.runtimes import read_here
from doctor.envfile.allowed import import_traps, is_allowed
from doctor.envfile.content import BATCH_SIZE, CPUS, EnvContent, EnvLine, Evidence, Gain
from doctor.envfile.said import head_of, tail_of
from doctor.knowledge.env_vars import env_variable, env_variables
from doctor.machine.model import Machine
from doctor.measure.verdict import Verdict
from doctor.tune.confirm import Confirmation
from doctor.tune.devices.result import DEVICE_VARIABLE
from doctor.tune.result import TuneResult

#: The option that every arm of a run may carry without needing code of its own.
_NO_CODE = {"device": "cpu"}


class Provenance(msgspec.Struct, frozen=True):
    """What the result itself does not say. `unread`: tuning variables that nothing in the target reads."""

    date: str
    system: str  # linux windows macos
    unread: frozenset[str] = frozenset()


def provenance_of(machine: Machine, date: str) -> Provenance:
    """The provenance of a run on a completed machine, on a day such as 2026-11-30."""
    unread = frozenset(name for name, row in env_variables().items() if read_here(row, machine) is False)
    return Provenance(date, (machine.os.kind if machine.os else None) or "", unread)


class _Chosen(msgspec.Struct, frozen=True):
    """`alone`: the variables as a sourced file gives them. `masked`: with the mask. None: not shown to be faster, or
    not to be exported. `left_out` says what of them no file holds, and why."""

    alone: Confirmation | None
    masked: Confirmation | None
    left_out: tuple[str, ...]


def content_of(result: TuneResult, environ: Mapping[str, str], provenance: Provenance) -> EnvContent:
    """What to write for a result. `environ` is the environment of the session, the default arm of the run."""
    chosen = _chosen(result, provenance)
    lines = tuple(_lines(result, chosen, environ, provenance))
    evidence = Evidence(
        date=provenance.date,
        system=provenance.system,
        workloads=result.plan.workloads,
        subject=result.plan.subject,
        file=_gain(chosen.alone),
        run=_gain(chosen.masked),
        device=_device_gain(result),
        variables={line.name: line.value for line in lines if line.active},
        run_variables={line.name: line.value for line in lines if not line.active},
        confirmed=tuple(line.name for line in lines if line.confirmed),
        replaces={line.name: line.replaces for line in lines if line.replaces is not None},
        disturbed=result.disturbed,
        version=__version__,
    )
    return EnvContent(head_of(result, evidence), lines, tail_of(result, chosen.left_out), evidence)


def _chosen(result: TuneResult, provenance: Provenance) -> _Chosen:
    left_out: list[str] = []
    kept = []
    for candidate in result.candidates:
        if candidate.exportable:
            why = _not_exportable(candidate)
            kept += [] if why else [candidate]
            left_out += [f"{candidate.name}: faster, and not written: {why}"] if why else []
    alone = next((each for each in kept if each.setting.cpus is None), None)
    masked = next((each for each in kept if each.setting.cpus is not None), None)
    if alone is not None and masked is not None and (masked.verdict.gain or 0) <= (alone.verdict.gain or 0):
        left_out.append(f"CPU mask {masked.setting.cpus}: it adds nothing to the variables")
        masked = None
    export = masked or alone
    for name, value in export.setting.variables.items() if export is not None else ():
        why = _unread(name, result, provenance)
        left_out += [f"{name}={value}: not written: {why}"] if value is not None and why else []
    return _Chosen(alone, masked, tuple(left_out))


def _not_exportable(candidate: Confirmation) -> str:
    """Why a candidate that was faster stands in no file; empty where it may."""
    setting = candidate.setting
    code = [name for name, value in setting.options.items() if _NO_CODE.get(name) != value]
    if code:
        return f"it needs code of yours ({', '.join(code)})"
    traps = import_traps({name: value for name, value in setting.variables.items() if value is not None})
    return f"with {' and '.join(traps)} import torch leaves the process and its children on one CPU" if traps else ""


def _unread(name: str, result: TuneResult, provenance: Provenance) -> str:
    row = env_variable(name)
    if row is not None and row.name in provenance.unread:
        return "nothing here reads it"
    timed = ("command", "numpy-gemm")
    if row is not None and row.family == "openblas" and not any(name in timed for name in result.plan.workloads):
        return "torch does not read it"
    return ""


def _lines(
    result: TuneResult, chosen: _Chosen, environ: Mapping[str, str], provenance: Provenance
) -> Iterator[EnvLine]:
    export = chosen.alone or chosen.masked
    if export is not None:
        variables = {
            name: value for name, value in export.setting.variables.items() if not _unread(name, result, provenance)
        }
        whole = len(variables) + (chosen.alone is None)
        for name, value in variables.items():
            yield _line(name, value, environ, active=chosen.alone is not None, confirmed=whole == 1)
        if chosen.masked is not None and chosen.masked.setting.cpus is not None:
            mask, alone = chosen.masked.setting.cpus, chosen.alone is None and not variables
            note = "read by amd-doctor run only: the CPUs that the command may use"
            yield EnvLine(CPUS, mask, confirmed=alone, replaces=_replaced(CPUS, mask, environ), note=note)
    yield from _recommended(result, environ)
    yield from _of_device(result, environ)


def _line(name: str, value: str | None, environ: Mapping[str, str], *, active: bool, confirmed: bool) -> EnvLine:
    note = "" if is_allowed(name) else f"amd-doctor run sets it only with --allow {name}"
    return EnvLine(name, value, confirmed, _replaced(name, value, environ), active, note)


def _replaced(name: str, value: str | None, environ: Mapping[str, str]) -> str | None:
    old = environ.get(name)
    return old if old != value else None


def _recommended(result: TuneResult, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    """The batch size, where a recommendation has one: the user's own code reads it."""
    for row in result.recommendations:
        value = row.variables.get(BATCH_SIZE)
        if value is not None and row.fate in ("measured", "chosen"):
            note = f"read by your own code: int(os.environ['{BATCH_SIZE}'])"
            yield EnvLine(BATCH_SIZE, value, row.advised, _replaced(BATCH_SIZE, value, environ), note=note)
            return


def _of_device(result: TuneResult, environ: Mapping[str, str]) -> Iterator[EnvLine]:
    """The device that was shown to be faster than the CPU, with its batch size and the variables that won on it."""
    devices = result.devices
    if devices is None or devices.compared is None:
        return
    own = devices.compared.own
    for name, value in devices.variables.items():
        confirmed, note = name == DEVICE_VARIABLE, ""
        if name == DEVICE_VARIABLE:
            note = f"read by your own code: torch.device(os.environ['{name}'])"
        elif name.startswith(BATCH_SIZE):
            note = f"read by your own code: int(os.environ['{name}'])"
        else:
            confirmed = own is not None and own.word == "faster"
        yield EnvLine(name, value, confirmed, _replaced(name, value, environ), note=note)


def _device_gain(result: TuneResult) -> Gain | None:
    found = result.devices.compared if result.devices is not None else None
    return _gain_of(found.verdict) if found is not None and found.exportable else None


def _gain(candidate: Confirmation | None) -> Gain | None:
    return _gain_of(candidate.verdict if candidate is not None else None)


def _gain_of(verdict: Verdict | None) -> Gain | None:
    if verdict is None or verdict.gain is None:
        return None
    return Gain(verdict.gain, verdict.gain_low, verdict.gain_high, verdict.pairs)
