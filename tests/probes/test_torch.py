"""PyTorch as its files and its exercises tell it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.machine.model import Library, Machine, Torch
from doctor.probes.collect import collect
from doctor.probes.libraries import package_of
from doctor.probes.torch import probe
from doctor.sources.recording import RecordingSource

SITE = "~/venv/lib/python3.12/site-packages"
VERSION_FILE = "__version__ = '2.13.0+cpu'\ndebug = False\ncuda = None\ngit_version = 'cf30'\nhip = None\n"

CONFIG = """PyTorch built with:
  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - CPU capability usage: AVX2
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, USE_MKL=ON, 
"""
PARALLEL = "ATen/Parallel:\n\tat::get_num_threads() : 16\n\tat::get_num_interop_threads() : 8\n"

OPENBLAS = {
    "user_api": "blas",
    "internal_api": "openblas",
    "num_threads": 32,
    "prefix": "libscipy_openblas",
    "filepath": f"{SITE}/numpy.libs/libscipy_openblas64_-32a4b2a6.so",
    "version": "0.3.31",
    "threading_layer": "pthreads",
    "architecture": "Zen",
}
GOMP = {
    "user_api": "openmp",
    "internal_api": "openmp",
    "num_threads": 16,
    "prefix": "libgomp",
    "filepath": f"{SITE}/torch/lib/libgomp.so.1",
    "version": None,
}


def interpreter(**changes: Any) -> dict[str, Any]:
    return {
        "version": "3.12.3",
        "torch": {
            "origin": f"{SITE}/torch/__init__.py",
            "version_file": VERSION_FILE,
            "libraries": ["libc10.so", "libgomp.so.1", "libtorch_cpu.so"],
        },
        "packages": [{"name": "torch", "version": "2.13.0+cpu", "location": SITE, "installer": "pip"}],
        **changes,
    }


def end(name: str, outcome: str = "ok", detail: str | None = None, **facts: Any) -> dict[str, Any]:
    return {"event": "end", "name": name, "outcome": outcome, "detail": detail, "seconds": 0.25, "facts": facts}


def cpu(**changed: dict[str, Any]) -> dict[str, Any]:
    """The exercises of a healthy machine, single steps replaced (`matmul=end(...)`, `-` as `_`)."""
    ends = [
        end("affinity-before-import", cpus="0-31"),
        end("import-torch", version="2.13.0+cpu", import_seconds=1.4, warnings=[]),
        end("affinity-after-import", cpus="0-31"),
        end("threads", num_threads=16, interop_threads=8),
        end("cpu-capability", capability="AVX2", capabilities={"avx2": True, "avx512_f": False, "sse4_1": True}),
        end("build", version="2.13.0+cpu", cuda=None, hip=None, config=CONFIG, parallel_info=PARALLEL),
        end("import-numpy", version="2.4.6"),
        end("libraries", threadpools=[OPENBLAS, GOMP], mapped=[OPENBLAS["filepath"], GOMP["filepath"]]),
        end("matmul", relative_error=1e-7),
        end("conv", relative_error=1e-7),
        end("conv1x1", relative_error=1e-7),
        end("dtype-bf16", relative_error=0.004, float32_seconds=0.002, bfloat16_seconds=0.1),
        end("train-step", losses=[0.6, 0.4, 0.2]),
        end("numpy-bridge"),
        end("affinity-of-threads", threads=["0-31"]),
        end("is-available", is_available=False),
    ]
    replaced = {name.replace("_", "-"): event for name, event in changed.items()}
    known = {event["name"] for event in ends}
    ends = [replaced.get(event["name"], event) for event in ends]
    ends += [event for name, event in replaced.items() if name not in known]
    events = [both for event in ends for both in ({"event": "begin", "name": event["name"]}, event)]
    return {"device": "cpu", "events": events, "children": []}


def died_at_import(outcome: str, detail: str) -> dict[str, Any]:
    first = end("import-torch", outcome, detail)
    rest = [end(name, "skipped", "PyTorch was not imported") for name in ("threads", "matmul", "is-available")]
    return {"device": "cpu", "events": [{"event": "begin", "name": "import-torch"}, first, *rest], "children": []}


def machine(told: dict[str, Any] | None = None, ran: dict[str, Any] | None = None, **parts: Any) -> Machine:
    exercises = {"interpreter": told or interpreter(), **({"cpu": ran} if ran else {})}
    source = RecordingSource({"exercises": exercises, "env": {}, **parts}, "test")
    collected = collect(source, (("torch", probe),))
    assert collected.crashed == ()
    return collected.machine


def unknown(found: Machine) -> dict[str, str]:
    return {row.fact: row.reason for row in found.unknowns or ()}


def test_a_healthy_machine_says_everything() -> None:
    found = machine(ran=cpu())
    assert found.torch == Torch(
        installed=True,
        version="2.13.0+cpu",
        hip="none",
        cuda="none",
        build="cpu",
        importable=True,
        import_error="none",
        import_seconds=1.4,
        is_available=False,
        cpu_capability="AVX2",
        num_threads=16,
        interop_threads=8,
        default_num_threads=16,
        blas="mkl",
        blas_version="2024.2",
        openmp="libgomp",
        onednn="3.12.0",
        bundles=("libgomp.so.1",),
    )
    assert found.limits is not None and found.limits.affinity_cpus_after_torch_import == 32
    assert found.measurements is not None and found.measurements.dtype is not None
    assert found.measurements.dtype.bfloat16_seconds == 0.1
    assert found.unknowns == ()


def test_exercises_are_rows_and_questions_are_not() -> None:
    found = machine(ran=cpu())
    assert [row.name for row in found.exercises or ()] == [
        "import-torch",
        "matmul",
        "conv",
        "conv1x1",
        "dtype-bf16",
        "train-step",
        "numpy-bridge",
    ]
    assert {(row.device, row.outcome, row.detail, row.seconds) for row in found.exercises or ()} == {
        ("cpu", "ok", None, 0.25)
    }


def test_without_torch_everything_else_stays_open() -> None:
    found = machine(interpreter(torch=None, packages=[{"name": "numpy", "version": "2.4.6"}]))
    assert found.torch == Torch(installed=False)
    assert found.exercises == ()
    assert found.libraries is None
    assert found.unknowns == ()


def test_a_left_over_record_is_an_installed_torch_that_does_not_import() -> None:
    ran = died_at_import("exception", "ModuleNotFoundError: No module named 'torch'")
    found = machine(interpreter(torch=None), ran)
    assert found.torch is not None
    assert (found.torch.installed, found.torch.version, found.torch.build) == (True, "2.13.0+cpu", "cpu")
    assert (found.torch.cuda, found.torch.hip, found.torch.bundles) == (None, None, None)
    assert found.torch.importable is False


@pytest.mark.parametrize(
    ("outcome", "detail"),
    [
        ("exception", "OSError: libtorch_hip.so: undefined symbol: hsa_init"),
        ("signal", "SIGILL"),
        ("timeout", "timeout after 60 s"),
    ],
)
def test_an_import_that_fails(outcome: str, detail: str) -> None:
    found = machine(ran=died_at_import(outcome, detail))
    assert found.torch is not None
    assert (found.torch.importable, found.torch.import_error) == (False, detail)
    assert (found.torch.version, found.torch.build) == ("2.13.0+cpu", "cpu")
    assert found.torch.num_threads is None
    row = (found.exercises or ())[0]
    assert (row.name, row.outcome, row.detail) == ("import-torch", outcome, detail)
    assert unknown(found)["torch.num_threads"] == "probe-failed"
    assert unknown(found)["torch.is_available"] == "probe-failed"
    assert "torch.importable" not in unknown(found)


def test_a_step_that_died_is_a_row_and_the_others_count() -> None:
    found = machine(ran=cpu(conv1x1=end("conv1x1", "signal", "SIGFPE"), conv1x1_onednn_off=end("conv1x1-onednn-off")))
    rows = {row.name: (row.outcome, row.detail) for row in found.exercises or ()}
    assert rows["conv1x1"] == ("signal", "SIGFPE")
    assert rows["conv1x1-onednn-off"] == ("ok", None)
    assert found.torch is not None and found.torch.importable is True


def test_a_question_that_killed_the_process_is_a_row_too() -> None:
    found = machine(ran=cpu(libraries=end("libraries", "signal", "SIGSEGV")))
    assert ("libraries", "signal") in {(row.name, row.outcome) for row in found.exercises or ()}
    assert found.libraries is None
    assert unknown(found) == {"libraries": "probe-failed", "torch.openmp": "probe-failed"}


def test_switched_off_exercises_leave_what_the_files_tell() -> None:
    found = machine()
    assert found.torch is not None
    assert (found.torch.version, found.torch.build, found.torch.cuda) == ("2.13.0+cpu", "cpu", "none")
    assert found.torch.importable is None
    assert found.exercises is None
    assert set(unknown(found).values()) == {"not-in-source"}
    assert {"torch.importable", "torch.num_threads", "exercises", "libraries"} <= set(unknown(found))


def test_without_an_interpreter_torch_is_unknown() -> None:
    found = collect(RecordingSource({}, "test"), (("torch", probe),)).machine
    assert found.torch is None
    assert unknown(found) == {"torch": "not-in-source"}


def test_a_version_file_that_is_gone() -> None:
    gone = {"origin": "x", "version_file": None, "libraries": ["libtorch_cpu.so", "libtorch_cuda.so"]}
    packages = [{"name": "torch", "version": "2.5.1"}]
    files_only = machine(interpreter(torch=gone, packages=packages)).torch
    assert files_only is not None
    assert (files_only.version, files_only.build, files_only.cuda) == ("2.5.1", "cuda", None)
    ran = cpu(build=end("build", version="2.5.1+cu124", cuda="12.4", hip=None, config="", parallel_info=""))
    running = machine(interpreter(torch=gone, packages=packages), ran).torch
    assert running is not None
    assert (running.build, running.cuda, running.hip) == ("cuda", "12.4", "none")


@pytest.mark.parametrize(
    ("env", "default"), [({}, 16), ({"OMP_NUM_THREADS": "16"}, None), ({"MKL_NUM_THREADS": "2"}, None)]
)
def test_the_number_of_threads_is_the_default_only_where_nothing_set_it(env: dict[str, str], default: int) -> None:
    found = machine(ran=cpu(), env=env)
    assert found.torch is not None and found.torch.default_num_threads == default


def test_an_unknown_environment_leaves_the_default_unknown() -> None:
    source = RecordingSource({"exercises": {"interpreter": interpreter(), "cpu": cpu()}}, "test")
    found = collect(source, (("torch", probe),)).machine
    assert found.torch is not None and found.torch.default_num_threads is None


def test_warnings_of_an_import_that_went_well_are_its_detail() -> None:
    text = "Failed to initialize NumPy: _ARRAY_API not found"
    ran = cpu(import_torch=end("import-torch", version="2.2.0", import_seconds=1.0, warnings=[text, "other"]))
    row = (machine(ran=ran).exercises or ())[0]
    assert (row.outcome, row.detail) == ("ok", text)


def test_a_narrow_mask_after_the_import() -> None:
    found = machine(ran=cpu(affinity_after_import=end("affinity-after-import", cpus="0")))
    assert found.limits is not None and found.limits.affinity_cpus_after_torch_import == 1


def test_what_cannot_be_asked_here_is_no_unknown_of_the_user() -> None:
    skipped = {
        "affinity_after_import": end("affinity-after-import", "skipped", "this platform does not tell"),
        "is_available": end("is-available", "skipped", "asked together with the GPU"),
    }
    assert unknown(machine(ran=cpu(**skipped))) == {}


def test_an_old_pytorch_tells_its_capability_in_the_build_text_only() -> None:
    found = machine(ran=cpu(cpu_capability=end("cpu-capability", "skipped", "this release of PyTorch does not tell")))
    assert found.torch is not None and found.torch.cpu_capability == "AVX2"


def test_libraries_are_named_and_belong_to_packages() -> None:
    assert machine(ran=cpu()).libraries == (
        Library(
            kind="blas",
            name="openblas",
            path=OPENBLAS["filepath"],
            version="0.3.31",
            threads=32,
            architecture="Zen",
            threading="pthreads",
            package="numpy",
        ),
        Library(kind="openmp", name="libgomp", path=GOMP["filepath"], threads=16, package="torch"),
    )


def openmp(path: str, prefix: str = "libiomp") -> dict[str, Any]:
    return {**GOMP, "prefix": prefix, "filepath": path}


@pytest.mark.parametrize(
    ("paths", "names", "runtime"),
    [
        ([r"C:\v\Lib\site-packages\torch\lib\libiomp5md.dll"], ["libiomp5md"], "libiomp5"),
        (
            [r"C:\c\Library\bin\libiomp5md.dll", r"C:\c\Lib\site-packages\torch\lib\libiomp5md.dll"],
            ["libiomp5md", "libiomp5md"],
            "libiomp5",
        ),
        (["/opt/conda/lib/libomp.so"], ["libomp"], "libomp"),
        (["/opt/conda/lib/libomp.so", "/usr/lib/libgomp.so.1"], ["libomp", "libgomp"], None),
        ([f"{SITE}/torch/lib/libgomp-a34b3233.so.1", "/usr/lib/libiomp5.so"], ["libgomp", "libiomp5"], "libgomp"),
        ([], [], None),
    ],
)
def test_which_openmp_runtime_serves_torch(paths: list[str], names: list[str], runtime: str | None) -> None:
    pools = [openmp(path) for path in paths]
    found = machine(ran=cpu(libraries=end("libraries", threadpools=pools, mapped=None)))
    assert [row.name for row in found.libraries or ()] == names
    assert found.torch is not None and found.torch.openmp == runtime


def test_mapped_files_stand_in_where_threadpoolctl_could_not_be_used() -> None:
    mapped = [
        "/opt/conda/lib/libmkl_core.so.2",
        "/opt/conda/lib/libmkl_rt.so.2",
        "/opt/conda/lib/libiomp5.so",
        "/usr/lib/x86_64-linux-gnu/libcublas.so.12",
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    ]
    found = machine(ran=cpu(libraries=end("libraries", threadpools=None, mapped=mapped)))
    assert [(row.kind, row.name) for row in found.libraries or ()] == [
        ("blas", "mkl"),
        ("openmp", "libiomp5"),
        ("blas", "openblas"),
    ]


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("/a/lib/python3.11/site-packages/scikit_learn.libs/libgomp.so.1", "scikit-learn"),
        ("/a/lib/python3.11/site-packages/sklearn/.libs/libomp.dylib", "scikit-learn"),
        (r"C:\a\Lib\site-packages\numpy.libs\libopenblas.dll", "numpy"),
        ("/usr/lib/python3/dist-packages/torch/lib/libgomp.so", "torch"),
        ("/usr/lib/libgomp.so.1", None),
        ("", None),
    ],
)
def test_package_of(path: str, package: str | None) -> None:
    assert package_of(path) == package


def test_an_answer_of_another_shape_is_a_crash_of_this_probe_only() -> None:
    for told in (5, [], {"torch": 5}, {"packages": [{"version": "1"}]}):
        with pytest.raises(msgspec.ValidationError):
            probe(RecordingSource({"exercises": {"interpreter": told}}, "test"))


@pytest.mark.parametrize("ran", [[], {}, {"events": None}, {"events": [5, None, {"event": "begin"}]}])
def test_exercises_without_events_tell_nothing(ran: Any) -> None:
    found = collect(
        RecordingSource({"exercises": {"interpreter": interpreter(), "cpu": ran}}, "test"), (("torch", probe),)
    )
    assert found.crashed == ()
    assert found.machine.torch is not None and found.machine.torch.importable is None
    assert "torch.importable" in unknown(found.machine)
