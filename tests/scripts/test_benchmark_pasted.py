"""The material of `benchmark.py pasted`: what it measures is what it says."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from doctor.probes.collect import collect
from doctor.sources.recording import RecordingSource
from tests.cli.running import ROOT
from tests.cli.wheel_recordings import ROCM_WHEEL, recording


@pytest.fixture
def pasted(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("benchmark_pasted")


def test_no_two_recordings_of_the_fleet_are_alike(pasted: ModuleType) -> None:
    base = recording(ROCM_WHEEL, "2026-11-30T00:00:00Z", 1000)
    fleet = [pasted.variation(base, number) for number in range(pasted.SOME)]
    machines = [collect(RecordingSource(plain, "x")).machine for plain in fleet]
    assert len({str(plain) for plain in fleet}) == pasted.SOME
    assert len({machine.memory.total_bytes for machine in machines if machine.memory}) == 9
    assert len({str(machine.env) for machine in machines}) == 64


def test_the_paste_has_the_size_that_is_printed_and_the_document_its_facts(
    pasted: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"torch.utils.collect_env": "PyTorch version: 2.9.1+cpu\nIs debug build: False\nPython version: 3.12.3\n"}
    checked = '{"machine": {"schema": "amd-doctor/machine/1"}}'

    def answered(command: list[str]) -> str:
        return next((text for name, text in answers.items() if name in command), checked)

    monkeypatch.setattr(pasted, "_output", answered)
    paste, document = pasted.paste_and_document(tmp_path)
    assert paste.stat().st_size == pasted.PASTE_BYTES == 20_000
    assert "PyTorch version: 2.9.1+cpu" in paste.read_text()
    assert document.read_text() == '{"schema": "amd-doctor/machine/1"}'
