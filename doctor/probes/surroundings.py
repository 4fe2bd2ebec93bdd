"""What a Linux runs inside of: WSL, a container, a virtual machine. Absence is claimed only where it was looked for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.sources.base import Missing, Source, value_or

#: Words of systemd and of container engines for themselves. systemd counts WSL as a container; the document does not.
_MANAGERS = {"docker": "docker", "podman": "podman", "lxc": "lxc", "lxc-libvirt": "lxc", "wsl": ""}

#: What a control group path, or the place of an overlay root, gives away.
_PLACES = (
    ("kubernetes", re.compile(r"kubepods")),
    ("podman", re.compile(r"/libpod[-_]|containers/storage/overlay")),
    ("docker", re.compile(r"/docker[-/]|/var/lib/docker/|/snap/docker/")),
    ("lxc", re.compile(r"/lxc(\.payload)?[./]")),
    ("other", re.compile(r"containerd")),
)

_KUBERNETES = ("/var/run/secrets/kubernetes.io", "/run/secrets/kubernetes.io")

#: What firmware tables of virtual machines say, in the order of trial.
_FIRMWARE = (
    ("virtualbox", re.compile(r"virtualbox|innotek", re.IGNORECASE)),
    ("vmware", re.compile(r"vmware", re.IGNORECASE)),
    ("hyperv", re.compile(r"microsoft corporation\n+virtual machine", re.IGNORECASE)),
    ("xen", re.compile(r"\bxen\b|hvm domu", re.IGNORECASE)),
    ("kvm", re.compile(r"\b(qemu|kvm|bochs|openstack|proxmox|ovirt)\b|red hat\n+rhev", re.IGNORECASE)),
    ("other", re.compile(r"\b(parallels|bhyve)\b", re.IGNORECASE)),
)
#: Clouds whose firmware names the cloud: on KVM where the CPU says that there is a hypervisor, else bare metal.
_CLOUD_KVM = re.compile(r"amazon ec2|google compute engine|digitalocean|alibaba cloud|hetzner", re.IGNORECASE)
_DMI = "/sys/class/dmi/id"


def wsl(source: Source, kernel: str | None) -> int | None:
    """0, 1 or 2; None where the kernel's name is unknown."""
    words = " ".join([kernel or "", value_or(source.text("/proc/version"), "")])
    if not words.strip():
        return None
    if "microsoft" in words.lower():
        # WSL 1 has no kernel of its own: "4.4.0-19041-Microsoft". WSL 2: "5.15.153.1-microsoft-standard-WSL2".
        return 1 if re.search(r"\b4\.4\.0-\d+-Microsoft\b", words) else 2
    # A kernel that the user built himself may be called anything; WSL's own folder is there all the same.
    return 2 if _exists(source, "/run/WSL") else 0


def container(source: Source) -> str | None:
    """The kind of container; `"none"` only where the usual marks were looked for and are missing."""
    if any(_exists(source, path) for path in _KUBERNETES):
        return "kubernetes"
    places = _places(source)
    if "kubernetes" in places:
        return "kubernetes"
    named = value_or(source.text("/run/systemd/container"), "").strip().lower()
    if _MANAGERS.get(named):
        return _MANAGERS[named]
    if _exists(source, "/run/.containerenv"):
        return "podman"
    if _exists(source, "/.dockerenv"):
        return "docker"
    if places:
        return places[0]
    if named and named not in _MANAGERS:
        return "other"
    looked = [source.access(path) for path in ("/.dockerenv", "/run/.containerenv")]
    return None if any(isinstance(answer, Missing) for answer in looked) else "none"


def _places(source: Source) -> list[str]:
    text = value_or(source.text("/proc/self/cgroup"), "")
    for line in value_or(source.text("/proc/self/mountinfo"), "").splitlines():
        front, _, back = line.partition(" - ")
        fields = front.split(" ")
        if len(fields) > 4 and fields[4] == "/" and back.startswith("overlay "):
            text += "\n" + back
    return [kind for kind, pattern in _PLACES if pattern.search(text)]


def hypervisor(source: Source, wsl_: int | None) -> str | None:
    """The kind of virtual machine; `"none"` where neither the CPU nor the firmware names one, and both were read."""
    if wsl_ == 2:
        return "hyperv"
    flagged = _hypervisor_flag(source)
    if value_or(source.text("/sys/hypervisor/type"), "").strip() == "xen":
        return "xen"
    firmware = _firmware(source)
    text = "\n".join(firmware.values())
    named = next((kind for kind, pattern in _FIRMWARE if pattern.search(text)), None)
    if named is not None:
        return named
    if flagged:
        return "kvm" if _CLOUD_KVM.search(text) else "other"
    return "none" if flagged is False and firmware else None


def _firmware(source: Source) -> Mapping[str, str]:
    """The firmware's names for the machine, as far as everybody may read them."""
    found = {}
    for name in ("sys_vendor", "product_name", "board_vendor", "bios_vendor"):
        text = source.text(f"{_DMI}/{name}")
        if not isinstance(text, Missing) and text.strip():
            found[name] = text.strip()
    return found


def _hypervisor_flag(source: Source) -> bool | None:
    """Whether the CPU says that it is virtual; None where its flags are unknown."""
    cpuinfo = value_or(source.text("/proc/cpuinfo"), "")
    at = cpuinfo.find("\nflags")
    if at < 0:
        return None
    return "hypervisor" in cpuinfo[at + 1 :].partition("\n")[0].split()


def _exists(source: Source, path: str) -> bool:
    answer = source.access(path)
    return not isinstance(answer, Missing) and answer.exists
