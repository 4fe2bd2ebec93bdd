"""What every script that runs in a foreign interpreter has to keep to."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "doctor" / "inside").rglob("*.py"))

#: Those that an interpreter is started with; the others are loaded by their path.
STARTED = [path for path in SCRIPTS if "__main__" in path.read_text(encoding="utf-8")]

#: Imported only while the script does what it is for.
LATE = {"torch", "numpy", "torch_directml"}


def test_the_scripts_are_found() -> None:
    names = ["directml_exercises.py", "exercises.py", "interpreter.py", "rocm_exercises.py", "worker.py"]
    assert [path.name for path in STARTED] == names


def imports(nodes: list[ast.stmt]) -> set[str]:
    """Top-level names that these statements import when they run; functions are not entered."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a script has no package"
            found.add((node.module or "").partition(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            found |= imports([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])
    return found


def everywhere(tree: ast.Module) -> set[str]:
    return imports([node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_python_3_8_can_read_it(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_imports_the_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert imports(tree.body) <= sys.stdlib_module_names
    assert everywhere(tree) <= sys.stdlib_module_names | LATE


@pytest.mark.parametrize("path", STARTED, ids=lambda path: path.name)
def test_its_own_folder_leaves_the_path_before_anything_can_come_from_there(path: Path) -> None:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    first_change = next(at for at, node in enumerate(body) if "del sys.path[0]" in ast.unparse(node))
    assert imports(body[:first_change]) == {"os", "sys"}  # both are loaded before any script starts
