"""One installed package, as `pip list`, `pip freeze` and `conda list` name it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

#: A list that was cut at the end of a line looks like a whole one. What is asked for ends with `triton-…`: a list that
#: goes on beyond that holds all of it.
_FAR_ENOUGH = "ty"
_FEWEST = 8


class ListedPackage(msgspec.Struct, frozen=True):
    """`name` as it is listed. `build` and `channel` are conda's; `pypi` is the channel of what pip installed there."""

    name: str
    version: str
    build: str | None = None
    channel: str | None = None

    @property
    def normal_name(self) -> str:
        """The name in pip's own spelling: lower case, dashes."""
        return normalised(self.name)


def normalised(name: str) -> str:
    """`pytorch_triton_rocm` as `pytorch-triton-rocm`. Names that only conda has begin with `_`, and keep it."""
    return name.lower() if name.startswith("_") else re.sub(r"[-_.]+", "-", name).lower()


def sorted_far_enough(packages: Sequence[ListedPackage]) -> bool:
    """Are the rows in order, and do they go on beyond every name that is asked for?"""
    if len(packages) < _FEWEST:
        return False
    spelled, normal = ([key(package) for package in packages] for key in (_lower, _normal))
    in_order = spelled == sorted(spelled) or normal == sorted(normal)
    return in_order and max(normal) >= _FAR_ENOUGH


def _lower(package: ListedPackage) -> str:
    return package.name.lower()


def _normal(package: ListedPackage) -> str:
    return package.normal_name
