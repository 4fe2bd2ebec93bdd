"""Reads `torch/version.py`, the file that says which build of PyTorch a folder holds, without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import msgspec

#: `hip` of a build that was configured for ROCm and did not find it.
NO_HIP = "0.0.0"


class TorchVersion(msgspec.Struct, frozen=True):
    """The file's values. `"none"` where it says None, or where an older release has no such line."""

    version: str
    cuda: str = "none"
    hip: str = "none"
    xpu: str = "none"
    git_version: str | None = None
    debug: bool | None = None


def read_torch_version(text: str) -> TorchVersion | None:
    """The values of the file, or None where it has no version (an empty, cut or foreign file)."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    values: dict[str, object] = {}
    for statement in statements:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
            values.update({name.id: statement.value.value for name in targets if isinstance(name, ast.Name)})
    version = values.get("__version__")
    if not isinstance(version, str) or not version:
        return None
    git, debug = values.get("git_version"), values.get("debug")
    return TorchVersion(
        version=version,
        cuda=_text(values.get("cuda")),
        hip=_text(values.get("hip")),
        xpu=_text(values.get("xpu")),
        git_version=git if isinstance(git, str) and git != "Unknown" else None,
        debug=debug if isinstance(debug, bool) else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else "none"


def build_kind(version: str, cuda: str | None, hip: str | None, libraries: Iterable[str] | None = None) -> str | None:
    """What a PyTorch was built for: `cpu`, `cuda`, `rocm`, `xpu`, or `source` for one that somebody built without a GPU
    or for CUDA. None where nothing tells.

    `cuda` and `hip` are those of `torch.version` (`"none"`, or None where unknown), `libraries` the names in
    `torch/lib`. A wheel for Linux from PyPI carries no local version, and is a CUDA build all the same.
    """
    local = version.partition("+")[2]
    self_built = local.startswith("git") or hip == NO_HIP
    if hip not in (None, "none", NO_HIP) or local.startswith("rocm"):
        return "rocm"
    if self_built:
        return "source"
    if cuda not in (None, "none") or re.match(r"cu\d", local):
        return "cuda"
    if local.startswith(("xpu", "cpu")):
        return local[:3]
    by_library = _kind_of_libraries(libraries)
    if by_library is not None:
        return by_library
    return "cpu" if cuda == "none" and hip == "none" else None


def _kind_of_libraries(libraries: Iterable[str] | None) -> str | None:
    """Each build for a GPU brings a library named after it; a listing with only the CPU's says that there is none."""
    names = {name.removeprefix("lib").partition(".")[0] for name in libraries or ()}
    for library, kind in (("torch_hip", "rocm"), ("torch_cuda", "cuda"), ("torch_xpu", "xpu")):
        if library in names:
            return kind
    return "cpu" if "torch_cpu" in names else None
