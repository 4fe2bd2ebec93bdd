"""How a measured setting, its gain and its verdict are said: in the words of somebody who only wants to train."""

from __future__ import annotations

from doctor.machine.cpulist import parse_cpulist
from doctor.measure.units import Setting
from doctor.measure.verdict import MAX_NEEDED_PAIRS, Verdict
from doctor.present.language import joined, phrase, say
from doctor.present.text import listed, plural
from doctor.tune.confirm import Confirmation

#: From this size on a gain is told without decimals.
_WHOLE_PERCENT = 0.10

#: Variables that hold a number of threads; where several hold the same one it is said once.
_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

#: What no variable sets, in words.
_OPTIONS = {
    "device": phrase("on {value}"),
    "autocast": phrase("autocast to {value}"),
    "flush_denormal": phrase("denormals flushed to zero"),
    "interop_threads": phrase("inter-op threads {value}"),
    "intra_threads": "torch.set_num_threads({value})",
    "loader_workers": phrase("loader workers {value}"),
    "batch": phrase("batch {value}"),
    "accumulate": phrase("gradients of {value} steps added up"),
    "foreach": "foreach={value}",
}


def setting_words(setting: Setting, *, short: bool = False) -> str:
    """`12 threads on CPUs 0-11, OMP_WAIT_POLICY=PASSIVE`; the user's own setting is `the default`. `short`: the CPUs
    are counted, `12 threads on 12 CPUs`."""
    variables, words = dict(setting.variables), []
    count = next((name for name in _COUNTS if name in variables), None)
    if count is not None:
        threads = variables.pop(count)
        words.append(_threads_words(count, threads))
        variables = {name: value for name, value in variables.items() if name not in _COUNTS or value != threads}
    if setting.cpus is not None:
        place = _place_words(setting.cpus, short=short)
        words = [say("{threads} {place}", threads=words[0], place=place), *words[1:]] if words else [place]
    words += [variable_words(name, value) for name, value in variables.items()]
    words += [say(_OPTIONS.get(name, f"{name} {{value}}"), value=value) for name, value in setting.options.items()]
    return joined(words) or say("the default")


def _place_words(cpus: str, *, short: bool) -> str:
    if short:
        return say("on {cpus}", cpus=plural(len(parse_cpulist(cpus)), "CPU"))
    return say("on CPU {cpus}", cpus=cpus) if cpus.isdecimal() else say("on CPUs {cpus}", cpus=cpus)


def variable_words(name: str, value: str | None) -> str:
    return say("{name} unset", name=name) if value is None else f"{name}={value}"


def _threads_words(name: str, value: str | None) -> str:
    if value is None:
        return say("{name} unset", name=name)
    return plural(int(value), "thread") if value.isascii() and value.isdecimal() else f"{name}={value}"


def gain_words(verdict: Verdict) -> str:
    """`+18 % [14, 22]`: the gain in throughput and its 95 % interval. Small ones get a decimal."""
    if verdict.gain is None:
        return say("not measured")
    if verdict.gain_low is None or verdict.gain_high is None:
        return f"{_signed(verdict.gain, _digits(verdict.gain))} %"
    digits = _digits(verdict.gain, verdict.gain_low, verdict.gain_high)
    low, high = _number(verdict.gain_low, digits), _number(verdict.gain_high, digits)
    return f"{_signed(verdict.gain, digits)} % [{low}, {high}]"


def percent(share: float) -> str:
    """`4 %`, `0.8 %`: without a sign of its own."""
    return f"{_number(share, _digits(share))} %"


def signed_percent(share: float) -> str:
    """`+18 %`, `-0.4 %`."""
    return f"{_signed(share, _digits(share))} %"


def _digits(*shares: float) -> int:
    return 0 if any(abs(share) >= _WHOLE_PERCENT for share in shares) else 1


def _number(share: float, digits: int) -> str:
    text = f"{100 * share:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _signed(share: float, digits: int) -> str:
    text = _number(share, digits)
    return text if text.startswith("-") else f"+{text}"


def needed_words(verdict: Verdict) -> str:
    """`about 60 pairs`: what would have decided it; empty where that is not known."""
    if verdict.needed_pairs is None:
        return ""
    if verdict.needed_pairs >= MAX_NEEDED_PAIRS:
        return say("more than {count} pairs", count=MAX_NEEDED_PAIRS)
    return say("about {count} pairs", count=verdict.needed_pairs)


def verdict_words(candidate: Confirmation) -> str:
    """The verdict, and what stands against a setting that is faster."""
    if candidate.failed:
        return "failed"
    if candidate.verdict.word == "faster" and candidate.slower_on:
        return "mixed"
    return candidate.verdict.word


def workloads_words(workloads: tuple[str, ...]) -> str:
    """`gemm 1024 and mlp train`, the names as one says them; the user's own command is `your command`."""
    return listed([workload_words(name) for name in workloads])


def workload_words(name: str) -> str:
    return say("your command") if name == "command" else name.replace("-", " ")


def seconds_words(seconds: float) -> str:
    """`45 s`, `2 min 5 s`: for how long something still takes."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
