"""Speed, as ratios measured side by side in one run: `python scripts/benchmark.py check` (or `pasted`, `report`).

Every pair of commands alternates (A B A B …); the ratio is that of the medians. Nothing here is asserted in a test:
a shared machine is noisy, and a ratio says more than a duration. Run it with the Python of `.venv`.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

DOCTOR = [str(Path(sys.executable).parent / "amd-doctor")]


@dataclass(frozen=True)
class Run:
    seconds: float
    peak_bytes: int
    cpu_seconds: float = 0.0


def timed(command: list[str]) -> Run:
    """One run of a command, its output thrown away: wall time and the peak memory of its largest process."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"exit {child.returncode}: {' '.join(command)}")
    return Run(seconds, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)


def side_by_side(label: str, limit: float, ours: list[str], theirs: list[str], runs: int) -> None:
    """Alternate two commands and print the ratio of their medians."""
    timed(ours), timed(theirs)  # warm the page cache for both
    pairs = [(timed(ours), timed(theirs)) for _ in range(runs)]
    mine, other = (statistics.median(pair[at].seconds for pair in pairs) for at in (0, 1))
    peak = max(pair[0].peak_bytes for pair in pairs) / 1e6
    print(f"{label:<52} {mine / other:5.2f} x (limit {limit:g})   {mine:.2f} s : {other:.2f} s, peak {peak:.0f} MB")


def tree_of(cpus: int) -> dict[str, str]:
    """The files of an invented machine: two packages, 8 cores to an L3 group, SMT siblings half the count away."""
    half = cpus // 2
    files = {
        "sys/devices/system/cpu/online": f"0-{cpus - 1}\n",
        "sys/devices/system/cpu/present": f"0-{cpus - 1}\n",
        "sys/devices/system/node/node0/cpulist": f"0-{cpus - 1}\n",
        "sys/devices/system/node/online": "0\n",
        "proc/meminfo": "MemTotal: 32768000 kB\nMemAvailable: 16384000 kB\n",
    }
    rows = []
    for cpu in range(cpus):
        core = cpu % half
        group = core // 8
        first, last = group * 8, min(group * 8 + 7, half - 1)
        base = f"sys/devices/system/cpu/cpu{cpu}"
        files[f"{base}/topology/core_id"] = f"{core}\n"
        files[f"{base}/topology/physical_package_id"] = f"{core * 2 // half}\n"
        for name in ("core_cpus_list", "thread_siblings_list"):
            files[f"{base}/topology/{name}"] = f"{core},{core + half}\n"
        caches = [(1, "Data", "32K"), (1, "Instruction", "32K"), (2, "Unified", "1024K"), (3, "Unified", "32768K")]
        for index, (level, kind, size) in enumerate(caches):
            shared = f"{first}-{last},{first + half}-{last + half}" if level == 3 else f"{core},{core + half}"
            values = {
                "level": level,
                "type": kind,
                "size": size,
                "id": group if level == 3 else core,
                "shared_cpu_list": shared,
                "ways_of_associativity": 8,
                "number_of_sets": 64,
                "coherency_line_size": 64,
            }
            for name, value in values.items():
                files[f"{base}/cache/index{index}/{name}"] = f"{value}\n"
        rows.append(
            f"processor\t: {cpu}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: invented\n"
            f"stepping\t: 1\nphysical id\t: {core * 2 // half}\nflags\t\t: fpu sse sse2 avx avx2 fma avx512f avx512bw "
            "avx512dq avx512vl avx512cd avx512_bf16 avx512_vnni\n"
        )
    files["proc/cpuinfo"] = "\n".join(rows)
    return files


def tar_of(files: dict[str, str], path: Path) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"machine/{name}")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def recording_of(tar: Path) -> Path:
    """The recording that `record` would have made on the machine of a tree."""
    from doctor.probes.collect import collect
    from doctor.sources.recorder import Recorder, write_recording
    from doctor.sources.tree import TreeSource

    recorder = Recorder(TreeSource.from_tar(tar.read_bytes(), tar.name))
    collect(recorder)
    path = tar.with_name(tar.name.replace(".tar.gz", ".recording.gz"))
    write_recording(path, recorder.recording())
    return path


def check(runs: int) -> None:
    collect_env = [sys.executable, "-m", "torch.utils.collect_env"]
    own = ["--python", sys.executable]
    side_by_side("check --no-exercise : collect_env", 0.2, [*DOCTOR, "check", "--no-exercise", *own], collect_env, runs)
    side_by_side("check : collect_env", 1.3, [*DOCTOR, "check", *own], collect_env, runs)
    with tempfile.TemporaryDirectory() as folder:
        small, large = (tar_of(tree_of(cpus), Path(folder) / f"{cpus}.tar.gz") for cpus in (8, 384))
        from_small = [*DOCTOR, "check", "--from", str(recording_of(small))]
        from_large = [*DOCTOR, "check", "--from", str(recording_of(large))]
        from_tar = [*DOCTOR, "check", "--from", str(large)]
        side_by_side("check --from recording, 384 CPUs : 8 CPUs", 2, from_large, from_small, runs)
        side_by_side("check --from foreign tar, 384 CPUs : recording, 8 CPUs", 6, from_tar, from_small, runs)


def pasted(runs: int) -> None:
    from benchmark_pasted import pasted as measure

    measure(runs)


def report(runs: int) -> None:
    """A report is a check that is written in another way: it must not cost more than a fifth of it."""
    own = ["--python", sys.executable]
    quick = ["--no-exercise", *own]
    side_by_side("report : check", 1.2, [*DOCTOR, "report", *own], [*DOCTOR, "check", *own], runs)
    without = "report : check, without exercises"
    side_by_side(without, 1.2, [*DOCTOR, "report", *quick], [*DOCTOR, "check", *quick], runs)
    with tempfile.TemporaryDirectory() as folder:
        saved = ["--from", str(recording_of(tar_of(tree_of(384), Path(folder) / "384.tar.gz")))]
        side_by_side("report : check, 384 CPUs", 1.2, [*DOCTOR, "report", *saved], [*DOCTOR, "check", *saved], runs)


def tune(seeds: int, budget_seconds: float | None) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from scripts import benchmark_tune

    benchmark_tune.main(seeds, budget_seconds)


def devices(seeds: int) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from scripts import benchmark_devices

    benchmark_devices.main(seeds)


BENCHMARKS = {"check": check, "pasted": pasted, "report": report}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=sorted([*BENCHMARKS, "tune", "devices"]))
    parser.add_argument("--runs", type=int, default=5, help="alternating runs of each pair (default 5, at least 5)")
    parser.add_argument("--seeds", type=int, default=2000, help="tune, devices: simulated runs of each cell")
    parser.add_argument("--budget", type=float, help="tune: seconds of each simulated run (default: that of tune)")
    options = parser.parse_args()
    if options.benchmark == "devices":
        devices(options.seeds)
        return 0
    if options.benchmark == "tune":
        tune(options.seeds, options.budget)
        return 0
    BENCHMARKS[options.benchmark](max(options.runs, 5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
