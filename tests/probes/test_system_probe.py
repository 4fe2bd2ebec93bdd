"""Distribution, kernel, WSL, containers and hypervisors, on machines written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.machine.model import Os
from doctor.probes.system import probe
from doctor.sources.recording import RecordingSource

NOT_THERE = {"/.dockerenv": {"exists": False}, "/run/.containerenv": {"exists": False}}
THERE = {"exists": True}
DMI = "/sys/class/dmi/id"


def system(files: dict[str, str] | None = None, **parts: Any) -> Os:
    found = probe(RecordingSource({"platform": "linux", "files": files or {}, **parts}, "test")).facts["os"]
    assert isinstance(found, Os)
    return found


def cpuinfo(*flags: str) -> dict[str, str]:
    return {"/proc/cpuinfo": "processor\t: 0\nflags\t\t: " + " ".join(["fpu", "vme", *flags]) + "\nbugs\t\t: \n"}


def firmware(vendor: str, product: str) -> dict[str, str]:
    return {f"{DMI}/sys_vendor": vendor + "\n", f"{DMI}/product_name": product + "\n"}


def test_a_desktop() -> None:
    found = system(
        {
            "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nVERSION_ID="24.04"\n',
            "/proc/cmdline": "BOOT_IMAGE=/vmlinuz quiet amdgpu.gttsize=8192\n",
            **cpuinfo("avx2"),
            **firmware("ASUS", "System Product Name"),
        },
        access=NOT_THERE,
        api={
            "uname": {"system": "Linux", "release": "6.8.0-45-generic", "version": "#45", "machine": "x86_64"},
            "identity": {"euid": 1000, "gids": [1000, 44], "group_names": ["me", "video"], "groups_in_file": ["video"]},
        },
    )
    assert found == Os(
        kind="linux",
        name="Ubuntu 24.04.1 LTS",
        version="24.04",
        kernel="6.8.0-45-generic",
        wsl=0,
        container="none",
        hypervisor="none",
        kernel_cmdline="BOOT_IMAGE=/vmlinuz quiet amdgpu.gttsize=8192",
        group_ids=(1000, 44),
        group_names=("me", "video"),
        groups_in_file=("video",),
        is_root=False,
    )


def test_a_foreign_tree_knows_little_and_claims_nothing() -> None:
    assert system(cpuinfo("avx2")) == Os(kind="linux")


@pytest.mark.parametrize(
    ("release", "wsl"),
    [
        ("5.15.153.1-microsoft-standard-WSL2", 2),
        ("6.6.36.3-microsoft-standard", 2),
        ("4.4.0-19041-Microsoft", 1),
        ("6.8.0-45-generic", 0),
        ("4.19.104-microsoft-custom+", 2),
    ],
)
def test_wsl_by_the_name_of_the_kernel(release: str, wsl: int) -> None:
    assert system({"/proc/sys/kernel/osrelease": release + "\n"}).wsl == wsl
    version = f"Linux version {release} (somebody@build) (gcc version 11) #1 SMP\n"
    found = system({"/proc/version": version})
    assert (found.wsl, found.kernel) == (wsl, release)


def test_wsl_with_a_kernel_of_its_own() -> None:
    found = system({"/proc/sys/kernel/osrelease": "6.9.1-mine\n"}, access={"/run/WSL": THERE, **NOT_THERE})
    assert (found.wsl, found.hypervisor, found.container) == (2, "hyperv", "none")


@pytest.mark.parametrize(
    ("files", "access", "kind"),
    [
        ({}, {"/.dockerenv": THERE}, "docker"),
        ({}, {"/run/.containerenv": THERE, "/.dockerenv": {"exists": False}}, "podman"),
        ({}, {"/var/run/secrets/kubernetes.io": THERE, "/.dockerenv": THERE}, "kubernetes"),
        ({"/proc/self/cgroup": "4:cpu:/kubepods/burstable/pod7/5f\n"}, {"/.dockerenv": THERE}, "kubernetes"),
        ({"/proc/self/cgroup": "4:cpu:/docker/5f1\n"}, NOT_THERE, "docker"),
        ({"/proc/self/cgroup": "0::/system.slice/docker-5f1.scope\n"}, NOT_THERE, "docker"),
        ({"/proc/self/cgroup": "0::/machine.slice/libpod-5f1.scope\n"}, {}, "podman"),
        ({"/proc/self/cgroup": "0::/lxc.payload.web/init.scope\n"}, {}, "lxc"),
        ({"/proc/self/cgroup": "4:cpu:/lxc/web\n"}, {}, "lxc"),
        ({"/run/systemd/container": "lxc\n"}, {}, "lxc"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, {}, "other"),
        ({"/run/systemd/container": "wsl\n"}, NOT_THERE, "none"),
        ({"/proc/self/cgroup": "0::/user.slice/user-1000.slice/docker.service\n"}, NOT_THERE, "none"),
        ({"/proc/self/cgroup": "0::/\n"}, {}, None),
        ({}, {"/.dockerenv": {"exists": False}}, None),
    ],
)
def test_containers(files: dict[str, str], access: dict[str, Any], kind: str | None) -> None:
    assert system(files, access=access).container == kind


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/7/diff", "docker"),
        ("lowerdir=/home/x/.local/share/containers/storage/overlay/l/A", "podman"),
        ("lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/9/fs", "other"),
        ("lowerdir=/run/live/rootfs/filesystem.squashfs,upperdir=/run/live/overlay/rw", "none"),
    ],
)
def test_the_root_of_a_container_without_marks(options: str, kind: str) -> None:
    mounts = f"500 400 0:60 / / rw,relatime - overlay overlay rw,{options}\n36 500 0:5 / /proc rw - proc proc rw\n"
    assert system({"/proc/self/mountinfo": mounts}, access=NOT_THERE).container == kind


def test_a_docker_mount_that_is_not_the_root_proves_nothing() -> None:
    folder = "/var/lib/docker/overlay2/7"
    mounts = f"77 30 0:60 / {folder}/merged rw - overlay overlay rw,upperdir={folder}/diff\n"
    assert system({"/proc/self/mountinfo": mounts}, access=NOT_THERE).container == "none"


@pytest.mark.parametrize(
    ("vendor", "product", "flag", "kind"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "hypervisor", "kvm"),
        ("VMware, Inc.", "VMware Virtual Platform", "hypervisor", "vmware"),
        ("innotek GmbH", "VirtualBox", "avx2", "virtualbox"),
        ("Microsoft Corporation", "Virtual Machine", "hypervisor", "hyperv"),
        ("Microsoft Corporation", "Surface Laptop 4", "avx2", "none"),
        ("Xen", "HVM domU", "hypervisor", "xen"),
        ("Amazon EC2", "m7a.large", "hypervisor", "kvm"),
        ("Amazon EC2", "m7a.metal-48xl", "avx2", "none"),
        ("Somebody", "Something", "hypervisor", "other"),
        ("LENOVO", "21A1", "avx2", "none"),
    ],
)
def test_hypervisors(vendor: str, product: str, flag: str, kind: str) -> None:
    assert system({**cpuinfo(flag), **firmware(vendor, product)}).hypervisor == kind


def test_a_missing_flag_alone_is_no_proof_of_bare_metal() -> None:
    # VirtualBox guests with the "none" paravirtualisation interface lack the flag.
    assert system(cpuinfo("avx2")).hypervisor is None
    assert system(firmware("LENOVO", "21A1")).hypervisor is None
    assert system(cpuinfo("hypervisor")).hypervisor == "other"
    assert system({"/sys/hypervisor/type": "xen\n"}).hypervisor == "xen"


def test_root_is_known_from_the_effective_id() -> None:
    assert system(api={"identity": {"euid": 0, "gids": [], "group_names": [], "groups_in_file": []}}).is_root is True


def test_a_mac_is_only_named() -> None:
    assert probe(RecordingSource({"platform": "macos"}, "test")).facts["os"] == Os(kind="macos")
