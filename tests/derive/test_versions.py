from __future__ import annotations

import pytest

from doctor.derive.versions import direction, parsed, release_below


@pytest.mark.parametrize(
    ("text", "bound", "below"),
    [
        ("2.2.2+cpu", (2, 3), True),
        ("2.3.0", (2, 3), False),
        ("2.3", (2, 3, 0), False),
        ("2.10.0", (2, 9), False),
        ("2.11.0.dev20260215+cpu", (2, 11), False),
        ("0.3.31.188", (0, 3, 30), False),
        ("0.3.9", (0, 3, 30), True),
        ("none", (1,), None),
        ("", (1,), None),
        (None, (1,), None),
        ("git7ce932a", (1,), None),
    ],
)
def test_releases_have_an_order_and_what_is_no_version_has_none(
    text: str | None, bound: tuple[int, ...], below: bool | None
) -> None:
    assert release_below(text, bound) is below
    assert (parsed(text) is None) == (below is None)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("2.9.1", "2.10.0", "up"),
        ("2.10.0", "2.9.1", "down"),
        ("2.9.1+rocm6.4", "2.10.0+cpu", "up"),
        ("2.9.1+rocm6.4", "2.9.1+cpu", "build"),
        ("2.9.1", "2.9.1+cu128", "build"),
        ("0.2.5.dev240914", "0.2.4.dev240913", "down"),
        ("6.1.0-18-amd64", "6.1.0-21-amd64", "up"),
        ("6.8.0-49-generic", "6.11.0-8-generic", "up"),
        ("6.18.44-fc-v595", "6.18.44-fc-v600", "build"),
        ("31.0.24033.1003", "31.0.21912.14", "down"),
        ("6.4.43482-0f2d60242", "6.4.43484-123eb5128", "up"),
        ("0x83", "0x7f", "down"),
        ("none", "12.8", None),
        ("2.9.1", "none", None),
        ("2.9.1", "2.9.1", None),
        ("git7ce932a", "git0000000", None),
        ("", "1", None),
    ],
)
def test_a_version_moves_up_or_down_or_is_another_build(before: str, after: str, moved: str | None) -> None:
    assert direction(before, after) == moved
    opposite = {"up": "down", "down": "up"}.get(moved or "", moved)
    assert direction(after, before) == opposite
