"""What `systeminfo` and `dxdiag /t` say about a Windows machine."""

from __future__ import annotations

from doctor.machine.model import Cpu, Gpu, Machine, Memory, Os, Windows
from doctor.pasted.parts import Part, PartReader, origins_of
from doctor.texts.dxdiag import DisplayDevice, Dxdiag, looks_like_dxdiag, read_dxdiag
from doctor.texts.systeminfo import Systeminfo, looks_like_systeminfo, read_systeminfo

_SCREENS = "dxdiag lists a GPU once per screen: two cards of one kind look the same as one with two screens"


def read_systeminfo_part(text: str) -> Part | None:
    """The output of systeminfo. Its sizes are whole mebibytes."""
    info = read_systeminfo(text)
    if info is None:
        return None
    memory = Memory(total_bytes=info.total_bytes, available_bytes=info.available_bytes)
    machine = Machine(
        os=Os(kind="windows", name=info.product, kernel=info.kernel, wsl=0),
        windows=None if info.build is None else Windows(build=info.build),
        cpu=_cpu(info),
        memory=None if memory == Memory() else memory,
    )
    return Part("systeminfo", machine, origins_of(machine, "systeminfo"), (info.first, info.end))


def _cpu(info: Systeminfo) -> Cpu | None:
    if not info.processors:
        return None
    first = info.processors[0]
    return Cpu(
        vendor=first.vendor,
        family=first.family,
        model=first.model,
        stepping=first.stepping,
        sockets=len(info.processors) if info.processors_complete else None,
    )


def read_dxdiag_part(text: str) -> Part | None:
    """The output of dxdiag, or a piece of it. Its sizes are whole mebibytes."""
    told = read_dxdiag(text)
    if told is None:
        return None
    machine = Machine(
        os=Os(kind="windows", name=told.product, kernel=told.kernel, wsl=0),
        windows=_windows(told),
        cpu=Cpu(name=told.processor, logical_cpus=told.logical_cpus) if told.processor else None,
        memory=Memory(total_bytes=told.total_bytes) if told.total_bytes else None,
        gpus=tuple(_gpu(device) for device in told.devices) or None,
    )
    note = _SCREENS if any(device.screens > 1 for device in told.devices) else None
    return Part("dxdiag", machine, origins_of(machine, "dxdiag"), (told.first, told.end), note)


def _gpu(device: DisplayDevice) -> Gpu:
    return Gpu(
        name=device.name,
        pci_id=device.pci_id,
        vendor=_vendor(device),
        dedicated_bytes=device.dedicated_bytes,
        shared_bytes=device.shared_bytes,
        driver_version=device.driver_version,
        driver_date=device.driver_date,
    )


_VENDORS = {"1002": "amd", "10de": "nvidia", "8086": "intel"}
_NAMES = {"radeon": "amd", "amd": "amd", "nvidia": "nvidia", "geforce": "nvidia", "intel": "intel"}


def _vendor(device: DisplayDevice) -> str:
    """By the PCI id; by the name where that was not pasted along."""
    if device.pci_id is not None:
        return _VENDORS.get(device.pci_id.partition(":")[0], "other")
    lower = device.name.lower()
    return next((vendor for sign, vendor in _NAMES.items() if sign in lower), "other")


def _windows(told: Dxdiag) -> Windows | None:
    """Hardware scheduling is one switch of the system; adapters without support say that it is off."""
    switches = {device.hardware_scheduling for device in told.devices}
    scheduling = True if True in switches else False if switches == {False} else None
    found = Windows(build=told.build, gpu_scheduling=scheduling)
    return None if found == Windows() else found


SYSTEMINFO = PartReader("systeminfo", looks_like_systeminfo, read_systeminfo_part)
DXDIAG = PartReader("dxdiag", looks_like_dxdiag, read_dxdiag_part)
