"""`benchmark.py pasted`: a long paste beside a document with the same facts, and a folder of a thousand recordings."""

from __future__ import annotations

import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmark import DOCTOR, Run, side_by_side, timed

PASTE_BYTES = 20_000
FLEET = 1000
#: As many recordings as the memory of the large folder is compared with.
SOME = 100
FLEET_RUNS = 3
MACHINES_PER_SECOND = 50

_PROSE = (
    "Training stopped again after the update of last week, and I do not know what else to try. The same script\n"
    "ran for months on this machine; now the first step takes minutes, and the second ends with a traceback:\n"
    '  File "train.py", line 118, in step\n    loss = model(batch.to(device)).mean()\n'
)


def pasted(runs: int) -> None:
    """The figures that a maintainer of a busy tracker and of a fleet would ask for."""
    with tempfile.TemporaryDirectory() as folder:
        paste, document = paste_and_document(Path(folder))
        label = f"check --from paste of {paste.stat().st_size / 1000:.0f} kB : document"
        side_by_side(label, 1.5, [*DOCTOR, "check", "--from", str(paste)], from_document(document), runs)
    with tempfile.TemporaryDirectory() as folder:
        fleet(Path(folder))


def from_document(document: Path) -> list[str]:
    return [*DOCTOR, "check", "--from", str(document)]


def paste_and_document(folder: Path) -> tuple[Path, Path]:
    """What somebody pastes of this machine (collect_env, a list of packages, a story), and what the doctor makes of it
    as a machine document."""
    parts = [
        _output([sys.executable, "-m", "torch.utils.collect_env"]),
        _output([sys.executable, "-m", "pip", "list", "--disable-pip-version-check"]),
    ]
    text = f"{_PROSE}\n```\n{parts[0]}```\n\n```\n{parts[1]}```\n\n"
    while len(text) < PASTE_BYTES:
        text += _PROSE
    paste, document = folder / "ticket.md", folder / "machine.json"
    paste.write_text(text[:PASTE_BYTES], encoding="utf-8")
    checked = json.loads(_output([*DOCTOR, "check", "--from", str(paste), "--json"]))
    document.write_text(json.dumps(checked["machine"]), encoding="utf-8")
    return paste, document


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def fleet(folder: Path) -> None:
    """Folders of recordings made by `record` on this machine, no two alike, judged on one core."""
    first = folder / "first.json.gz"
    subprocess.run([*DOCTOR, "record", "-o", str(first), "--python", sys.executable], capture_output=True, check=True)
    recording = json.loads(gzip.decompress(first.read_bytes()))
    folders = {count: folder / str(count) for count in (SOME, FLEET)}
    for count, place in folders.items():
        place.mkdir()
        for number in range(count):
            varied = json.dumps(variation(recording, number)).encode()
            (place / f"node{number:04}.json.gz").write_bytes(gzip.compress(varied, 6))
    everywhere = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if everywhere:
        os.sched_setaffinity(0, {min(everywhere)})
    try:
        ran = {count: [_summarised(place) for _ in range(FLEET_RUNS)] for count, place in folders.items()}
    finally:
        if everywhere:
            os.sched_setaffinity(0, everywhere)
    _print(ran)


def variation(recording: dict[str, Any], number: int) -> dict[str, Any]:
    """Another machine of the same make: other memory, another quota, another thread count in its environment."""
    files = dict(recording["files"])
    files["/proc/meminfo"] = re.sub(r"(?<=MemTotal:)(\s+)\d", rf"\g<1>{1 + number % 9}", files.get("/proc/meminfo", ""))
    env = {**(recording.get("env") or {}), "OMP_NUM_THREADS": str(1 + number % 64)}
    taken_at = f"2026-11-30T{number // 60 % 24:02}:{number % 60:02}:00Z"
    return {**recording, "files": files, "env": env, "taken_at": taken_at}


def _summarised(folder: Path) -> Run:
    return timed([*DOCTOR, "check", "--from", str(folder), "--summary", "-q"])


def _print(ran: dict[int, list[Run]]) -> None:
    wall = statistics.median(FLEET / run.seconds for run in ran[FLEET])
    cpu = statistics.median(FLEET / run.cpu_seconds for run in ran[FLEET])
    peaks = {count: max(run.peak_bytes for run in runs) / 1e6 for count, runs in ran.items()}
    label = f"check --summary, {FLEET} recordings, one core"
    print(f"{label:<52} {wall:5.0f} machines/s (at least {MACHINES_PER_SECOND}); {cpu:.0f} per second of CPU time")
    label = f"memory of {FLEET} recordings : {SOME}"
    print(f"{label:<52} {peaks[FLEET] / peaks[SOME]:5.2f} x   peak {peaks[FLEET]:.0f} MB : {peaks[SOME]:.0f} MB")
