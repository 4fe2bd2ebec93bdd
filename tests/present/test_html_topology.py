"""The picture of the cores: everything is there once, nothing covers anything, sizes are to scale."""

from __future__ import annotations

from itertools import combinations

import pytest

from doctor.present.clusters import clusters_of
from doctor.present.html_tiles import MOST_NUMBERED, Tile
from doctor.present.html_topology import topology_picture
from tests.present.pictured import MACHINES, machine

_DRAWN = {name: each for name, each in MACHINES.items() if topology_picture(each).panels}


def _tiles(name: str) -> list[Tile]:
    return [tile for panel in topology_picture(MACHINES[name]).panels for tile in panel.tiles]


@pytest.mark.parametrize("name", _DRAWN)
def test_every_cpu_is_drawn_once(name: str) -> None:
    cpu = MACHINES[name].cpu
    assert cpu is not None
    drawn = [thread.number for tile in _tiles(name) for box in tile.cores for thread in box.threads]
    assert sorted(drawn) == sorted(number for cluster in clusters_of(cpu) for number in cluster.cpus)


@pytest.mark.parametrize("name", _DRAWN)
def test_nothing_covers_anything_and_nothing_leaves_its_tile(name: str) -> None:
    for tile in _tiles(name):
        for box in tile.cores:
            assert box.x >= 0 and box.x + box.width <= tile.width
            assert box.y >= 0 and box.y + box.height <= tile.height
        for one, other in combinations(tile.cores, 2):
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            above = one.y + one.height <= other.y or other.y + other.height <= one.y
            assert beside or above
        if tile.l3:
            assert tile.bar_y >= max(box.y + box.height for box in tile.cores)
            assert tile.bar + 8 <= tile.width


@pytest.mark.parametrize("name", _DRAWN)
def test_a_tile_fits_a_phone(name: str) -> None:
    assert max(tile.width for tile in _tiles(name)) <= 320


def test_caches_are_to_scale_also_where_tiles_differ_in_width() -> None:
    large, small = _tiles("7950x3d")
    assert (large.l3, small.l3) == ("96 MiB L3", "32 MiB L3")
    assert large.bar == pytest.approx(3 * small.bar, abs=0.01)
    narrow, wide = _tiles("hx370")
    assert narrow.width < wide.width
    assert narrow.bar == pytest.approx(2 * wide.bar, abs=0.01)


def test_384_cpus_are_small_tiles_in_two_packages() -> None:
    picture = topology_picture(MACHINES["9654-dual"])
    assert [panel.heading for panel in picture.panels] == ["Package 0, NUMA node 0", "Package 1, NUMA node 1"]
    assert [len(panel.tiles) for panel in picture.panels] == [12, 12]
    tile = picture.panels[1].tiles[0]
    assert not tile.numbered
    assert tile.cpus == "96-103, 288-295"
    assert tile.title == "CCX 12: 32 MiB L3, 8 cores, CPUs 96-103,288-295"
    assert tile.width * tile.height < 12_000


def test_numbers_stand_in_the_cores_as_long_as_there_are_few() -> None:
    few = topology_picture(machine("x", [(8, 32)] * (MOST_NUMBERED // 8)))
    many = topology_picture(machine("x", [(8, 32)] * (MOST_NUMBERED // 8 + 1)))
    assert few.panels[0].tiles[0].numbered
    assert not many.panels[0].tiles[0].numbered


def test_kinds_are_marked_where_they_differ() -> None:
    performance, efficiency = _tiles("hx370")
    assert {box.mark for box in performance.cores} == {"P"}
    assert {box.kind for box in efficiency.cores} == {"efficiency"}
    assert topology_picture(MACHINES["hx370"]).legend == ("smt", "performance", "efficiency", "cache")
    assert {box.mark for box in _tiles("7950x3d")[0].cores} == {""}
    one = _tiles("one-l3-two-kinds")[0]
    assert one.title.startswith("CCX 0: 16 MiB L3, 4 performance cores and 4 efficiency cores")


def test_what_the_process_may_not_use_is_marked_and_said() -> None:
    picture = topology_picture(MACHINES["some-outside"])
    tile = picture.panels[0].tiles[0]
    unusable = {thread.number for box in tile.cores for thread in box.threads if not thread.usable}
    assert unusable == {4, 5, 6, 7, 12, 13, 14, 15}
    assert tile.title.endswith("8 of 16 usable")
    assert "outside" in picture.legend
    assert picture.notes == (
        "This process may not use 8 CPUs: 4-7,12-15.",
        "This process gets the time of 2 CPUs, whichever they are (cgroup quota 2.5 CPUs).",
    )
    assert picture.rows[0].usable == "8 of 16 usable"


def test_the_table_says_the_same() -> None:
    picture = topology_picture(MACHINES["2990wx"])
    assert len(picture.rows) == 8
    assert picture.rows[0].node == "0"
    assert (picture.rows[0].l3, picture.rows[0].cores) == ("8 MiB", "4 cores")
    (package,) = picture.panels
    assert package.heading == ""
    assert [group.heading for group in package.groups][:2] == [
        "NUMA node 0, 32 GiB RAM", "NUMA node 1, no memory of its own",
    ]  # fmt: skip


def test_what_is_not_known_is_said_and_not_drawn() -> None:
    assert topology_picture(MACHINES["nothing"]).panels == ()
    assert "is not known" in topology_picture(MACHINES["nothing"]).caption
    loose = topology_picture(MACHINES["threads-unknown"])
    assert loose.legend == ("cpu", "cache")
    assert loose.notes == ("Which CPUs are threads of one core is not known.",)
    without = loose.panels[0].tiles[1]
    assert (without.l3, without.bar) == ("L3, size not known", 0)
    assert not topology_picture(MACHINES["one-cpu"]).panels[0].tiles[0].l3
