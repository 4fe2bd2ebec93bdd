"""Everything that goes into a report, as one value that the Markdown, the text, the JSON and the page are made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from doctor.present.checked import Checked

if TYPE_CHECKING:
    from doctor.tune.result import SavedResult


class Reported(msgspec.Struct, frozen=True):
    """A judged machine that may be shown to others.

    `checked` is about the machine without what a report leaves out (`doctor.present.report_machine`). `removed` counts
    the different values of each kind that were taken out when the facts were read: `{"user": 1, "uuid": 2}`. `tune` is
    the last result of `tune` on this very machine. `today` is the day on which the report was made, ISO 8601.
    """

    checked: Checked
    today: str
    packages_left_out: int = 0
    kernel_parameters_left_out: int = 0
    removed: Mapping[str, int] = {}
    tune: SavedResult | None = None
