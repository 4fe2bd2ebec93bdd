"""Which Windows this is, whether it runs in a virtual machine, and the settings of it that matter to PyTorch."""

from __future__ import annotations

from doctor.machine.model import Os, Windows
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source

_CURRENT_VERSION = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
_BIOS = r"HKLM\HARDWARE\DESCRIPTION\System\BIOS"
_GAME_BAR = r"HKCU\Software\Microsoft\GameBar"
_GRAPHICS = r"HKLM\SYSTEM\CurrentControlSet\Control\GraphicsDrivers"
_FILE_SYSTEM = r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem"
_CODE_INTEGRITY = r"HKLM\SYSTEM\CurrentControlSet\Control\CI\Policy"
_VC_RUNTIMES = (
    r"HKLM\SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64",
    r"HKLM\SOFTWARE\WOW6432Node\Microsoft\VisualStudio\14.0\VC\Runtimes\X64",
)

#: The first build that calls itself Windows 11; its ProductName in the registry still says Windows 10.
_WINDOWS_11_BUILD = 22000
#: The first build that has Smart App Control (22H2).
_SMART_APP_CONTROL_BUILD = 22621

#: What the SMBIOS of virtual machines says of its maker and model, in lower case.
_GUESTS = (
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("qemu", "kvm"),
    ("kvm", "kvm"),
    ("google compute engine", "kvm"),
    ("amazon ec2", "kvm"),
    ("openstack", "kvm"),
    ("xen", "xen"),
    ("hvm domu", "xen"),
    ("parallels", "other"),
    ("bhyve", "other"),
    ("microsoft corporation virtual machine", "hyperv"),
)


def probe(source: Source) -> Found:
    version = source.api("windows-version")
    build = _build(source, version)
    unknowns = []
    if build is None:
        missing = version if isinstance(version, Missing) else Missing("probe-failed", "no build number")
        unknowns.append(unknown("windows.build", missing))
    display = _text(source, _CURRENT_VERSION, "DisplayVersion")
    system = Os(
        kind="windows",
        name=_name(source, version, build, display),
        version=display,
        kernel=_kernel(version, build),
        wsl=0,
        hypervisor=_hypervisor(source),
    )
    windows = Windows(
        build=build,
        game_mode=_switch(source, _GAME_BAR, "AutoGameModeEnabled", on=1, off=0),
        gpu_scheduling=_switch(source, _GRAPHICS, "HwSchMode", on=2, off=1),
        vc_runtime=_vc_runtime(source),
        smart_app_control=_smart_app_control(source, build),
        long_paths=_switch(source, _FILE_SYSTEM, "LongPathsEnabled", on=1, off=0),
    )
    return Found(
        facts={"os": system, "windows": windows},
        unknowns=tuple(unknowns),
        origins={
            "os.name": _CURRENT_VERSION,
            "os.kernel": "RtlGetVersion",
            "os.hypervisor": _BIOS,
            "windows.build": "RtlGetVersion",
            "windows.game_mode": _GAME_BAR,
            "windows.gpu_scheduling": _GRAPHICS,
            "windows.vc_runtime": _VC_RUNTIMES[0],
            "windows.smart_app_control": _CODE_INTEGRITY,
            "windows.long_paths": _FILE_SYSTEM,
        },
    )


def _text(source: Source, key: str, value: str) -> str | None:
    answer = source.registry(key, value)
    return answer.strip() or None if isinstance(answer, str) else None


def _field(version: object, name: str) -> int | None:
    value = version.get(name) if isinstance(version, dict) else None
    return value if isinstance(value, int) else None


def _build(source: Source, version: object) -> int | None:
    build = _field(version, "build")
    if build is None:
        text = _text(source, _CURRENT_VERSION, "CurrentBuildNumber") or ""
        build = int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None
    return build


def _kernel(version: object, build: int | None) -> str | None:
    major, minor = _field(version, "major"), _field(version, "minor")
    return f"{major}.{minor}.{build}" if None not in (major, minor, build) else None


def _name(source: Source, version: object, build: int | None, display: str | None) -> str | None:
    """`Windows 11 Pro 24H2`."""
    product = version.get("product") if isinstance(version, dict) else None
    if not isinstance(product, str) or not product.strip():
        product = _text(source, _CURRENT_VERSION, "ProductName")
    if not product:
        return None
    if build is not None and build >= _WINDOWS_11_BUILD and product.startswith("Windows 10"):
        product = product.replace("Windows 10", "Windows 11", 1)
    return f"{product.strip()} {display}" if display else product.strip()


def _hypervisor(source: Source) -> str | None:
    """By what the SMBIOS says of the machine. The hypervisor bit of CPUID would not do: it is also set on bare metal
    where Windows itself runs on Hyper-V (memory integrity, WSL2), which is the default of Windows 11."""
    maker = _text(source, _BIOS, "SystemManufacturer")
    product = _text(source, _BIOS, "SystemProductName")
    if maker is None and product is None:
        return None
    words = f"{maker or ''} {product or ''}".lower()
    return next((name for sign, name in _GUESTS if sign in words), "none")


def _switch(source: Source, key: str, value: str, *, on: int, off: int) -> bool | None:
    """A setting that is missing until somebody changes it: then its default depends on the build and the driver."""
    answer = source.registry(key, value)
    return {on: True, off: False}.get(answer) if isinstance(answer, int) else None


def _vc_runtime(source: Source) -> str | None:
    """Version of the installed Visual C++ runtime for x64: `14.44`; `none` where no installer left a trace."""
    absent = 0
    for key in _VC_RUNTIMES:
        installed = source.registry(key, "Installed")
        if isinstance(installed, Missing):
            absent += installed.reason == "absent"
            continue
        major, minor = source.registry(key, "Major"), source.registry(key, "Minor")
        if installed and isinstance(major, int) and isinstance(minor, int):
            return f"{major}.{minor}"
        absent += not installed
    return "none" if absent == len(_VC_RUNTIMES) else None


def _smart_app_control(source: Source, build: int | None) -> bool | None:
    """True only where it blocks (1). While it merely watches (2) it stops nothing."""
    state = source.registry(_CODE_INTEGRITY, "VerifiedAndReputablePolicyState")
    if isinstance(state, int):
        return state == 1
    if isinstance(state, Missing) and state.reason == "absent" and build is not None:
        return False if build < _SMART_APP_CONTROL_BUILD else None
    return None
