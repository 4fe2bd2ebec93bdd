"""How a run of `tune` ends, in sentences: what was shown, what to do with it, the last line, and the exit status."""

from __future__ import annotations

import math

import msgspec

from doctor.knowledge.catalog import ENGLISH
from doctor.measure.verdict import MIN_PAIRS, Verdict
from doctor.present.language import counted, phrase, say, speaking, told
from doctor.present.text import listed
from doctor.present.tune_devices_words import devices_last_words
from doctor.present.tune_needed import deciding_budget_seconds
from doctor.present.tune_words import gain_words, needed_words, setting_words, workload_words, workloads_words
from doctor.tune.confirm import Confirmation
from doctor.tune.result import TuneResult

_FAILED, _USAGE = 1, 2

#: A machine that repeats itself better than this is not what makes a verdict undecided.
_CALM = 0.02
#: A budget that is just enough fails as soon as one process takes longer.
_MORE_THAN_NEEDED = 1.2


class Around(msgspec.Struct, frozen=True):
    """What stands around a result: where it went, and the words with which the user asked for it."""

    env_file: str | None = None  # as the user would type it; None: none was written
    env_empty: bool = False  # it holds comments only
    use: str = ""  # the command that takes its variables into the user's shell
    run: str = ""  # the command that starts a program with all of it
    saved: bool = False  # `tune --resume` shows it again without measuring
    repeated: str = ""  # ` --mode infer`: what has to be typed again to ask for the same
    command: str = ""  # ` -- python train.py`: the user's own command
    default_failures: tuple[str, ...] = ()  # how what the user has now failed, once it had run


def exit_status(result: TuneResult) -> int:
    """0 also for "keep the default" and "too noisy to tell"; 1: the default does not run; 2: too small a budget."""
    return {"default-failed": _FAILED, "budget-too-small": _USAGE}.get(result.ending, 0)


def best_of(result: TuneResult) -> Confirmation | None:
    """What was shown to be faster, with its CPUs only where they add to the variables; None: keep the default."""
    best, alone = result.export, result.export_variables
    if best is None or alone is None:
        return best
    return best if (best.verdict.gain or 0.0) > (alone.verdict.gain or 0.0) else alone


def conclusion(result: TuneResult) -> tuple[str, ...]:
    """What the table means, a sentence or two for each paragraph."""
    if result.ending != "confirmed":
        return (_ended_before(result),)
    best = best_of(result)
    if best is None:
        return _kept_default(result)
    on = workloads_words(result.plan.workloads)
    shown = {"gain": gain_words(best.verdict), "work": on, "setting": setting_words(best.setting)}
    said = [say("{gain} on {work}, {setting}: so much more work in the same time.", **shown)]
    if best.setting.cpus is not None:
        said.append(_variables_alone(result))
    return tuple(said)


def _variables_alone(result: TuneResult) -> str:
    alone = result.export_variables
    if alone is not None:
        words = phrase("Only amd-doctor run sets the CPUs. Without them, the variables alone give {gain}.")
        return say(words, gain=gain_words(alone.verdict))
    return say(
        "Only amd-doctor run sets the CPUs. The variables alone were not shown to be faster: a sourced file sets none."
    )


def _ended_before(result: TuneResult) -> str:
    if result.ending == "budget-too-small":
        return say(
            "The budget of {budget:.0f} s is too small: one round of search and {pairs} pairs need {needed} s, because "
            "one process takes {unit:.1f} s.",
            budget=result.plan.budget_seconds,
            pairs=MIN_PAIRS,
            needed=_needed_seconds(result),
            unit=result.unit_seconds or 0,
        )
    reason = told(result.detail or "")
    if result.ending == "default-failed":
        words = phrase(
            "The measurement does not run with what you have now, so there is nothing to compare with: {reason}."
        )
        if result.plan.workloads == ("command",):
            words = phrase(
                "Your command does not run with what you have now, so there is nothing to compare with: {reason}."
            )
        return say(words, reason=reason)
    return say("There is nothing to choose from: {reason}. Keep the default.", reason=reason)


def _needed_seconds(result: TuneResult) -> int:
    return math.ceil(result.needed_seconds or 0.0)


def _kept_default(result: TuneResult) -> tuple[str, ...]:
    if not result.candidates:
        return (say("Keep the default."),)
    first = result.candidates[0]
    name = setting_words(first.setting)
    if first.failed:
        words = phrase("Keep the default: with {setting} it failed in the confirmation ({reason}).")
        return (say(words, setting=name, reason=told(first.failed)),)
    if first.verdict.word == "faster":
        slower = listed(
            [
                say("{what} ({gain})", what=workload_words(each), gain=gain_words(first.by_workload[each]))
                for each in first.slower_on
            ]
        )
        words = phrase("Keep the default: {setting} is faster on the whole, but slower on {slower}.")
        return (say(words, setting=name, slower=slower),)
    if first.verdict.word == "same":
        words = phrase(
            "Keep the default: {setting}, the best in the search, is no faster. Both are the same within ±3 %."
        )
        return (say(words, setting=name),)
    if first.verdict.word == "slower":
        words = phrase("Keep the default: {setting} was the best in the search, but it is slower.")
        return (say(words, setting=name),)
    text = say("{sentence} {next}", sentence=_undecided(result, name, first.verdict), next=say("Keep the default."))
    return (text, *_to_decide(result, first))


