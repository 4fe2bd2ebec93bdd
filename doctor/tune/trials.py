"""What no variable of an env file sets, as planned: one trial per axis, in the order in which a budget takes them."""

from __future__ import annotations

import msgspec

#: The risk of all recommendations of a run together: half of the 1 % that a whole run may be wrong in.
FAMILY_ALPHA = 0.005

#: What is kept free of the memory that there is, or that the cgroup allows.
MEMORY_SHARE = 0.8


class Trial(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to compare with the setting that was chosen before.

    `in_process`: it is compared within one process, beside the base: a process costs seconds of import, a variant in it
    less than one. Where it belongs to a whole process (a variable, inter-op threads), processes are paired instead.
    `options` and `variables` come on top of the chosen setting, `base_options` on the base's side. `choices`: the
    options of alternatives, of which a search picks one. The batch size has neither: its search makes them up.
    `changes_numbers`: its answers may differ a little, and its loss is compared. `family_alpha`: how often any of the
    run's recommendations may be claimed wrongly.
    `may_pin`: it may take CPUs away from the process; that is told.
    """

    axis: str
    title: str
    workloads: tuple[str, ...]
    code: tuple[str, ...] = ()
    detail: str = ""
    in_process: bool = False
    options: dict[str, str] = {}
    base_options: dict[str, str] = {}
    variables: dict[str, str | None] = {}
    choices: tuple[dict[str, str], ...] = ()
    changes_numbers: bool = False
    family_alpha: float = FAMILY_ALPHA
    may_pin: bool = False
