from __future__ import annotations

import csv
from pathlib import Path

from doctor.knowledge.directml import directml_release, directml_table, last_directml_release
from doctor.knowledge.windows_drivers import driver_fault, driver_table


def test_every_release_is_as_its_files_and_metadata_say(shared: Path) -> None:
    with (shared / "knowledge" / "directml_versions.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["version"] for row in rows} == {release.version for release in directml_table().rows}
    for row in rows:
        release = directml_release(row["version"])
        assert release is not None
        tags = release.windows if row["platform_group"] == "win_amd64" else release.linux
        assert tags == tuple(row["python_tags"].split())
        pins = row["requires_dist"].replace("(", "").replace(")", "").replace(" ", "").split(";")
        wanted = [f"torch=={release.torch}", f"torchvision=={release.torchvision}"] if release.torch else [""]
        assert pins == wanted


def test_releases_are_in_the_order_of_their_dates() -> None:
    dates = [release.released for release in directml_table().rows]
    assert dates == sorted(dates)
    for release in directml_table().rows:
        assert release.version.endswith(release.released.replace("-", "")[2:])
    assert last_directml_release().version == "0.2.5.dev240914"


def test_a_release_that_is_not_listed_is_unknown() -> None:
    assert directml_release("0.2.6.dev250101") is None
    assert directml_release(None) is None
    release = last_directml_release()
    assert (release.tags("windows"), release.tags("macos")) == (release.windows, ())


def test_drivers_are_known_by_release_and_generation() -> None:
    assert driver_table().rows
    for release, family, known in (
        ("26.1.1", "RDNA 2", True),
        ("26.3.1", "RDNA 2", True),
        ("26.2.2", "RDNA 2", True),
        ("25.12.1", "RDNA 2", False),
        ("26.3.2", "RDNA 2", False),
        ("26.1.1", "RDNA 3", False),
        ("Radeon Pro", "RDNA 2", False),
    ):
        assert (driver_fault(release, family) is not None) is known, (release, family)
