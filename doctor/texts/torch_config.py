"""Reads what PyTorch says of its own build: `torch.__config__.show()` and `torch.__config__.parallel_info()`.

Neither text names the OpenMP runtime, only the standard it was compiled for: which file serves it is seen in the
process that loaded it.
"""

from __future__ import annotations

import re

import msgspec

# A version counts only where it has an end: texts arrive cut.
_MKL = re.compile(r"^Intel\(R\) (?:oneAPI )?Math Kernel Library Version (\d[\d.]*)(?=[-\s])")
_ONEDNN = re.compile(r"^Intel\(R\) MKL-DNN v(\d[\d.]*)(?=\s)")
_OPENMP = re.compile(r"^OpenMP (\d+)")
_CAPABILITY = re.compile(r"^CPU capability usage: (.+)$")
_SETTING = re.compile(r"(?:^|, )([A-Z][A-Z0-9_]*)=")
# "BLAS=MKL" until 2019, "BLAS_INFO=mkl" since.
_BLAS = re.compile(r"(?:^|, )BLAS(?:_INFO)?=(\w+),")
_THREADS = re.compile(r"^(?:at::|std::thread::)?(\w+)\(\) : (\d+)$")

#: What PyTorch's build calls a BLAS, and what the machine document calls it. Other names stay, in lower case.
_BLAS_NAMES = {"open": "openblas", "veclib": "accelerate", "flexi": "flexiblas"}


class TorchConfig(msgspec.Struct, frozen=True):
    """What the two texts say. `None` where a text has no such line; `"none"` where it says that there is none."""

    blas: str | None = None  # mkl openblas blis accelerate generic …
    blas_version: str | None = None  # MKL only: the others do not say
    mkl_version: str | None = None
    onednn: str | None = None
    openmp: str | None = None  # the date of the standard, "201511"
    cpu_capability: str | None = None  # DEFAULT AVX2 AVX512
    num_threads: int | None = None
    interop_threads: int | None = None
    mkl_threads: int | None = None
    hardware_threads: int | None = None
    parallel_backend: str | None = None  # "OpenMP", "native thread pool"
    settings: dict[str, str] = {}


def read_torch_config(text: str) -> TorchConfig:
    """Either text, or both one after the other. Lines that are not known are passed over."""
    found: dict[str, object] = {}
    settings: dict[str, str] = {}
    blas = None
    for line in text.splitlines():
        line = line.strip().removeprefix("- ").strip()
        if line.startswith("Build settings:"):
            told = line.removeprefix("Build settings:").strip()
            settings, blas = _settings(told), _BLAS.search(told)
        else:
            found.update(_facts(line))
    found.update(_blas(blas[1].lower() if blas else None, found.get("mkl_version")))
    return msgspec.convert({**found, "settings": settings}, TorchConfig)


def _facts(line: str) -> dict[str, object]:
    if match := _MKL.match(line):
        return {"mkl_version": match[1]}
    if match := _ONEDNN.match(line):
        return {"onednn": match[1]}
    if match := _OPENMP.match(line):
        return {"openmp": match[1]}
    if match := _CAPABILITY.match(line):
        return {"cpu_capability": capability_name(match[1])}
    if match := _THREADS.match(line):
        return _thread_count(match[1], int(match[2]))
    if line.startswith("ATen parallel backend:"):
        return {"parallel_backend": line.partition(":")[2].strip()}
    absent = {"MKL not found": "mkl_version", "MKLDNN not found": "onednn", "OpenMP not found": "openmp"}
    return {absent[line]: "none"} if line in absent else {}


def _thread_count(function: str, count: int) -> dict[str, object]:
    names = {
        "get_num_threads": "num_threads",
        "get_num_interop_threads": "interop_threads",
        "mkl_get_max_threads": "mkl_threads",
        "hardware_concurrency": "hardware_threads",
    }
    # A count that no machine has comes from a damaged text; hardware_concurrency() is 0 where it is not known.
    return {names[function]: count} if function in names and 0 < count <= 65536 else {}


def _settings(text: str) -> dict[str, str]:
    """`BLAS_INFO=mkl, CXX_FLAGS= -O2 -DX=1, USE_MKL=ON, ` as a mapping. A value may hold `=` and spaces."""
    keys = list(_SETTING.finditer(text))
    ends = [key.start() for key in keys[1:]] + [len(text)]
    return {key[1]: text[key.end() : end].strip(" ,") for key, end in zip(keys, ends, strict=False)}


def _blas(told: str | None, mkl_version: object) -> dict[str, object]:
    has_mkl = mkl_version not in (None, "none")
    # `parallel_info` alone has no settings: it speaks of MKL where MKL is what it was built with.
    name = _BLAS_NAMES.get(told, told) if told else ("mkl" if has_mkl else None)
    return {"blas": name, "blas_version": mkl_version if name == "mkl" and has_mkl else None}


def capability_name(text: str) -> str:
    """The name that `torch.backends.cpu.get_cpu_capability()` uses: older texts say "NO AVX" for "DEFAULT"."""
    name = text.strip()
    return "DEFAULT" if name == "NO AVX" else name
