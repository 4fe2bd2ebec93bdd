"""What is said of an env file on a machine."""

from __future__ import annotations

import msgspec
import pytest

from doctor.derive.facts import complete
from doctor.envfile.check import EnvFinding, findings_of
from doctor.envfile.content import CPUS, EnvContent, EnvLine
from doctor.envfile.formats import FORMATS
from doctor.envfile.reading import EnvRead
from doctor.machine.document import parse_json, read_document
from doctor.machine.model import Machine
from doctor.tune.subject import subject_of
from tests.cli.running import MACHINES
from tests.envfile.contents import evidence


def machine_named(name: str) -> Machine:
    return complete(read_document(parse_json((MACHINES / f"{name}.json").read_bytes())).machine)


HERE = machine_named("healthy-5950x")


def file_with(sets: dict[str, str | None], **changes: object) -> EnvRead:
    """A file that was measured here."""
    known: dict[str, object] = {"subject": subject_of(HERE), "variables": sets, **changes}
    lines = tuple(EnvLine(name, value) for name, value in sets.items())
    format = FORMATS["dotenv"]
    return format.read(format.write(EnvContent((), lines, (), evidence(**known))))


def by_hand(text: str) -> EnvRead:
    return FORMATS["dotenv"].read(text.encode())


def kinds(read: EnvRead, machine: Machine = HERE, **environ: str) -> list[tuple[str, str]]:
    return [(each.severity, each.kind) for each in findings_of(read, machine, environ)]


def only(read: EnvRead, **environ: str) -> EnvFinding:
    (found,) = findings_of(read, HERE, environ)
    return found


def test_a_file_that_fits_has_no_findings() -> None:
    assert kinds(file_with({"OMP_NUM_THREADS": "16", CPUS: "0-15"}), OMP_NUM_THREADS="16") == []


def test_what_changed_since() -> None:
    then = subject_of(HERE)
    for key, value in {"cpu": "AMD Ryzen 7 5800X", "torch": "2.4.1+cpu", "hardware": "0" * 12}.items():
        assert kinds(file_with({}, subject={**then, key: value})) == [("warning", f"changed-{key}")]
    found = only(file_with({}, subject={**then, "torch": "2.4.1+cpu"}))
    assert found.text == f"torch changed since it was measured: 2.4.1+cpu then, {then['torch']} now"


def test_what_is_unknown_on_one_side_is_no_change() -> None:
    assert kinds(file_with({}, subject={})) == []
    assert kinds(file_with({}, subject={"torch": "unknown", "cpu": ""})) == []
    assert ("warning", "changed-torch") not in kinds(file_with({}), machine_named("nothing-known"))


def test_a_text_without_memory_or_gpus_proves_no_other_hardware() -> None:
    for partial in (msgspec.structs.replace(HERE, gpus=None), msgspec.structs.replace(HERE, memory=None)):
        assert kinds(file_with({}, subject={**subject_of(HERE), "driver": "31.0.1"}), partial) == []


def test_another_cpu_is_said_once() -> None:
    elsewhere = msgspec.structs.replace(HERE, cpu=msgspec.structs.replace(HERE.cpu, name="AMD EPYC 7713"))
    assert kinds(file_with({}), elsewhere) == [("warning", "changed-cpu")]


def test_a_new_driver() -> None:
    then = {**subject_of(HERE), "driver": "31.0.12027.9001"}
    assert kinds(file_with({}, subject=then)) == [("warning", "changed-driver")]


@pytest.mark.parametrize(
    ("text", "severity", "kind", "name"),
    [
        ("LD_PRELOAD=x.so\n", "warning", "not-allowed", "LD_PRELOAD"),
        ("PATH=/evil\n", "warning", "not-allowed", "PATH"),
        ("OMP_NUM_THREADS=-1\n", "error", "wrong-value", "OMP_NUM_THREADS"),
        ("OMP_NUM_THREADS=8 threads\n", "error", "wrong-value", "OMP_NUM_THREADS"),
        ("ATEN_CPU_CAPABILITY=avx10\n", "error", "wrong-value", "ATEN_CPU_CAPABILITY"),
        ("AMD_DOCTOR_CPUS=all\n", "error", "wrong-value", CPUS),
        ("OMP_PROC_BIND=close\n", "error", "import-trap", "OMP_PROC_BIND"),
        ("KMP_BLOCKTIME=0\n", "warning", "not-read-here", "KMP_BLOCKTIME"),
        ("AMD_DOCTOR_CPUS=0-99\n", "warning", "mask-does-not-fit", CPUS),
        ("OMP_NUM_THREADS=1\nOMP_NUM_THREADS=2\n", "warning", "set-twice", "OMP_NUM_THREADS"),
        ("hello world\n", "error", "not-read", ""),
    ],
)
def test_what_cannot_work(text: str, severity: str, kind: str, name: str) -> None:
    found = only(by_hand(text))
    assert (found.severity, found.kind, found.name, found.line) == (severity, kind, name, 1)


def test_what_the_session_has_otherwise() -> None:
    found = only(by_hand("OMP_NUM_THREADS=8\n"), OMP_NUM_THREADS="1", PATH="/bin")
    assert (found.severity, found.kind) == ("info", "session-differs")
    assert found.text.startswith("OMP_NUM_THREADS=1 is set in this session and is 8 in the file")
    assert findings_of(by_hand("OMP_NUM_THREADS=8\n"), HERE, None) == ()


def test_what_was_changed_by_hand_after_it_was_measured() -> None:
    edited = file_with({"OMP_NUM_THREADS": "8"}, variables={"OMP_NUM_THREADS": "16"})
    assert kinds(edited) == [("warning", "edited")] and "16 was measured" in only(edited).text
    incomplete = file_with({}, variables={"OMP_NUM_THREADS": "16"})
    assert kinds(incomplete) == [("warning", "incomplete")]


def test_a_disturbed_run() -> None:
    assert kinds(file_with({}, disturbed=True)) == [("warning", "disturbed")]


def test_the_worst_comes_first() -> None:
    found = kinds(by_hand("LD_PRELOAD=x\nOMP_PROC_BIND=close\n"), OMP_PROC_BIND="false")
    assert [severity for severity, _ in found] == ["error", "warning", "info"]
    assert found[0] == ("error", "import-trap")
