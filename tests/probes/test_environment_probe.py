"""The environment: what the allow-list holds, and nothing else."""

from __future__ import annotations

from doctor.probes.environment import probe
from doctor.sources.recording import RecordingSource


def test_only_tuning_variables_enter_the_document() -> None:
    env = {
        "OMP_NUM_THREADS": "8",
        "HOME": "/home/somebody",
        "AWS_SECRET_ACCESS_KEY": "x",
        "HSA_OVERRIDE_GFX_VERSION_1": "10.3.0",
        "PYTORCH_DIRECTML_ANYTHING": "1",
        "OMP_NUM_THREADS_OLD": "4",
    }
    found = probe(RecordingSource({"platform": "linux", "env": env}, "test"))
    assert found.facts == {
        "env": {"HSA_OVERRIDE_GFX_VERSION_1": "10.3.0", "OMP_NUM_THREADS": "8", "PYTORCH_DIRECTML_ANYTHING": "1"}
    }


def test_an_empty_environment_is_known_and_a_missing_one_is_not() -> None:
    assert probe(RecordingSource({"platform": "linux", "env": {}}, "test")).facts == {"env": {}}
    found = probe(RecordingSource({"platform": "linux"}, "test"))
    assert found.facts == {}
    assert [(row.fact, row.reason) for row in found.unknowns] == [("env", "not-in-source")]
