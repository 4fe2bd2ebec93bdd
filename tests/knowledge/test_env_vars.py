"""The table of environment variables is complete, typed and dated."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from doctor.knowledge.env_vars import env_variable, env_variables, is_tuning_name, tuning_names

RUNTIMES = {"libgomp", "libiomp5", "openblas", "mkl", "mkl-service", "mkl-before-2020.1", "blis", "numpy", "aten"}
RUNTIMES |= {"onednn", "torch", "fbgemm", "inductor", "hsa", "hip", "miopen", "directml", "allocator", "launcher"}
RUNTIMES |= {"amd-doctor", "nobody"}
WHEN = {"never", "process-start", "library-load", "import", "first-use", "gpu-init", "build"}

#: Pieces of combined rows of the source table; each whole name has its own row here.
PIECES = {"PYTORCH_DIRECTML_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "TORCH_COMPILE_", "DNNL_", "HIPBLASLT_ENABLED"}
PIECES |= {"MIN_SIZE", "PC_NT", "IC_NT", "JR_NT", "IR_NT"}


def test_every_row_is_typed_dated_and_speaks() -> None:
    rows = env_variables().values()
    assert len(rows) > 150
    for row in rows:
        assert set(row.read_by) <= RUNTIMES and row.read_by, row.name
        assert set(row.os) <= {"linux", "windows"} and row.os, row.name
        assert row.when_read in WHEN and row.before_import in ("yes", "no", "-"), row.name
        assert row.does and row.source and re.fullmatch(r"\d{4}-\d{2}-\d{2}", row.date), row.name


def test_every_variable_of_the_collected_table_has_a_row(shared: Path) -> None:
    with (shared / "knowledge" / "env_vars.csv").open(encoding="utf-8") as file:
        names = [name for row in csv.DictReader(file) for name in re.findall(r"[A-Z][A-Z0-9_]{4,}", row["name"])]
    assert len(names) > 100
    assert [name for name in names if not is_tuning_name(name) and name not in PIECES] == []


def test_every_traced_read_of_the_tuning_libraries_has_a_row(shared: Path) -> None:
    lines = (shared / "knowledge" / "env_read_phases.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split()[-2:] for line in lines]
    read = {name for name, library in pairs if library.startswith(("libgomp", "libscipy_openblas"))}
    assert read - tuning_names() == {"ACC_DEVICE_NUM", "ACC_DEVICE_TYPE", "GOMP_OPENACC_DIM"}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("OMP_NUM_THREADS", "openmp"),
        ("KMP_AFFINITY", "kmp"),
        ("HSA_OVERRIDE_GFX_VERSION", "hsa"),
        ("HSA_OVERRIDE_GFX_VERSION_12", "hsa"),
        ("PYTORCH_DIRECTML_X", "nobody"),
        ("SLURM_NTASKS", "launcher"),
    ],
)
def test_look_up(name: str, family: str) -> None:
    row = env_variable(name)
    assert row is not None and row.family == family


@pytest.mark.parametrize(
    "name", ["HOME", "PATH", "OMP_NUM_THREADS ", "omp_num_threads", "PYTORCH_DIRECTML_", "HSA_OVERRIDE_GFX_VERSION_x",
             "HSA_OVERRIDE_GFX_VERSION_<n>", "PYTORCH_DIRECTML_*", "SLURM_JOB_NODELIST", "XOMP_NUM_THREADS", ""]
)  # fmt: skip
def test_other_names_are_not_tuning_names(name: str) -> None:
    assert not is_tuning_name(name)


def test_values_that_name_files_are_marked() -> None:
    touching = {row.name for row in env_variables().values() if row.touches_files}
    assert {"LD_PRELOAD", "ROCM_PATH", "MKL_VERBOSE_OUTPUT_FILE", "PYTORCH_TUNABLEOP_FILENAME"} <= touching
    assert "OMP_NUM_THREADS" not in touching
