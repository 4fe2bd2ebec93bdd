"""What is tried on a device itself: variables of ROCm, which are searched and confirmed, and ways to write the code,
which are compared within one process and told as estimates.

Where a variable's default depends on the chip, both values are tried: hipBLASLt is the default on Instinct and RDNA 4,
rocBLAS elsewhere (pytorch, aten/src/ATen/Context.h), and which is faster on an APU no table tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from doctor.measure.units import Setting
from doctor.tune.devices.device import Device
from doctor.tune.devices.ladder import Family

HIPBLASLT, FIND_MODE, VISIBLE = "TORCH_BLAS_PREFER_HIPBLASLT", "MIOPEN_FIND_MODE", "HIP_VISIBLE_DEVICES"

_CONVOLUTIONS = "conv-train"


class DeviceArm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A setting of the device. `device`: what PyTorch calls it under this setting, where that is another name."""

    name: str
    title: str
    variables: dict[str, str | None]
    device: str = ""


class Way(msgspec.Struct, frozen=True, omit_defaults=True):
    """A way to write the code: `options` beside `base_options`, on these families. `changes_numbers`: its answers may
    differ a little. `code` is what a user writes."""

    name: str
    title: str
    options: dict[str, str]
    families: tuple[str, ...]
    base_options: dict[str, str] = {}
    code: tuple[str, ...] = ()
    changes_numbers: bool = False


def setting_of(device: Device, tuned: Setting, arm: DeviceArm | None = None) -> Setting:
    """What a process of a device runs under: what was found for the CPU, since the file will hold that as well; its own
    variables; and itself as the device. The batch size and other options of the CPU's setting do not come along."""
    variables = {**tuned.variables, **(arm.variables if arm is not None else {})}
    name = arm.device if arm is not None and arm.device else device.name
    return Setting(variables, tuned.cpus, {"device": name})


def arms_of(device: Device, families: Sequence[Family], environ: Mapping[str, str]) -> tuple[DeviceArm, ...]:
    """In their order of priority: what a small budget leaves out comes last."""
    return tuple(_rocm_arms(device, families, environ)) if device.backend == "rocm" else ()


def _rocm_arms(device: Device, families: Sequence[Family], environ: Mapping[str, str]) -> Iterator[DeviceArm]:
    own = environ.get(HIPBLASLT, "").strip().lower()
    for value, title in (("1", "products by hipBLASLt"), ("0", "products by rocBLAS")):
        if own != value:
            yield DeviceArm(f"{HIPBLASLT.lower()}-{value}", title, {HIPBLASLT: value})
    if any(family.name == _CONVOLUTIONS for family in families):
        for mode, title in (("FAST", "convolutions without a search"), ("NORMAL", "convolutions after a full search")):
            if environ.get(FIND_MODE, "").strip().upper() != mode:
                yield DeviceArm(f"find-mode-{mode.lower()}", title, {FIND_MODE: mode})
    if device.hip_index is not None:
        yield DeviceArm("alone", f"only {device.title} visible", {VISIBLE: str(device.hip_index)}, device="cuda:0")


def ways_of(device: Device, families: Sequence[Family]) -> tuple[Way, ...]:
    """What the code could do otherwise on this device."""
    training = tuple(family.name for family in families if family.counts and family.trains)
    inferring = tuple(family.name for family in families if family.counts and family.name == "transformer-infer")
    found: list[Way] = []
    if device.backend == "directml":
        if training:
            found.append(_without_foreach(training))
        if inferring:
            found.append(_half(inferring))
    elif device.backend == "rocm":
        nets = training or inferring
        found += [_autocast(kind, nets) for kind in ("float16", "bfloat16")] if nets else []
    return tuple(found)


def _without_foreach(families: tuple[str, ...]) -> Way:
    return Way(
        "foreach",
        "optimizers with foreach=False",
        {"foreach": "0"},
        families,
        {"foreach": "default"},
        ("optimizer = torch.optim.Adam(model.parameters(), foreach=False)",),
    )


def _half(families: tuple[str, ...]) -> Way:
    """Autocast has no kernels there, so it is done by hand."""
    code = ("model = model.half()", "outputs = model(inputs.half())")
    return Way("half", "float16 by hand", {"half": "1"}, families, code=code, changes_numbers=True)


def _autocast(kind: str, families: tuple[str, ...]) -> Way:
    code = (f'with torch.autocast("cuda", dtype=torch.{kind}):', "    loss = loss_function(model(inputs), targets)")
    name = f"autocast-{kind}"
    return Way(name, f"autocast to {kind}", {"autocast": kind}, families, code=code, changes_numbers=True)
