from __future__ import annotations

import csv
from pathlib import Path

from packaging.version import Version

from doctor.knowledge.python_support import python_support, wheels_for


def test_platforms_are_found_by_what_a_python_says_of_itself() -> None:
    windows = wheels_for("windows", "AMD64")
    assert windows is not None and windows["cp313t"] == ("2.7.0", "2.12.0")
    assert wheels_for("linux", "x86_64") is not None
    assert wheels_for("windows", "ARM64") is None
    assert wheels_for("haiku", "x86_64") is None


def test_tags_ascend_and_so_do_releases() -> None:
    for tags in python_support().platforms.values():
        order = [(int(tag[2:].rstrip("t")[1:]) + 100 * int(tag[2]), tag.endswith("t")) for tag in tags]
        assert order == sorted(order)
        assert all(Version(first) <= Version(last) for first, last in tags.values())


def test_the_table_says_what_the_file_lists_say(shared: Path) -> None:
    seen: dict[str, dict[str, list[Version]]] = {}
    with (shared / "knowledge" / "python_support.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for tag in row["pypi_python_tags"].split():
                if "-" not in tag:
                    seen.setdefault(row["platform"], {}).setdefault(tag, []).append(Version(row["torch_version"]))
    found = {
        platform: {tag: (str(min(releases)), str(max(releases))) for tag, releases in tags.items()}
        for platform, tags in seen.items()
    }
    assert python_support().platforms == found
