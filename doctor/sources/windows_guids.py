"""GUIDs that are the same on every Windows: they say something of its settings and nothing of its owner.

Plans: Microsoft, "Power scheme personality" (read 2026-11-30); many machines have fewer, and a plan made from one of
them has a GUID of its own. Modes: the slider that Windows 10 and 11 lay over the plan; seen in many public programs
that read it, not documented by Microsoft.
"""

from __future__ import annotations

POWER_PLANS = {
    "381b4222-f694-41f0-9685-ff5bb260df2e": "balanced",
    "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "high-performance",
    "a1841308-3541-4fab-bc81-f71556f20b4a": "power-saver",
    "e9a42b02-d5df-448d-aa00-03f14749eb61": "ultimate",
}

POWER_MODES = {
    "00000000-0000-0000-0000-000000000000": "balanced",
    "961cc777-2547-4f9d-8174-7d86181b8a7a": "efficiency",
    "ded574b5-45a0-4f42-8737-46345c09c238": "performance",
}

#: The registry's class of graphics adapters.
DISPLAY_CLASS = "4d36e968-e325-11ce-bfc1-08002be10318"

PUBLIC_GUIDS = frozenset({*POWER_PLANS, *POWER_MODES, DISPLAY_CLASS})
