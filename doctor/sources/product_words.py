"""Words that stay even where a user or a host is called so: of hardware, of software, of file systems.

An account called `amd`, `max` or `gpu` is common, and so are those words in every text that is read. Such a name says
little about a person; replaced, it would take the facts with it. Its home folder is taken out nevertheless.
"""

from __future__ import annotations

_HARDWARE = """
amd ati intel nvidia arm hygon ryzen threadripper epyc athlon opteron phenom radeon vega navi rdna cdna gfx zen
instinct firepro renoir cezanne lucienne rembrandt phoenix raphael mendocino barcelo strix krackan granite ridge genoa
milan rome naples turin bergamo vangogh dragon range hawk point halo polaris ellesmere baffin fiji tonga hawaii gpu
igpu dgpu cpu apu npu gpus cpus ram vram gtt dimm sodimm ddr4 ddr5 lpddr5 memory cache core cores thread threads
socket node numa die ccd ccx smt avx avx2 avx512 fma sse bios uefi pci pcie usb nvme disk drm kfd render video card
bus boost turbo governor performance powersave power saver balanced ondemand schedutil conservative battery mains
charger pro max mini ultra plus mobile desktop laptop notebook server workstation tablet graphics processor series
edition
"""

_SOFTWARE = """
torch pytorch tensorflow jax onnx onnxruntime directml rocm hip hsa miopen rocblas hipblas cuda mkl openblas blis
openmp gomp libgomp numpy scipy python python3 cpython pypy pip uv conda anaconda anaconda3 miniconda miniconda3
miniforge mamba micromamba poetry pipx venv env virtualenv jupyter jupyterhub notebook lab colab kaggle triton onednn
aten ollama comfyui diffusers transformers accelerate amdgpu radv mesa linux gnu kernel windows microsoft darwin macos
ubuntu debian fedora redhat rhel centos rocky alma arch archlinux manjaro gentoo opensuse suse nixos mint kali alpine
android chromeos steam steamos deck wsl docker podman kubernetes kubepods lxc containerd hyperv kvm qemu vmware
virtualbox xen azure aws generic preempt dynamic smp ttm fbdev quiet splash vfio iommu amd_pstate systemd udev dbus
gdm sddm lightdm display train infer inference benchmark matmul conv conv1x1 optimizer import dtype exception signal
timeout wrong skipped exited
"""

_SYSTEM = """
root admin administrator administrateur administrador user users guest default public shared test tester dev devel
developer build builder ci runner jenkins nobody daemon service services system session slice scope app apps init
vagrant home usr lib lib64 bin sbin opt var etc tmp temp sys proc run mnt media boot efi srv data local share include
src lost class devices device module modules driver drivers firmware block net fs cgroup cpuset cpuacct memory pids
unified online offline possible present index size type level name names model vendor family stepping flags version
release machine host hostname localhost localdomain domain lan internal none null true false yes not auto off active
passive group groups wheel sudo adm mail backup games staff input plugdev lpadmin sambashare libvirt nogroup all any
the and options softdep blacklist install alias file folder line text error warning info missing unknown
"""

#: What stands in the place of personal data must not be replaced itself.
_PSEUDONYMS = "uuid serial label email mac sid removed secret token"

PRODUCT_WORDS = frozenset(f"{_HARDWARE} {_SOFTWARE} {_SYSTEM} {_PSEUDONYMS}".split())
