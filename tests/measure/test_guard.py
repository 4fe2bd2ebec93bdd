"""What counts as a disturbance, and which ones a setting may have brought on by itself."""

from __future__ import annotations

import pytest

from doctor.measure.guard import disturbances, in_words
from doctor.measure.units import Readings

BUSY = Readings(other_load_share=0.11, other_processes=("make", "chrome", "python3", "sshd"))


@pytest.mark.parametrize(
    ("readings", "kind", "told"),
    [
        (Readings(clock_mhz=(4500.0, 3800.0, 4400.0)), "throttled", "the clock fell from 4500 to 3800 MHz"),
        (Readings(throttle_events=3), "throttled", "3 throttling events"),
        (Readings(temperature_celsius=90.0), "hot", "the CPU was at 90 °C"),
        (Readings(steal_share=0.021), "steal", "the host took 2% of the CPU time for others"),
        (BUSY, "busy", "other processes used 11% of the CPUs: make, chrome, python3"),
        (Readings(other_load_share=0.2), "busy", "other processes used 20% of the CPUs"),
        (Readings(power_source="battery"), "battery", "on battery"),
        (Readings(power_saver=True), "power-saver", "power saver is on"),
    ],
)
def test_each_disturbance_is_told_in_words(readings: Readings, kind: str, told: str) -> None:
    (found,) = disturbances(readings)
    assert found.kind == kind and told in found.detail


@pytest.mark.parametrize(
    "readings",
    [
        Readings(),
        Readings(clock_mhz=(4500.0, 3830.0)),
        Readings(clock_mhz=(4500.0,)),
        Readings(clock_mhz=(0.0, 4500.0, 4400.0)),
        Readings(temperature_celsius=89.9, steal_share=0.02, other_load_share=0.10, throttle_events=0),
        Readings(power_source="ac", power_saver=False),
    ],
)
def test_what_is_unknown_or_within_the_limits_disturbs_nothing(readings: Readings) -> None:
    assert disturbances(readings) == ()


def test_only_what_comes_from_outside_may_be_left_out() -> None:
    from_outside = [
        *disturbances(BUSY),
        *disturbances(Readings(power_source="battery", power_saver=True)),
    ]
    of_its_own = disturbances(Readings(throttle_events=1, temperature_celsius=99.0, steal_share=0.5))
    assert [found.external for found in from_outside] == [True] * 3
    assert [found.external for found in of_its_own] == [False] * 3


def test_a_kind_is_told_once() -> None:
    many = [*disturbances(BUSY), *disturbances(Readings(other_load_share=0.5)), *disturbances(Readings(steal_share=1))]
    assert in_words(many) == (
        "other processes used 11% of the CPUs: make, chrome, python3",
        "the host took 100% of the CPU time for others",
    )
