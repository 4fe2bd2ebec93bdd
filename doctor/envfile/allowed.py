"""Which variables a file may set: tuning variables whose value loads nothing and that bind no thread.

The table of tuning variables (`env_vars.yaml`) is the list. What names a file or a folder that is loaded or written is
not on it, and neither is what a launcher tells its processes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.knowledge.env_vars import env_variable
from doctor.machine.cpulist import parse_cpulist

_NO_TUNING = ("launcher",)

_BIND = ("true", "close", "spread", "master", "primary")
_UNBOUND = ("false", "0", "no", "off")
_PLACES = ("threads", "cores", "sockets", "ll_caches", "numa_domains", "{")

#: What a variable's value must look like, as its runtimes read it. A variable that is not here may hold anything.
_COUNT = r"[1-9][0-9]{0,5}"
_SWITCH = r"0|1|true|false|yes|no|on|off|y|n|t|f"
_VALUES: Mapping[str, tuple[str, str]] = {
    "OMP_NUM_THREADS": (rf"{_COUNT}(,{_COUNT})*", "a number of threads"),
    "MKL_NUM_THREADS": (_COUNT, "a number of threads"),
    "OPENBLAS_NUM_THREADS": (_COUNT, "a number of threads"),
    "GOTO_NUM_THREADS": (_COUNT, "a number of threads"),
    "BLIS_NUM_THREADS": (_COUNT, "a number of threads"),
    "OMP_THREAD_LIMIT": (_COUNT, "a number of threads"),
    "OMP_DYNAMIC": (_SWITCH, "true or false"),
    "MKL_DYNAMIC": (_SWITCH, "true or false"),
    "OMP_WAIT_POLICY": ("active|passive", "active or passive"),
    "KMP_BLOCKTIME": ("[0-9]+(ms|us)?|infinite|infinity", "a time in milliseconds, or infinite"),
    "GOMP_SPINCOUNT": ("[0-9]+[kmgt]?|infinite|infinity", "a number, or infinite"),
    "THP_MEM_ALLOC_ENABLE": ("0|1", "0 or 1"),
    "ATEN_CPU_CAPABILITY": ("default|avx2|avx512", "default, avx2 or avx512"),
    "ONEDNN_MAX_CPU_ISA": ("[a-z0-9_]+", "the name of an instruction set"),
    "ONEDNN_DEFAULT_FPMATH_MODE": ("strict|bf16|f16|tf32|any", "strict, bf16, f16, tf32 or any"),
    "AMD_DOCTOR_BATCH_SIZE": (_COUNT, "a number of samples"),
    "AMD_DOCTOR_DEVICE": (r"cpu|(cuda|privateuseone):[0-9]{1,3}", "a device such as cpu, cuda:0 or privateuseone:0"),
}


def is_allowed(name: str) -> bool:
    """Whether `amd-doctor run` sets a variable of this name without being told to."""
    row = env_variable(name)
    return row is not None and not row.touches_files and row.family not in _NO_TUNING


def wrong_value(name: str, value: str) -> str | None:
    """What the variable takes, where the value cannot be one of these; None where it can, or nothing is known."""
    if name == "AMD_DOCTOR_CPUS":
        return None if _is_cpulist(value) else "a list of CPUs such as 0-7,16-23"
    pattern, words = _VALUES.get(name, ("", ""))
    return words if pattern and not re.fullmatch(pattern, value.strip(), re.IGNORECASE) else None


def _is_cpulist(value: str) -> bool:
    try:
        return bool(parse_cpulist(value))
    except ValueError:
        return False


def import_traps(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that bind threads: `import torch` then leaves the process, and every process that it starts, on
    one place, often one CPU (measured with libgomp; pytorch issues 49971 and 91989)."""
    bind = variables.get("OMP_PROC_BIND", "").partition(",")[0].strip().lower()
    found = ["OMP_PROC_BIND"] if bind in _BIND else []
    if bind not in _UNBOUND:
        found += ["GOMP_CPU_AFFINITY"] if variables.get("GOMP_CPU_AFFINITY", "").strip() else []
        found += ["OMP_PLACES"] if variables.get("OMP_PLACES", "").strip().lower().startswith(_PLACES) else []
    kmp = variables.get("KMP_AFFINITY", "").strip().lower()
    return (*found, *(["KMP_AFFINITY"] if kmp and "disabled" not in kmp and "none" not in kmp else []))
