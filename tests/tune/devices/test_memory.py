"""The carve-out: what the filling says, what the batch needs, what is advised, and when nothing is."""

from __future__ import annotations

import msgspec
import pytest

from doctor.machine.model import Gpu, Machine, Memory, Os, Torch, TorchDevice
from doctor.measure.units import Grown
from doctor.tune.devices.memory import IgpuFacts, IgpuMemory, Needed, igpu_facts, judged

MIB, GIB = 1 << 20, 1 << 30

#: 16 GiB of which 4 are carved out; Linux shares half of the rest.
LINUX = IgpuFacts("780M", "linux", carve_out_bytes=4 * GIB, shared_bytes=6 * GIB, ram_bytes=12 * GIB, pool="shared",
                  most_gib=11)
WINDOWS = msgspec.structs.replace(LINUX, system="windows", pool="both")
NEEDED = Needed(3 * GIB, "mlp train at 256")


def grown(held: int, dedicated: int | None, shared: int | None, ram: int | None = None) -> tuple[Grown, ...]:
    free = None if ram is None else 10 * GIB
    return (
        Grown(0, None if dedicated is None else 0, None if shared is None else 0, free),
        Grown(held, dedicated, shared, None if free is None or ram is None else free - ram),
    )


def advice(
    facts: IgpuFacts, rows: tuple[Grown, ...], needed: Needed | None = NEEDED, ended: str = "refused"
) -> IgpuMemory:
    return judged(facts, rows, ended, "no more", needed)  # type: ignore[arg-type]


def test_a_carve_out_that_rocm_leaves_unused_is_given_back() -> None:
    found = advice(LINUX, grown(6 * GIB, 0, 6 * GIB))
    assert found.carve_out_bytes == 512 * MIB and found.returned_bytes == 4 * GIB - 512 * MIB
    assert found.settings == (
        "in the firmware (BIOS), UMA frame buffer size: 512 MiB, or the next larger that it offers",
    )
    assert "shared part alone" in found.why
    assert (found.held_bytes, found.from_dedicated_bytes, found.from_shared_bytes) == (6 * GIB, 0, 6 * GIB)


def test_where_only_the_carve_out_gives_memory_it_has_to_hold_the_batch() -> None:
    small = msgspec.structs.replace(LINUX, carve_out_bytes=512 * MIB, ram_bytes=15 * GIB + 512 * MIB)
    found = advice(small, grown(512 * MIB, 512 * MIB, 0))
    assert found.carve_out_bytes == 4 * GIB, "3 GiB and a tenth do not fit into 2"
    assert found.returned_bytes == -(4 * GIB - 512 * MIB), "the CPU loses it"


def test_on_windows_the_shared_part_makes_up_for_what_is_carved_out() -> None:
    found = advice(WINDOWS, grown(9 * GIB, None, None, ram=5 * GIB))
    assert (found.from_dedicated_bytes, found.from_shared_bytes) == (4 * GIB, 5 * GIB)
    assert found.carve_out_bytes == 512 * MIB
    assert "Variable Graphics Memory: the step nearest above 512 MiB" in found.settings[0]


@pytest.mark.parametrize(("off", "dedicated"), [(20 * MIB, 0), (-20 * MIB, 0), (9 * GIB - 3 * MIB, 9 * GIB)])
def test_what_other_programs_moved_meanwhile_is_no_part(off: int, dedicated: int) -> None:
    found = advice(WINDOWS, grown(9 * GIB, None, None, ram=9 * GIB - off))
    assert (found.from_dedicated_bytes, found.from_shared_bytes) == (dedicated, 9 * GIB - dedicated)
    assert found.parts_are_estimate and not advice(LINUX, grown(GIB, 0, GIB, ram=GIB)).parts_are_estimate
    assert found.carve_out_bytes == 512 * MIB, "by the rules of the system: what nobody counts decides nothing"


def test_a_batch_beyond_the_shared_part_raises_its_limit_and_not_the_carve_out() -> None:
    found = advice(LINUX, grown(6 * GIB, 0, 6 * GIB), Needed(9 * GIB, "conv train at 1024"))
    assert found.carve_out_bytes == 512 * MIB
    assert found.settings[-1] == (
        "on the kernel's command line: ttm.pages_limit=2621440 ttm.page_pool_size=2621440"
    ), "10 GiB in pages of 4 KiB"


def test_more_than_three_quarters_of_the_memory_is_not_advised() -> None:
    found = advice(LINUX, grown(6 * GIB, 0, 6 * GIB), Needed(11 * GIB, "conv train at 4096"))
    assert found.carve_out_bytes is None and not found.settings and "a quarter" in found.why


def test_what_the_kernel_can_set_by_itself_is_said_so() -> None:
    board = msgspec.structs.replace(LINUX, options_bytes=(512 * MIB, 2 * GIB, 8 * GIB))
    assert "uma/carveout" in advice(board, grown(6 * GIB, 0, 6 * GIB)).settings[0]


def test_a_carve_out_that_is_right_stays() -> None:
    small = msgspec.structs.replace(LINUX, carve_out_bytes=512 * MIB, ram_bytes=15 * GIB)
    found = advice(small, grown(6 * GIB, 0, 6 * GIB))
    assert found.carve_out_bytes == 512 * MIB and found.returned_bytes == 0 and not found.settings


@pytest.mark.parametrize(
    ("facts", "rows", "needed", "ended"),
    [
        (msgspec.structs.replace(LINUX, carve_out_bytes=None), grown(GIB, 0, GIB), NEEDED, "refused"),
        (msgspec.structs.replace(LINUX, pool=None), (), NEEDED, "refused"),
        (LINUX, grown(GIB, 0, GIB), None, "refused"),
        (LINUX, grown(GIB, 0, GIB), NEEDED, "hung"),
    ],
)
def test_nothing_is_advised_where_something_is_unknown(
    facts: IgpuFacts, rows: tuple[Grown, ...], needed: Needed | None, ended: str
) -> None:
    found = advice(facts, rows, needed, ended)
    assert found.carve_out_bytes is None and not found.settings and found.why


def test_without_counters_the_rules_of_the_kernel_say_where_memory_comes_from() -> None:
    found = advice(LINUX, grown(6 * GIB, None, None))
    assert found.from_dedicated_bytes is None and found.carve_out_bytes == 512 * MIB


def test_the_facts_come_from_the_document() -> None:
    machine = Machine(
        os=Os(kind="linux", kernel="6.12.0", kernel_modules=("amdgpu", "ttm"), wsl=0),
        memory=Memory(total_bytes=12 * GIB),
        torch=Torch(hip="7.1", devices=(TorchDevice(total_memory_bytes=6 * GIB),)),
        gpus=(
            Gpu(vendor="amd", gfx="gfx1103", integrated=True, kernel_driver="amdgpu", hip_index=0,
                vram_total_bytes=4 * GIB, gtt_total_bytes=6 * GIB, carveout_options_bytes=(GIB, 4 * GIB)),
        ),
    )
    facts = igpu_facts(machine, "780M", "rocm")
    assert (facts.system, facts.pool) == ("linux", "shared")
    assert (facts.carve_out_bytes, facts.shared_bytes) == (4 * GIB, 6 * GIB)
    assert facts.options_bytes == (GIB, 4 * GIB) and facts.module == "ttm" and facts.most_gib == 11
    assert igpu_facts(machine, "780M", "directml").pool == "both"
