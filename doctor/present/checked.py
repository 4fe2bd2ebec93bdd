"""Everything that a check learned, as one value that the screen and the JSON are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doctor.derive.plan_model import Plan
from doctor.diagnosis.model import Diagnosis
from doctor.machine.model import Machine


class Checked(msgspec.Struct, frozen=True):
    """A judged machine.

    `document` is the machine as plain values, with what a newer version added. `origins` maps a dotted fact to what
    gave it, `seconds` a part of the doctor to its time; both are empty for a machine that was read from a document.
    `given` names the file that the machine was read from; None: it is the one that the doctor runs on, now.
    `with_root` is the command line that runs the same check as root, None where that would not help. `severities`
    tells of each rule the worst that it may say. `plan` is the install plan, None where no step of it can come next.
    """

    machine: Machine
    document: Mapping[str, Any]
    diagnosis: Diagnosis
    given: str | None = None
    only: frozenset[str] = frozenset()
    origins: Mapping[str, str] = {}
    seconds: Mapping[str, float] = {}
    with_root: str | None = None
    severities: Mapping[str, str] = {}
    plan: Plan | None = None
