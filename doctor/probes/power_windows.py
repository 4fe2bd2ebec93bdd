"""Mains or battery, and the power plan of a Windows machine."""

from __future__ import annotations

from doctor.machine.model import Power
from doctor.probes.found import Found, unknown
from doctor.sources.base import Json, Missing, Source
from doctor.sources.windows_guids import POWER_MODES, POWER_PLANS

SCHEMES_KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"

#: A plan made from a built-in one (`powercfg -duplicatescheme`) has a new GUID and keeps the name. Names are
#: translated: on a Windows in another language such a plan is "other".
_NAMES = {
    "balanced": "balanced",
    "high performance": "high-performance",
    "power saver": "power-saver",
    "ultimate performance": "ultimate",
}


def probe(source: Source) -> Found:
    battery = source.api("battery")
    plugged = battery.get("plugged") if isinstance(battery, dict) else None
    supply = {True: "ac", False: "battery"}.get(plugged) if isinstance(plugged, bool) else None
    plan = _plan(source)
    mode = _mode(source, supply) if plan == "balanced" else None
    unknowns = []
    if isinstance(battery, Missing):
        unknowns.append(unknown("power.source", battery))
    if isinstance(plan, Missing):
        unknowns.append(unknown("power.plan", plan))
    return Found(
        facts={"power": Power(source=supply, plan=None if isinstance(plan, Missing) else plan, mode=mode)},
        unknowns=tuple(unknowns),
        origins={
            "power.source": "GetSystemPowerStatus",
            "power.plan": "PowerGetActiveScheme, else the registry",
            "power.mode": SCHEMES_KEY,
        },
    )


def _plan(source: Source) -> str | Missing:
    """The active plan by its GUID, else by its English name, else "other"."""
    answer: Json | Missing = source.api("power-scheme")
    if not isinstance(answer, dict):
        guid = source.registry(SCHEMES_KEY, "ActivePowerScheme")
        if isinstance(guid, Missing):
            return answer if isinstance(answer, Missing) else guid
        answer = {"guid": guid}
    guid, name = _guid(answer.get("guid")), str(answer.get("name") or "").strip().lower()
    if not guid:
        return Missing("probe-failed", "the active power plan has no GUID")
    return POWER_PLANS.get(guid) or _NAMES.get(name) or "other"


def _mode(source: Source, supply: str | None) -> str | None:
    """The power mode that holds now; on a machine that never had it set there is none. It lies over the plan Balanced
    only: beside another one the registry may still hold what was chosen before."""
    if supply is None:
        return None
    value = "ActiveOverlayDcPowerScheme" if supply == "battery" else "ActiveOverlayAcPowerScheme"
    answer = source.registry(SCHEMES_KEY, value)
    return POWER_MODES.get(_guid(answer)) if isinstance(answer, str) else None


def _guid(value: object) -> str:
    return str(value or "").strip().strip("{}").lower()
