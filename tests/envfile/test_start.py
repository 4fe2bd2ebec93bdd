"""What `run` decides before it starts anything: names, traps, the mask."""

from __future__ import annotations

import pytest

from doctor.envfile.content import CPUS
from doctor.envfile.formats import FORMATS
from doctor.envfile.reading import EnvRead
from doctor.envfile.start import Refused, Start, start_of
from tests.envfile.contents import content_with

ALL = frozenset(range(8))


def by_hand(text: str) -> EnvRead:
    return FORMATS["dotenv"].read(text.encode())


def start(text: str, environ: dict[str, str] | None = None, own: frozenset[int] | None = ALL, *allow: str) -> Start:
    return start_of(by_hand(text), "x.env", environ or {}, own, allow)


def test_variables_are_laid_over_the_session() -> None:
    found = start("OMP_NUM_THREADS=8\n", {"OMP_NUM_THREADS": "1", "HOME": "/home/x"})
    assert found == Start({"OMP_NUM_THREADS": "8"})
    assert found.environment({"OMP_NUM_THREADS": "1", "HOME": "/home/x"}) == {"OMP_NUM_THREADS": "8", "HOME": "/home/x"}


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "MKL_VERBOSE_OUTPUT_FILE", "ROCM_PATH", "RANK", "TORCHINDUCTOR_X"]
)
def test_names_outside_the_list_are_refused(name: str) -> None:
    with pytest.raises(Refused, match=rf"{name} \(line 2\); nothing was started. To allow it: --allow {name}$"):
        start(f"OMP_NUM_THREADS=8\n{name}=x\n")
    assert start(f"{name}=x\n", {}, ALL, name).variables == {name: "x"}


def test_a_line_that_is_not_understood_stops_everything() -> None:
    with pytest.raises(Refused, match=r"^x\.env line 2: .*nothing was started"):
        start("OMP_NUM_THREADS=8\nhello world\n")
    quoted = FORMATS["docker"].read(b'OMP_NUM_THREADS="8"\n')
    assert any("will not take this" in note for note in start_of(quoted, "x.env", {}, ALL).notes)


@pytest.mark.parametrize(
    ("file", "session", "left"),
    [
        ("OMP_PROC_BIND=close", {}, {}),
        ("OMP_PROC_BIND=close\nOMP_PLACES=cores", {}, {}),
        ("", {"OMP_PROC_BIND": "TRUE"}, {}),
        ("", {"GOMP_CPU_AFFINITY": "0-7"}, {}),
        ("", {"KMP_AFFINITY": "granularity=fine,compact,1,0"}, {}),
        ("", {"OMP_PLACES": "{0}"}, {}),
        ("OMP_PROC_BIND=false", {"GOMP_CPU_AFFINITY": "0-7"}, {"OMP_PROC_BIND": "false", "GOMP_CPU_AFFINITY": "0-7"}),
        ("OMP_PROC_BIND=false", {"OMP_PLACES": "cores"}, {"OMP_PROC_BIND": "false", "OMP_PLACES": "cores"}),
        ("", {"KMP_AFFINITY": "disabled"}, {"KMP_AFFINITY": "disabled"}),
        ("", {"OMP_PLACES": ""}, {"OMP_PLACES": ""}),
    ],
)
def test_what_pins_import_torch_is_taken_out(file: str, session: dict[str, str], left: dict[str, str]) -> None:
    found = start(file, session)
    assert found.environment(session) == left
    traps = {name for name in (*session, *by_hand(file).variables) if name not in left}
    assert len(found.notes) == len(traps)
    assert all("import torch leaves" in note and "--allow" in note for note in found.notes)


def test_a_trap_stays_where_the_user_wants_it() -> None:
    assert start("OMP_PROC_BIND=close\n", {}, ALL, "OMP_PROC_BIND") == Start({"OMP_PROC_BIND": "close"})


@pytest.mark.parametrize(
    ("own", "cpus", "note"),
    [
        (ALL, "2-5", None),
        (frozenset({4, 5, 6}), "4-5", "the CPU mask is cut to 4-5: x.env says 2-5, and only 4-6 may be used here"),
        (frozenset({0, 1}), None, "the CPU mask is left aside: x.env says 2-5, and only 0-1 may be used here"),
        (None, None, "this system sets no CPU masks: AMD_DOCTOR_CPUS=2-5 is left aside"),
    ],
)
def test_the_mask_is_cut_to_what_is_allowed(own: frozenset[int] | None, cpus: str | None, note: str | None) -> None:
    found = start(f"{CPUS}=2-5\n", {CPUS: "7"}, own)
    assert (found.cpus, found.notes) == (cpus, (note,) if note else ())
    assert found.variables == {CPUS: "2-5"}


def test_the_mask_of_a_sourced_file() -> None:
    assert start_of(None, "", {CPUS: "0-3"}, ALL) == Start({}, cpus="0-3")
    assert start_of(None, "", {}, ALL) == Start({})


@pytest.mark.parametrize("value", ["all", "0-", "7-0", "0-99999999", "-1", "0,,1"])
def test_a_mask_that_cannot_be(value: str) -> None:
    with pytest.raises(Refused, match="nothing was started"):
        start(f"{CPUS}={value}\n")


def test_what_stands_as_a_comment_is_set_with_the_mask_only() -> None:
    with_mask = {"OMP_NUM_THREADS": "4", "MKL_DYNAMIC": None}
    content = content_with({CPUS: "0-3"}, variables={CPUS: "0-3"}, run_variables=with_mask)
    read = FORMATS["dotenv"].read(FORMATS["dotenv"].write(content))
    session = {"MKL_DYNAMIC": "false"}
    assert start_of(read, "x", session, ALL) == Start({CPUS: "0-3", "OMP_NUM_THREADS": "4"}, ("MKL_DYNAMIC",), "0-3")
    elsewhere = start_of(read, "x", session, frozenset({7}))
    assert (elsewhere.variables, elsewhere.removed) == ({CPUS: "0-3"}, ())
    assert any("OMP_NUM_THREADS and MKL_DYNAMIC are left as they are" in note for note in elsewhere.notes)


def test_evidence_brings_in_no_name_outside_the_list() -> None:
    """The evidence stands in a comment; a stranger may have written it."""
    for changes in ({"run_variables": {"LD_PRELOAD": "/evil.so"}}, {"variables": {"PATH": None}}):
        content = content_with({CPUS: "0-3"}, **changes)
        read = FORMATS["dotenv"].read(FORMATS["dotenv"].write(content))
        with pytest.raises(Refused, match=r"LD_PRELOAD|PATH"):
            start_of(read, "x", {"PATH": "/bin"}, ALL)


def test_what_a_format_cannot_take_out_run_does() -> None:
    content = content_with({"MKL_NUM_THREADS": None}, variables={"MKL_NUM_THREADS": None})
    read = FORMATS["docker"].read(FORMATS["docker"].write(content))
    assert read.variables == {}
    assert start_of(read, "x", {"MKL_NUM_THREADS": "1"}, ALL) == Start({}, ("MKL_NUM_THREADS",))


def test_a_value_that_its_readers_do_not_take_is_named() -> None:
    found = start("OMP_NUM_THREADS=eight\n")
    assert found.variables == {"OMP_NUM_THREADS": "eight"}
    assert found.notes == ("OMP_NUM_THREADS=eight: its readers take a number of threads, and will not take this",)
