"""Labels of lscpu in many languages: none means two things."""

from __future__ import annotations

from doctor.knowledge.location import rules_folder
from doctor.knowledge.lscpu_labels import lscpu_labels
from doctor.knowledge.yamlfile import read_yaml


def test_no_label_means_two_things() -> None:
    languages = read_yaml(rules_folder() / "knowledge" / "lscpu_labels.yaml")["languages"]
    meanings: dict[str, set[str]] = {}
    for row in languages.values():
        for field, label in row.items():
            meanings.setdefault(label, set()).add(field)
    assert {label: fields for label, fields in meanings.items() if len(fields) > 1} == {}


def test_labels_of_some_languages() -> None:
    labels = lscpu_labels()
    assert labels.fields["Thread(s) per core"] == "threads_per_core"
    assert labels.fields["Kern(e) pro Sockel"] == "cores_per_socket"
    assert labels.fields["Liste de processeur(s) en ligne"] == "online"
    assert labels.fields["型号名称"] == "name"
    assert labels.switches["aktiviert"] is True
    assert ("NUMA-Knoten", " CPU(s)") in labels.nodes
    assert "BIOS Model name" not in labels.fields
