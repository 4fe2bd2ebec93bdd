"""What `amd-doctor run` does to the environment and the CPU mask of a command, decided before anything is started."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from doctor.envfile.allowed import import_traps, is_allowed, wrong_value
from doctor.envfile.content import CPUS
from doctor.envfile.reading import EnvRead
from doctor.machine.cpulist import format_cpulist, parse_cpulist


class Refused(Exception):
    """Nothing is started. The message is one sentence."""


class Start(msgspec.Struct, frozen=True):
    """`variables` are set on top of the session's, `removed` are taken out of it. `cpus` is the mask to set, None: the
    process keeps its own. `notes` are sentences on what differs from what the file says."""

    variables: dict[str, str]
    removed: tuple[str, ...] = ()
    cpus: str | None = None
    notes: tuple[str, ...] = ()

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of the command."""
        return {name: value for name, value in environ.items() if name not in self.removed} | self.variables


class _Mask(msgspec.Struct, frozen=True):
    cpus: str | None
    note: str = ""


def start_of(
    read: EnvRead | None,
    file: str,
    environ: Mapping[str, str],
    own_cpus: Collection[int] | None,
    allow: Collection[str] = (),
) -> Start:
    """The start of a command with an env file, or without one. `own_cpus`: what this process may use; None where the
    system has no masks. `allow`: names outside the list that the user takes the risk of. Raises Refused."""
    set_by_file = _checked(read, file, allow) if read is not None else {}
    wanted = set_by_file[CPUS] if CPUS in set_by_file else environ.get(CPUS)
    mask = _mask(wanted, own_cpus, f"{file} says" if CPUS in set_by_file else "this session says")
    notes = [mask.note] if mask.note else []
    if read is not None and read.evidence is not None and CPUS in set_by_file:
        with_mask = read.evidence.run_variables
        _refuse_names(dict.fromkeys(with_mask, 0), file, allow)
        set_by_file |= with_mask if mask.cpus is not None else {}
        if with_mask and mask.cpus is None:
            notes.append(f"without the mask, {' and '.join(with_mask)} are left as they are")
    variables = {name: value for name, value in set_by_file.items() if value is not None}
    removed = {name for name, value in set_by_file.items() if value is None and name in environ}
    notes += [_not_taken(name, value) for name, value in variables.items() if name != CPUS and wrong_value(name, value)]
    while traps := [name for name in import_traps(_laid_over(environ, removed, variables)) if name not in allow]:
        notes += [_trap(name, variables.get(name, environ.get(name, ""))) for name in traps]
        for name in traps:
            variables.pop(name, None)
        removed |= {name for name in traps if name in environ}
    return Start(variables, tuple(sorted(removed)), mask.cpus, tuple(notes))


def _laid_over(
    environ: Mapping[str, str], removed: Collection[str], variables: Mapping[str, str]
) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in removed} | dict(variables)


def _checked(read: EnvRead, file: str, allow: Collection[str]) -> dict[str, str | None]:
    """What the file sets, and takes out where its format can only say so in the evidence. Raises Refused."""
    stopping = [problem for problem in read.problems if problem.stops]
    if stopping:
        more = f" (and {len(stopping) - 1} more like it)" if len(stopping) > 1 else ""
        raise Refused(f"{file} line {stopping[0].line}: {stopping[0].text}{more}; nothing was started")
    _refuse_names({each.name: each.line for each in read.assigned}, file, allow)
    taken_out = {name for name, value in (read.evidence.variables.items() if read.evidence else ()) if value is None}
    _refuse_names(dict.fromkeys(taken_out, 0), file, allow)
    return {**dict.fromkeys(sorted(taken_out)), **read.variables}


def _refuse_names(lines: Mapping[str, int], file: str, allow: Collection[str]) -> None:
    strange = {name: line for name, line in lines.items() if not is_allowed(name) and name not in allow}
    if strange:
        named = ", ".join(f"{name} (line {line})" if line else name for name, line in strange.items())
        options = " ".join(f"--allow {name}" for name in strange)
        raise Refused(f"{file} sets what is no tuning variable: {named}; nothing was started. To allow it: {options}")


def _mask(wanted: str | None, own_cpus: Collection[int] | None, who: str) -> _Mask:
    if not wanted:
        return _Mask(None)
    try:
        asked = parse_cpulist(wanted)
    except ValueError as error:
        raise Refused(f"{who} {CPUS}={wanted[:60]}, which is {error}; nothing was started") from error
    if own_cpus is None:
        return _Mask(None, f"this system sets no CPU masks: {CPUS}={wanted} is left aside")
    fitting = asked & frozenset(own_cpus)
    if fitting == asked:
        return _Mask(format_cpulist(fitting))
    own = format_cpulist(own_cpus)
    if not fitting:
        return _Mask(None, f"the CPU mask is left aside: {who} {wanted}, and only {own} may be used here")
    used = format_cpulist(fitting)
    return _Mask(used, f"the CPU mask is cut to {used}: {who} {wanted}, and only {own} may be used here")


def _not_taken(name: str, value: str) -> str:
    return f"{name}={value[:60]}: its readers take {wrong_value(name, value)}, and will not take this"


def _trap(name: str, value: str) -> str:
    return (
        f"{name}={value[:60]} is taken out: with it, import torch leaves the process and its children on one place, "
        f"often one CPU; --allow {name} keeps it"
    )