def _undecided(result: TuneResult, name: str, verdict: Verdict) -> str:
    one, many = "{gain} with {setting}, in {count} pair", phrase("{gain} with {setting}, in {count} pairs")
    measured = counted(one, many, verdict.pairs, gain=gain_words(verdict), setting=name)
    if verdict.pairs < MIN_PAIRS:
        return say("{measured}: too few to tell, {count} are the least that can.", measured=measured, count=MIN_PAIRS)
    again = result.repeatability
    if again is not None and again.within <= _CALM:
        return say("{measured}: too close to tell, because a gain counts from 2 % on.", measured=measured)
    reasons = [told(sentence) for sentence in result.disturbances]
    if again is not None:
        words = phrase("what you have now differs from itself by up to {share:.0f} %")
        reasons.append(say(words, share=100 * again.within))
    if not reasons:
        return say("{measured}: too noisy to tell.", measured=measured)
    because = say("; and ").join(reasons)
    return say("{measured}: too noisy to tell, because {reasons}.", measured=measured, reasons=because)


def _to_decide(result: TuneResult, first: Confirmation) -> tuple[str, ...]:
    """What would have decided it."""
    words, seconds = needed_words(first.verdict), deciding_budget_seconds(result)
    if not words:
        return ()
    needed = f"{words[:1].upper()}{words[1:]}"
    if seconds is not None:
        return (say("{needed} would have decided it: --budget {seconds}s.", needed=needed, seconds=seconds),)
    more = phrase(
        "{needed} would have decided it, more than one run makes: a calmer machine helps, not a larger budget."
    )
    return (say(more, needed=needed),)


def last_line(result: TuneResult, around: Around) -> str:
    """`amd-doctor: faster +18 % [14, 22], 12 threads; wrote amd-doctor.env`, always in this form, whatever
    language is spoken."""
    wrote = f"; wrote {around.env_file}" if around.env_file else ""
    with speaking(ENGLISH):
        return f"amd-doctor: {_verdict_words(result)}{_device_words(result)}{wrote}"


def _device_words(result: TuneResult) -> str:
    words = "" if result.devices is None else devices_last_words(result.devices)
    return f"; {words}" if words else ""


def _verdict_words(result: TuneResult) -> str:
    if result.ending == "budget-too-small":
        return f"budget too small; {_needed_seconds(result)} s are needed"
    if result.ending == "default-failed":
        return f"default failed; {result.detail}"
    if result.ending == "nothing-to-try" or not result.candidates:
        return "nothing to try; keep the default"
    best = best_of(result)
    if best is not None:
        return f"faster {gain_words(best.verdict)}, {setting_words(best.setting, short=True)}"
    first = result.candidates[0]
    word = "failed" if first.failed else "mixed" if first.verdict.word == "faster" else first.verdict.word
    gain = "" if first.failed else f" {gain_words(first.verdict)}"
    return f"{word}{gain}, {setting_words(first.setting, short=True)}; keep the default"


class NextStep(msgspec.Struct, frozen=True):
    """The one next command, and the sentence before it. No command: there is nothing to do."""

    intro: str
    command: str = ""


def next_step(result: TuneResult, around: Around) -> NextStep:
    """What to do now."""
    again = f"amd-doctor tune{around.repeated}"
    if result.ending == "budget-too-small":
        seconds = math.ceil(_needed_seconds(result) * _MORE_THAN_NEEDED / 10) * 10
        return NextStep(say("Next, with a little more than that:"), f"{again} --budget {seconds}s{around.command}")
    if result.ending == "default-failed":
        if result.plan.workloads == ("command",):
            return NextStep(say("Next: run your command by itself, until it works."))
        return NextStep(say("Next, to see what is wrong with the PyTorch here:"), "amd-doctor check")
    if result.export is not None or (result.devices is not None and result.devices.variables):
        return _use(result, around, again)
    more = _seconds_for_devices(result)
    if more is not None:
        return NextStep("Next, to compare the devices:", f"{again} --budget {more}s")
    seconds_or_none = deciding_budget_seconds(result)
    if seconds_or_none is not None:
        return NextStep(say("Next, to decide it:"), f"{again} --budget {seconds_or_none}s{around.command}")
    return NextStep(say("Nothing to do: what you have now stays."))


def _seconds_for_devices(result: TuneResult) -> int | None:
    """A budget that leaves the devices what they lacked: they get about half of it."""
    if result.devices is None or result.devices.needed_seconds is None:
        return None
    return math.ceil((result.plan.budget_seconds + 2.5 * result.devices.needed_seconds) / 60) * 60


def _use(result: TuneResult, around: Around, again: str) -> NextStep:
    """How to use what is faster."""
    if not around.env_file:
        if around.saved:
            kept = f"amd-doctor tune --resume --write-env{around.command}"
            return NextStep(say("Next, to have it in a file, without measuring again:"), kept)
        return NextStep(say("Next, to have it in a file:"), f"{again} --write-env{around.command}")
    if around.env_empty:
        return NextStep(say("Nothing to do: what is faster can stand in no file, which says why."))
    best = best_of(result)
    if not around.use or (best is not None and best.setting.cpus is not None):
        return NextStep(say("Next, to start your program with it:"), around.run)
    return NextStep(say("Next, to use it:"), around.use)


def other_use(result: TuneResult, around: Around) -> NextStep | None:
    """The second way to use what is faster; None where there is one only."""
    best = best_of(result)
    if not around.env_file or best is None or not around.use:
        return None
    if best.setting.cpus is None:
        return NextStep(say("For one program only:"), around.run)
    if result.export_variables is not None:
        return NextStep(say("The variables alone:"), around.use)
    return None
