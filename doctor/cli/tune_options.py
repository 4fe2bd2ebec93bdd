"""What `amd-doctor tune` was asked for: its own kinds of options, and what must not stand beside each other."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click
import msgspec

#: Under this key the command behind `--` lies in the context's meta.
_COMMAND_KEY = "doctor.cli.tune.command"

_BUDGET = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)
_LEAST_BUDGET, _MOST_BUDGET = 1.0, 24 * 3600.0


class Asked(msgspec.Struct, frozen=True):
    """What to measure. None and () stand for what the plan decides."""

    mode: str | None = None
    workloads: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    batch: int | None = None
    devices: tuple[str, ...] = ()
    budget_seconds: float | None = None
    seed: int | None = None
    python: str | None = None
    command: tuple[str, ...] = ()
    metric: str | None = None
    higher_is_better: bool | None = None

    @property
    def repeated(self) -> str:
        """What has to be typed again to ask for the same but the budget: ` --mode infer`."""
        words = [*(("--mode", self.mode) if self.mode else ())]
        words += [word for name in self.workloads for word in ("--workload", name)]
        words += [word for name in self.axes for word in ("--axis", name)]
        words += ["--batch", str(self.batch)] if self.batch is not None else []
        words += [word for name in self.devices for word in ("--device", name)]
        words += ["--python", self.python] if self.python else []
        if self.metric:
            words += ["--metric", self.metric, "--higher-is-better" if self.higher_is_better else "--lower-is-better"]
        return "".join(f" {shlex.quote(word)}" for word in words)

    @property
    def command_text(self) -> str:
        """` -- python train.py`; empty without a command."""
        return f" -- {shlex.join(self.command)}" if self.command else ""


def seconds_given(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """`120`, `120s`, `3m`, `1m30s`, `1h`: how long a run may take. Raises BadParameter."""
    if value is None:
        return None
    matched = _BUDGET.fullmatch(value.strip().lower())
    if not matched or not any(matched.groups()):
        raise click.BadParameter(f"{value!r} is no time: write 120s, 3m or 1m30s.")
    hours, minutes, rest = (float(part or 0) for part in matched.groups())
    seconds = 3600 * hours + 60 * minutes + rest
    if not _LEAST_BUDGET <= seconds <= _MOST_BUDGET:
        raise click.BadParameter(f"{value!r} is not between one second and a day.")
    return seconds


class TuneCommand(click.Command):
    """A command that takes another one behind `--`, and nothing else without a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, behind = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, None)
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, own)
        if ctx.args and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{ctx.args[0]!r} is no option. A command to measure stands behind --: amd-doctor tune -- CMD.", ctx
            )
        if behind is not None and not behind:
            raise click.UsageError("behind -- there is no command.", ctx)
        ctx.meta[_COMMAND_KEY] = tuple(behind or ())
        return rest


def command_of(context: click.Context) -> tuple[str, ...]:
    """The user's own command, () where none was given."""
    command = context.meta.get(_COMMAND_KEY, ())
    assert isinstance(command, tuple)
    return command


def names_of(values: Sequence[str]) -> tuple[str, ...]:
    """The names of an option that may be repeated, and may hold several with commas between them; each once."""
    names = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def refuse_metric(asked: Asked) -> None:
    """What does not go together around the user's own command. Raises UsageError."""
    if not asked.command:
        if asked.metric is not None or asked.higher_is_better is not None:
            raise click.UsageError("--metric is about your own command, and behind -- there is none.")
        return
    own = {"--mode": asked.mode, "--workload": asked.workloads, "--batch": asked.batch, "--device": asked.devices}
    for name, named in own.items():
        if named:
            raise click.UsageError(f"{name} is about the doctor's own workloads, and behind -- stands your command.")
    if asked.metric is None:
        if asked.higher_is_better is not None:
            raise click.UsageError("--higher-is-better and --lower-is-better speak of the number of --metric.")
        return
    try:
        re.compile(asked.metric.encode())
    except re.error as error:
        raise click.UsageError(f"--metric: {asked.metric!r} is no regular expression: {error}.") from error
    if asked.higher_is_better is None:
        raise click.UsageError("--metric: say which way is better: --higher-is-better or --lower-is-better.")
