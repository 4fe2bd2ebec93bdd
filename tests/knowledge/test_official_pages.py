"""The pages that people are sent to: addresses of those who publish the thing, and none twice."""

from __future__ import annotations

import pytest

from doctor.knowledge.official_pages import official_page, official_pages

OF_THE_PUBLISHERS = (
    "https://pytorch.org/",
    "https://rocm.docs.amd.com/",
    "https://learn.microsoft.com/",
    "https://docs.astral.sh/",
    "https://docs.conda.io/",
    "https://docs.python.org/",
)


def test_every_page_is_one_of_the_publisher() -> None:
    pages = official_pages().pages
    assert all(page.address.startswith(OF_THE_PUBLISHERS) and page.says for page in pages.values())
    assert len({page.address for page in pages.values()}) == len(pages)


def test_a_page_that_is_not_there_is_a_slip_of_the_pen() -> None:
    with pytest.raises(KeyError):
        official_page("amd-radio")
