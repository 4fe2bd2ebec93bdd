"""`benchmark.py tune`: the real search and confirmation over simulated machines, and what they get right.

Every run is a whole `tune`: the plan, the cost units, the search, the confirmation, the verdicts. Only the processes
are simulated: their times are a truth times recorded noise, their clock is a number. The tables are Markdown.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, median

from doctor.measure.units import Setting
from doctor.tune.budget import DEFAULT_SECONDS
from scripts.simulated import noise
from scripts.simulated.chips import CHIPS, TWO_CPUS
from scripts.simulated.landscapes import exhaustive, published, simple_rules
from scripts.simulated.scores import EXPERIMENTS, Cell, Claim, Known, Run, one_cell

RECORDING = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "timing" / "aa96.json"
LEVELS = (0.01, 0.02, 0.03, 0.05, 0.35)
RAW = 0.35
EXHAUSTIVE_PAIRS = 10


def main(seeds: int, budget_seconds: float | None = None) -> None:
    """`budget_seconds`: of each run; None for the default of `tune`."""
    budget_seconds = budget_seconds or DEFAULT_SECONDS
    recorded = RECORDING.exists()
    residuals = noise.recorded_noise(RECORDING) if recorded else noise.synthetic_noise()
    began = time.monotonic()
    done = _cells(seeds, residuals, budget_seconds)
    source = "recorded residuals (aa96)" if recorded else "the project's own residuals, for want of ../shared"
    spent = time.monotonic() - began
    print(f"{seeds} seeds a cell, {len(done)} cells, budget {budget_seconds:g} s, {source}; took {spent:.0f} s\n")
    _figures(done)
    _machines(done)


def _cells(seeds: int, residuals: noise.Noise, budget_seconds: float) -> list[Cell]:
    """Every cell has seeds of its own: scaled noise under the same seed would give the same ranks, and no news."""
    work: list[tuple[int | None, str, float]] = list(product(range(len(CHIPS)), EXPERIMENTS, LEVELS))
    work.append((None, "published", RAW))
    done: list[Cell] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            pool.submit(one_cell, *cell, residuals, range(at * seeds, (at + 1) * seeds), budget_seconds)
            for at, cell in enumerate(work)
        ]
        for future in waiting:
            done.append(future.result())
            if sys.stderr.isatty():
                print(f"\r{len(done)} of {len(work)} cells", end="", file=sys.stderr, flush=True)
    return done


def _figures(done: Sequence[Cell]) -> None:
    print("| figure | target | " + " | ".join(f"sd {level:.0%}" for level in LEVELS) + " |")
    print("| --- | --- |" + " --- |" * len(LEVELS))
    loud = (RAW,)

    def row(name: str, target: str, figure: Callable[[Sequence[Cell]], str], levels: Iterable[float] = LEVELS) -> None:
        shown = [figure([cell for cell in done if cell.level == at]) if at in levels else "" for at in LEVELS]
        print(f"| {name} | {target} | " + " | ".join(shown) + " |")

    for experiment in EXPERIMENTS:
        row(f"false *faster*, {experiment}", "≤ 1 %", partial(_false_share, experiment=experiment))
    row("+20 % found", "≥ 95 % to sd 3 %", lambda at: _share([run.found for run in _runs(at, "one +20 %")]))
    row("the same, worst machine", "", lambda at: _worst_found(at, "one +20 %"))
    row("+80 % found, 2 CPUs", "≥ 80 %", lambda at: _share([run.found for run in _runs(at, "published", True)]), loud)
    row("true +20 % and more called *same*", "0", lambda at: str(sum(map(_is_missed, _claims(at)))))
    for experiment in ("published", "hills"):
        figure = partial(_regrets, experiment=experiment)
        row(f"regret when *faster*, {experiment}: median, 95th", "≤ 2 %, ≤ 5 %", figure)
    row("bias of the printed gain, points", "±1", lambda at: _bias(_claims(at, but="hills")))
    row("the same, only where *faster*", "", lambda at: _bias(_claims(at, but="hills"), only="faster"))
    row("the printed interval holds the truth", "95 %", lambda at: _covered(_claims(at, but="hills")))
    row("the same, only where *faster*", "", lambda at: _covered(_claims(at, but="hills"), only="faster"))
    for axis in ("batch", "dtype"):
        row(f"recommendation tried: {axis}", "", lambda at, axis=axis: _tried(at, axis))  # type: ignore[misc]
    row("+40 % of a larger batch found, where tried", "", lambda at: _advice_found(at, "published"))
    row("bias of a recommended gain, points", "±1", lambda at: _bias(_advice(at)))
    print()


def _machines(done: Sequence[Cell]) -> None:
    rules = list(simple_rules(CHIPS[0]))
    print("How much slower than the best setting of the exhaustive search each ends up, published speeds:\n")
    heads = ("machine", "default", *rules, "tune, sd 3 %: median, 95th", "*faster* in", "units : exhaustive")
    print("| " + " | ".join(heads) + " |\n" + "| --- " * len(heads) + "|")
    for chip in CHIPS:
        known = Known.of(published(chip)[0])
        cell = next(each for each in done if (each.chip, each.experiment, each.level) == (chip.name, "published", 0.03))
        units, all_units = median(run.units for run in cell.runs), len(exhaustive(chip)) * 2 * EXHAUSTIVE_PAIRS
        columns = [
            *(f"{known.regret(setting):.0%}" for setting in (Setting(), *simple_rules(chip).values())),
            _median_95th([run.regret for run in cell.runs]),
            _share([run.exported for run in cell.runs]),
            f"{units:.0f} : {all_units} = 1/{all_units / units:.0f}",
        ]
        print(f"| {chip.name} | " + " | ".join(columns) + " |")


def _runs(cells: Sequence[Cell], experiment: str, two_cpus: bool = False) -> list[Run]:
    """All runs of an experiment over the machines, or those over the two CPUs."""
    named = [each for each in cells if each.experiment == experiment and (each.chip == TWO_CPUS.name) == two_cpus]
    return [run for cell in named for run in cell.runs]


def _claims(cells: Sequence[Cell], but: str | None = None) -> list[Claim]:
    """All claims, but those of one experiment: on the hills a gain may be of thousands of percent."""
    return [claim for cell in cells if cell.experiment != but for run in cell.runs for claim in run.claims]


def _advice(cells: Sequence[Cell]) -> list[Claim]:
    return [claim for cell in cells for run in cell.runs for claim in run.advice.values()]


def _tried(cells: Sequence[Cell], axis: str) -> str:
    """Of the runs in which there was something to claim: a larger batch was chosen in a published one."""
    return _share([axis in run.advice for run in _runs(cells, "published")])


def _advice_found(cells: Sequence[Cell], experiment: str) -> str:
    tried = [run.advice["batch"] for run in _runs(cells, experiment) if "batch" in run.advice]
    return _share([claim.word == "faster" for claim in tried])


def _regrets(cells: Sequence[Cell], experiment: str) -> str:
    return _median_95th([run.regret for run in _runs(cells, experiment) if run.exported])


def _false_share(cells: Sequence[Cell], experiment: str) -> str:
    return _share([run.false_faster for run in _runs(cells, experiment)], digits=2)


def _worst_found(cells: Sequence[Cell], experiment: str) -> str:
    found = [fmean(run.found for run in cell.runs) for cell in cells if cell.experiment == experiment]
    return f"{min(found):.1%}"


def _is_missed(claim: Claim) -> bool:
    return claim.word == "same" and claim.true_gain > 0.199


def _share(flags: Sequence[bool], digits: int = 1) -> str:
    return f"{fmean(flags):.{digits}%}" if flags else "none"


def _bias(claims: Sequence[Claim], only: str | None = None) -> str:
    off = [claim.gain - claim.true_gain for claim in claims if only in (None, claim.word)]
    return f"{100 * fmean(off):+.2f}" if off else "none"


def _covered(claims: Sequence[Claim], only: str | None = None) -> str:
    return _share([claim.covered for claim in claims if only in (None, claim.word)])


def _median_95th(values: Sequence[float]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    return f"{median(ordered):.1%}, {ordered[min(int(0.95 * len(ordered)), len(ordered) - 1)]:.1%}"
