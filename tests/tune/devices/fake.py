"""The simulated devices of `scripts/simulated`, under the names that the tests know them by."""

from __future__ import annotations

from scripts.simulated.devices import ANSWER, OWN_SIZES, FakeDevices, Model

__all__ = ["ANSWER", "OWN_SIZES", "FakeDevices", "Model"]
