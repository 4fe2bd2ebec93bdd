"""Whether gradients and weights on a device are those of the CPU."""

from __future__ import annotations

from doctor.measure.units import DeviceCheck

#: A gradient may differ by this share of its parameter's largest: another order of the sums, twenty times over.
GRADIENT_TOLERANCE = 0.02
#: A difference that is no number is told as this (`device_checks.py`).
_NO_NUMBER = 1e29


def is_off(check: DeviceCheck) -> bool:
    return check.gradients_off is not None and check.gradients_off > GRADIENT_TOLERANCE


def wrong_training(check: DeviceCheck) -> str | None:
    """What is wrong with a training step there; None where nothing is, or nothing was looked at."""
    if check.without_gradient:
        return f"{check.without_gradient} of {check.parameters} weights get no gradient"
    if is_off(check):
        off = check.gradients_off or 0.0
        return "gradients are no numbers" if off >= _NO_NUMBER else f"gradients are off by {off:.2g} of their largest"
    if check.still:
        return f"a step leaves {check.still} of {check.parameters} weights as they were"
    return None
