"""The rows of the knowledge tables that a plan rests on, with the date and the source of each, and where they end."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.derive.gfx_support import covered
from doctor.derive.plan_model import LookUp, TableRow
from doctor.derive.versions import parsed
from doctor.derive.wheels import WheelSource
from doctor.knowledge.directml import DirectmlRelease, directml_table
from doctor.knowledge.gfx import Override, gfx_row, gfx_table, wheel_table
from doctor.knowledge.official_pages import OfficialPage, official_page, official_pages
from doctor.knowledge.python_support import python_support
from doctor.knowledge.rocm_wheels import rocm_wheels


def wheel_rows(source: WheelSource, gfx: str) -> tuple[TableRow, ...]:
    """The row that proves an index, and the one that proves its code for the target."""
    wheels, table, row = rocm_wheels(), gfx_table(), gfx_row(gfx)
    pythons = f"Python {source.first_python} to {source.last_python}"
    amd = wheels.amd
    if source.index_url == amd.index and row is not None:
        index = f"{amd.index}: torch {amd.torch[0]} to {amd.torch[1]}, {pythons}, {' and '.join(amd.systems)}"
        return (
            TableRow("rocm_wheels", index, wheels.date, first_clause(wheels.sources["amd"])),
            TableRow("gfx", f"{gfx}: torch[{row.amd_extra}]", table.date, first_clause(table.sources["amd_extra"])),
        )
    arch, releases = wheel_table(), [each.torch for each in wheels.pytorch if each.index == source.index_url]
    proven = [each.torch for each in arch.rows if each.certain and each.torch in releases and covered(gfx, each.archs)]
    index = f"{source.index_url}: torch {span(releases)}, {pythons}"
    return (
        TableRow("rocm_wheels", index, wheels.date, first_clause(wheels.sources["pytorch"])),
        TableRow("rocm_arch", f"torch {span(proven)}: {gfx}", arch.date, first_clause(arch.source)),
    )


def override_row(gfx: str, override: Override) -> TableRow:
    table = gfx_table()
    row = f"{gfx}: HSA_OVERRIDE_GFX_VERSION={override.version} {override.verdict}, by reports of users"
    return TableRow("gfx", row, table.date, table.sources["override"])


def directml_row(release: DirectmlRelease) -> TableRow:
    table = directml_table()
    pythons = f"{release.windows[0]} to {release.windows[-1]}"
    row = f"{release.version}: torch {release.torch}, torchvision {release.torchvision}, {pythons}"
    return TableRow("directml", row, table.date, table.sources["releases"])


def page_row(page: OfficialPage) -> TableRow:
    return TableRow("official_pages", page.says, official_pages().date, page.address)


def plain_row(index_url: str) -> TableRow:
    """The row behind a build for the CPU."""
    wheels = rocm_wheels()
    text = f"{index_url}: without CUDA, of which the wheels of PyPI for Linux bring several GB"
    return TableRow("rocm_wheels", text, wheels.date, first_clause(wheels.sources["plain"]))


def python_row(platform: str, tag: str, releases: tuple[str, str]) -> TableRow:
    """The row behind a Python that torch has wheels for."""
    support = python_support()
    row = f"{platform}, {tag}: torch {releases[0]} to {releases[1]}"
    return TableRow("python_support", row, support.date, first_clause(support.source))


def first_clause(source: str) -> str:
    """The source itself, without what a table adds to it behind a semicolon."""
    return source.partition(";")[0]


def last_on_index(index_url: str) -> str:
    """The last release of torch on an index of download.pytorch.org, as far as the tables know."""
    return [row.torch for row in rocm_wheels().pytorch if row.index == index_url][-1]


def last_on_pytorch_org() -> str:
    """The last release of torch with an index for ROCm in the tables."""
    return [row.torch for row in rocm_wheels().pytorch if row.index is not None][-1]


def later_releases(of_amd: bool) -> tuple[LookUp, ...]:
    """Releases that exist and that the tables have no index for."""
    if of_amd:
        later = rocm_wheels().amd.later
        page = official_page("amd-pytorch").address
        return (LookUp(f"AMD's wheels of {later}: their index is not in the tables", page),) if later else ()
    known, newest = parsed(last_on_pytorch_org()), _newest_torch()
    if known is None or newest is None or newest <= known.release[:2]:
        return ()
    between = span([f"{known.major}.{minor}" for minor in range(known.minor + 1, newest[1] + 1)])
    what = f"ROCm builds of torch {between}: their index is not in the tables"
    return (LookUp(what, official_page("pytorch").address),)


def _newest_torch() -> tuple[int, ...] | None:
    """Major and minor of the newest release on PyPI, as far as the tables know."""
    lasts = (parsed(until) for _, until in python_support().platforms["linux_x86_64"].values())
    return max((version.release[:2] for version in lasts if version is not None), default=None)


def span(releases: Sequence[str]) -> str:
    """`2.11 to 2.13`."""
    ordered = list(dict.fromkeys(releases))
    if not ordered:
        return "of no release"
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
