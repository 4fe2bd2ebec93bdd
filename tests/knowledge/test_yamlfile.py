"""Our own YAML is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.knowledge.yamlfile import BadFile, read_typed, read_yaml


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\na: 2\n", "stands twice in line 2"),
        ("a: {x: 1, x: 2}\n", "stands twice"),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: [1,\n", "line"),
        ("a: !!python/object:os.system x\n", "could not determine"),
    ],
)
def test_a_mistake_names_the_file_and_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "rule.yaml"
    path.write_text(text)
    with pytest.raises(BadFile, match=reason) as refused:
        read_yaml(path)
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)


def test_wrong_bytes_a_missing_file_and_a_wrong_type(tmp_path: Path) -> None:
    path = tmp_path / "rule.yaml"
    with pytest.raises(BadFile, match="No such file"):
        read_yaml(path)
    path.write_bytes(b"a: \xff")
    with pytest.raises(BadFile, match="utf-8"):
        read_yaml(path)
    path.write_text("version: 1.10\n")
    with pytest.raises(BadFile, match="Expected `str`, got `float`"):
        read_typed(path, dict[str, str])
