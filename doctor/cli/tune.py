"""`amd-doctor tune`: short benchmarks, honest verdicts, and an env file with what was shown to be faster."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doctor.cli.language import speaks
from doctor.cli.main import AskedToEnd
from doctor.cli.tune_options import Asked, TuneCommand, command_of, names_of, refuse_metric, seconds_given

if TYPE_CHECKING:
    from doctor.cli.tune_prepare import Prepared
    from doctor.cli.tune_show import Output

_EPILOG = """\b
Examples:
  amd-doctor tune                                   is anything faster here? (3 minutes)
  amd-doctor tune --budget 120s --write-env         keep what is faster in amd-doctor.env
  amd-doctor tune --mode infer                      for a model that only answers
  amd-doctor tune -- python train.py --steps 30     your own script, by its wall time
  amd-doctor tune --metric 'img/s: ([0-9.]+)' --higher-is-better -- python train.py
  amd-doctor tune --device all --write-env          is the GPU worth it, and for which batch?
  amd-doctor tune --device auto --share             a file to send to others, without names
  amd-doctor tune --resume                          go on after a Ctrl-C
  amd-doctor tune --dry-run                         what would be tried, and what is left out
\b
Exit status:
  0  measured: faster, "keep the default" and "too noisy to tell" alike
  1  what you have now does not run, so there is nothing to compare with
  2  wrong usage, no PyTorch, too small a budget, a file that cannot be written
  70 the doctor itself failed        130 Ctrl-C
