"""From results of tune to contents: what is exported, what stands as a comment, what carries which gain."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.envfile.content import BATCH_SIZE, CPUS, EnvContent
from doctor.envfile.formats import FORMATS
from doctor.envfile.from_result import Provenance, content_of, provenance_of
from doctor.machine.document import parse_json, read_document
from doctor.measure.units import Setting
from doctor.measure.verdict import Verdict
from doctor.tune.arms import Arm
from doctor.tune.confirm import Confirmation
from doctor.tune.plan import Plan
from doctor.tune.recommendation import Recommendation
from doctor.tune.result import TuneResult
from doctor.tune.search import ArmReport
from tests.cli.running import MACHINES

HERE = Provenance("2026-11-30", "linux")
FASTER = Verdict("faster", 12, 0.241, 0.19, 0.293)
MORE = Verdict("faster", 12, 0.31, 0.25, 0.37)
SAME = Verdict("same", 12, 0.004, -0.01, 0.02)
SUBJECT = {"cpu": "AMD Ryzen 9 5950X", "torch": "2.13.0+cpu", "hardware": "3fa4b1c29e10", "driver": "none"}


def candidate(verdict: Verdict, variables: dict[str, str | None], cpus: str | None = None, **more: Any) -> Confirmation:
    setting = Setting(variables, cpus, more.pop("options", {}))
    return Confirmation(f"arm of {verdict.word}", setting, verdict, {"gemm-1024": verdict}, **more)


def result(*candidates: Confirmation, **more: Any) -> TuneResult:
    plan = Plan(1, more.pop("workloads", ("gemm-1024", "mlp-train")), (Arm("threads-8", Setting()),), subject=SUBJECT)
    known = {"ending": "confirmed", "units": 60, "spent_seconds": 120.0, **more}
    return TuneResult(plan=plan, candidates=candidates, **known)


def written(content: EnvContent) -> str:
    return FORMATS["dotenv"].write(content).decode()


def test_the_variables_alone() -> None:
    content = content_of(result(candidate(FASTER, {"OMP_NUM_THREADS": "8"})), {"OMP_NUM_THREADS": "1"}, HERE)
    (line,) = content.lines
    assert (line.value, line.confirmed, line.replaces, line.active) == ("8", True, "1", True)
    assert content.evidence.file is not None and content.evidence.file.gain == 0.241
    assert content.evidence.run is None
    text = written(content)
    assert "# replaces OMP_NUM_THREADS=1, set in this session\n# confirmed\nOMP_NUM_THREADS=8\n" in text
    assert "+24.1 % throughput (95 %: +19.0 to +29.3 %), 12 pairs" in text
    for told in ("gemm-1024, mlp-train", "2026-11-30", "AMD Ryzen 9 5950X, hardware 3fa4b1c29e10, torch 2.13.0+cpu"):
        assert told in text
    assert "driver" not in text.partition("evidence:")[0]


def test_of_several_lines_none_is_confirmed_by_itself() -> None:
    both = candidate(FASTER, {"OMP_NUM_THREADS": "8", "OMP_WAIT_POLICY": "active"})
    content = content_of(result(both), {}, HERE)
    assert [line.confirmed for line in content.lines] == [False, False]
    assert "# search estimate, not confirmed by itself\nOMP_WAIT_POLICY=active" in written(content)


def test_variables_and_mask_confirmed_apart() -> None:
    variables: dict[str, str | None] = {"OMP_NUM_THREADS": "8"}
    content = content_of(result(candidate(MORE, variables, "0-7"), candidate(FASTER, variables)), {}, HERE)
    assert content.variables == {"OMP_NUM_THREADS": "8", CPUS: "0-7"}
    assert content.evidence.file is not None and content.evidence.run is not None
    assert (content.evidence.file.gain, content.evidence.run.gain) == (0.241, 0.31)
    text = written(content)
    assert "These variables alone, as a sourced file gives them: +24.1 %" in text
    assert "With the CPU mask, as amd-doctor run --env FILE -- COMMAND sets it: +31.0 %" in text


def test_only_the_pair_with_the_mask() -> None:
    variables: dict[str, str | None] = {"OMP_NUM_THREADS": "8"}
    content = content_of(result(candidate(MORE, variables, "0-7"), candidate(SAME, variables)), {}, HERE)
    assert content.variables == {CPUS: "0-7"}
    assert content.evidence.run_variables == {"OMP_NUM_THREADS": "8"}
    text = written(content)
    assert "\n# OMP_NUM_THREADS=8\n" in text and "\nOMP_NUM_THREADS" not in text
    assert "Only with the CPU mask" in text and "arm of same: same, +0.4 % (95 %: -1.0 to +2.0 %), 12 pairs" in text


def test_a_mask_alone_is_confirmed() -> None:
    content = content_of(result(candidate(MORE, {}, "0-7")), {CPUS: "0-3"}, HERE)
    (line,) = content.lines
    assert (line.name, line.value, line.confirmed, line.replaces) == (CPUS, "0-7", True, "0-3")


def test_a_mask_that_adds_nothing_is_left_out() -> None:
    variables: dict[str, str | None] = {"OMP_NUM_THREADS": "8"}
    content = content_of(result(candidate(FASTER, variables, "0-7"), candidate(MORE, variables)), {}, HERE)
    assert content.variables == {"OMP_NUM_THREADS": "8"}
    assert "  CPU mask 0-7: it adds nothing to the variables" in content.tail


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"ending": "budget-too-small", "needed_seconds": 90.4}, "about 90 s would do"),
        ({"ending": "default-failed", "detail": "killed: SIGSEGV"}, "ended early: killed: SIGSEGV"),
        ({"ending": "nothing-to-try", "detail": "no setting differs"}, "ended early: no setting differs"),
    ],
)
def test_without_a_gain_there_are_comments_only(more: dict[str, Any], said: str) -> None:
    content = content_of(result(**more), {"OMP_NUM_THREADS": "1"}, HERE)
    assert content.lines == () and any("Nothing was shown to be faster" in text for text in content.head)
    assert said in written(content)
    assert all(not line or line.startswith("#") for line in written(content).split("\n"))


def test_what_was_tried_and_not_kept_stands_at_the_end() -> None:
    undecided = Verdict("undecided", 12, 0.06, -0.05, 0.2, needed_pairs=40)
    arms = (
        ArmReport("threads-8", "chosen", 4, -0.2),
        ArmReport("threads-16", "out", 2, -0.0202),
        ArmReport("threads-1", "failed", 1, detail="killed: SIGSEGV"),
        ArmReport("threads-4", "not-tried"),
    )
    text = written(content_of(result(candidate(undecided, {"OMP_NUM_THREADS": "8"}), arms=arms), {}, HERE))
    assert "undecided, +6.0 % (95 %: -5.0 to +20.0 %), 12 pairs; about 40 pairs would have decided it" in text
    assert "#   threads-16: +2.0 % in the search, an estimate\n" in text
    assert "#   threads-1: failed (killed: SIGSEGV)\n#   threads-4: not tried, the time was too short\n" in text
    assert "threads-8:" not in text


def test_a_candidate_that_slows_one_workload_is_not_exported() -> None:
    slower = Verdict("slower", 12, -0.1, -0.15, -0.05)
    one = msgspec.structs.replace(candidate(FASTER, {"OMP_NUM_THREADS": "8"}), by_workload={"a": FASTER, "b": slower})
    content = content_of(result(one), {}, HERE)
    assert content.lines == () and any("slower on b" in text for text in content.tail)


@pytest.mark.parametrize(
    "variables",
    [{"OMP_PROC_BIND": "close"}, {"GOMP_CPU_AFFINITY": "0-7"}, {"OMP_PLACES": "cores"}, {"KMP_AFFINITY": "compact"}],
)
def test_what_pins_import_torch_is_never_exported(variables: dict[str, str | None]) -> None:
    content = content_of(result(candidate(FASTER, {"OMP_NUM_THREADS": "8", **variables})), {}, HERE)
    assert content.lines == ()
    assert any("import torch leaves the process and its children on one CPU" in text for text in content.tail)


def test_what_needs_code_is_never_exported() -> None:
    bf16 = candidate(FASTER, {"OMP_NUM_THREADS": "8"}, options={"device": "cpu", "autocast": "bfloat16"})
    content = content_of(result(bf16), {}, HERE)
    assert content.lines == () and any("it needs code of yours (autocast)" in text for text in content.tail)
    plain = candidate(FASTER, {"OMP_NUM_THREADS": "8"}, options={"device": "cpu"})
    assert content_of(result(plain), {}, HERE).variables == {"OMP_NUM_THREADS": "8"}


def test_what_the_runtime_does_not_read_is_not_exported() -> None:
    machine = read_document(parse_json((MACHINES / "healthy-5950x.json").read_bytes())).machine
    provenance = provenance_of(machine, "2026-11-30")
    assert (provenance.system, machine.torch.openmp if machine.torch else None) == ("linux", "libgomp")
    variables: dict[str, str | None] = {"OMP_NUM_THREADS": "8", "KMP_BLOCKTIME": "0", "TORCH_LOOP_CORE_PINNING": "1"}
    content = content_of(result(candidate(FASTER, variables)), {}, provenance)
    assert content.variables == {"OMP_NUM_THREADS": "8"}
    assert "  TORCH_LOOP_CORE_PINNING=1: not written: nothing here reads it" in content.tail


def test_openblas_variables_only_where_numpy_was_timed() -> None:
    one = candidate(FASTER, {"OMP_NUM_THREADS": "8", "OPENBLAS_NUM_THREADS": "4"})
    assert content_of(result(one), {}, HERE).variables == {"OMP_NUM_THREADS": "8"}
    assert "OPENBLAS_NUM_THREADS" in content_of(result(one, workloads=("numpy-gemm",)), {}, HERE).variables
    assert "OPENBLAS_NUM_THREADS" in content_of(result(one, workloads=("command",)), {}, HERE).variables


def test_what_a_file_loads_needs_a_word_to_run() -> None:
    content = content_of(result(candidate(FASTER, {"LD_PRELOAD": "/usr/lib/libtcmalloc.so.4"})), {}, HERE)
    assert content.lines[0].note == "amd-doctor run sets it only with --allow LD_PRELOAD"


def test_a_variable_to_take_out() -> None:
    content = content_of(result(candidate(FASTER, {"MKL_NUM_THREADS": None})), {"MKL_NUM_THREADS": "1"}, HERE)
    assert content.variables == {"MKL_NUM_THREADS": None} and content.lines[0].replaces == "1"
    assert "\nunset MKL_NUM_THREADS\n" in FORMATS["sh"].write(content).decode()


def test_a_disturbed_run_says_so() -> None:
    one = result(candidate(FASTER, {"OMP_NUM_THREADS": "8"}), disturbances=("the clock was throttled",))
    assert "The run was disturbed" in written(content_of(one, {}, HERE))


def test_a_recommended_batch_size() -> None:
    measured = Recommendation("batch", "batch size 256", "measured", FASTER, variables={BATCH_SIZE: "256"})
    content = content_of(result(recommendations=(measured,)), {BATCH_SIZE: "64"}, HERE)
    assert content.variables == {BATCH_SIZE: "256"}
    assert content.lines[0].confirmed and content.lines[0].replaces == "64"
    assert "read by your own code" in written(content)
    assert "Nothing was shown to be faster" in written(content)
    failed = msgspec.structs.replace(measured, fate="failed")
    assert content_of(result(recommendations=(failed,)), {}, HERE).lines == ()


@pytest.mark.parametrize("format", FORMATS.values(), ids=lambda each: each.name)
def test_every_format_reads_back_what_was_decided(format: Any) -> None:
    variables: dict[str, str | None] = {"OMP_NUM_THREADS": "8"}
    pair = (candidate(MORE, variables, "0-7"), candidate(SAME, variables))
    for candidates in (pair, pair[1:], (candidate(FASTER, variables),), ()):
        content = content_of(result(*candidates), {"OMP_NUM_THREADS": "1"}, HERE)
        read = format.read(format.write(content))
        assert (read.variables, read.evidence, read.problems) == (content.variables, content.evidence, ())


def test_text_from_outside_cannot_leave_its_comment() -> None:
    arms = (ArmReport("threads-1", "failed", 1, detail="line one\nPATH=/evil\r\n\x1b[31m \\"),)
    for format in FORMATS.values():
        content = content_of(result(arms=arms), {}, HERE)
        assert format.read(format.write(content)).variables == {}
