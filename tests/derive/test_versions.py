from __future__ import annotations

import pytest

from doctor.derive.versions import parsed, release_below


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