"""


@click.command(cls=TuneCommand, epilog=_EPILOG, options_metavar="[OPTIONS] [-- CMD …]")
@click.option("--mode", type=click.Choice(["train", "infer"]), help="The usual workloads of training or of inference.")
@click.option("--workload", "workloads", metavar="NAME", multiple=True, help="Measure this instead. May be repeated.")
@click.option("--axis", "axes", metavar="NAME", multiple=True, help="Try this kind of setting only. May be repeated.")
@click.option("--batch", type=click.IntRange(1, 2**20), metavar="SIZE", help="The batch size that you want.")
@click.option("--device", "devices", metavar="NAME", multiple=True, help="Compare: auto, all, cuda:0, a GPU's name.")
@click.option(
    "--budget",
    "budget_seconds",
    metavar="TIME",
    callback=seconds_given,
    help="How long: 120s, 3m. Default: 180s; with --device 420s and more.",
)
@click.option("--python", metavar="PATH", help="The Python to measure. Default: that of the active environment.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="The seed of every random order. Default: a new one.")
@click.option("--metric", metavar="REGEX", help="With -- CMD: the last number in its output that this finds counts.")
@click.option(
    "--higher-is-better/--lower-is-better", "higher_is_better", default=None, help="Which way --metric is better."
)
@click.option("--write-env", metavar="[FILE]", is_flag=False, flag_value="", help="Keep what is faster in an env file.")
@click.option("--format", "form", metavar="NAME", help="The format of the env file. Default: dotenv, or by its name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("-o", "--output", metavar="FILE", help="Write the JSON document, with every sample, to FILE.")
@click.option(
    "--share", metavar="[FILE]", is_flag=False, flag_value="", help="Write the result to be sent to others, redacted."
)
@click.option("--resume", is_flag=True, help="Go on with the last run that was stopped here, or show it again.")
@click.option("--dry-run", "--list", "dry_run", is_flag=True, help="Say what would be tried, and measure nothing.")
@click.option("--yes", is_flag=True, help="Run your own command without asking.")
@click.option("--no-save", is_flag=True, help="Keep nothing of this run for --resume and for the report.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1, max=3600),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long PyTorch may take to be imported and tried, before the run.",
)
@click.option("-v", "--verbose", is_flag=True, help="Add every setting that was tried.")
@click.option("-q", "--quiet", is_flag=True, help="Print the last line only, and no progress.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Use no other characters than ASCII.")
@speaks
@click.pass_context
def tune(
    context: click.Context,
    mode: str | None,
    workloads: tuple[str, ...],
    axes: tuple[str, ...],
    batch: int | None,
    devices: tuple[str, ...],
    budget_seconds: float | None,
    python: str | None,
    seed: int | None,
    metric: str | None,
    higher_is_better: bool | None,
    write_env: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
    share: str | None,
    resume: bool,
    dry_run: bool,
    yes: bool,
    no_save: bool,
    timeout: float,
    verbose: bool,
    quiet: bool,
    ascii_only: bool,
) -> int:
    """Find what makes this machine faster, by measuring it: threads, their CPUs, kernels, batch size.

    Runs short benchmarks, or your own command, in fresh processes of your Python. Changes nothing on the machine. Says
    "keep the default" or "too noisy to tell" where that is the truth.
    """
    asked = Asked(
        mode=mode,
        workloads=names_of(workloads),
        axes=names_of(axes),
        batch=batch,
        devices=names_of(devices),
        budget_seconds=budget_seconds,
        seed=seed,
        python=python,
        command=command_of(context),
        metric=metric,
        higher_is_better=higher_is_better,
    )
    refuse_metric(asked)
    from doctor.cli.tune_env import env_target
    from doctor.cli.tune_share import DEFAULT_NAME as SHARED_NAME
    from doctor.cli.tune_show import Output, refuse_document

    target = env_target(write_env, form)
    document = None if output in (None, "-") else Path(output or "")
    if document is not None:
        refuse_document(document, "-o")
    shared = None if share is None else Path(share or SHARED_NAME)
    if shared is not None:
        refuse_document(shared, "--share")
    shown = Output(
        env=target,
        document=document,
        shared=shared,
        as_json=as_json or output == "-",
        save=not no_save,
        verbose=verbose,
        quiet=quiet,
        ascii_only=ascii_only,
    )
    return _tuned(asked, shown, timeout_seconds=timeout, resume=resume, dry_run=dry_run, yes=yes)


def _tuned(
    asked: Asked, output: Output, *, timeout_seconds: float, resume: bool, dry_run: bool, yes: bool
) -> int:
    from doctor.cli.tune_prepare import prepared, wanted_of

    ready = prepared(asked, wanted_of(asked), timeout_seconds=timeout_seconds)
    if dry_run:
        _show_plan(ready, output)
        return 0
    from doctor.cli.tune_begin import (
        agree,
        announce_busy,
        announce_devices,
        announce_saved,
        experiment_for,
        is_complete,
        saved_for,
    )
    from doctor.cli.tune_drive import Stopped, driven, tell_stopped
    from doctor.cli.tune_show import shown

    saved = saved_for(asked, ready.plan) if resume else None
    plan = ready.plan if saved is None else saved.plan
    complete = saved is not None and is_complete(saved)
    if asked.command and not complete:
        agree(asked, plan, yes=yes)
    experiment = experiment_for(asked, ready)
    if saved is not None and not output.quiet:
        announce_saved(saved, complete=complete)
    if not complete and not output.quiet:
        announce_busy(ready.machine)
        announce_devices(plan)
    try:
        done = driven(plan, experiment, saved, save=output.save, quiet=output.quiet, ascii_only=output.ascii_only)
    except Stopped as stopped:
        tell_stopped(stopped, asked.command_text)
        # Click would answer a KeyboardInterrupt with an empty line behind ours.
        cause = stopped.__cause__
        raise AskedToEnd(signal.SIGINT) if isinstance(cause, KeyboardInterrupt) else cause or stopped from None
    return shown(done, ready, asked, output)


def _show_plan(ready: Prepared, output: Output) -> None:
    from doctor.present.terminal import line, look_of, write, write_text

    if output.as_json:
        from doctor.present.check_json import json_text
        from doctor.present.tune_json import plan_document

        write_text(json_text(plan_document(ready.plan)), sys.stdout)
        return
    from doctor.present.tune_plan import plan_lines, summary_line

    look = look_of(sys.stdout, ascii_only=output.ascii_only)
    write([line(summary_line(ready.plan))] if output.quiet else plan_lines(ready.plan, look), look)
