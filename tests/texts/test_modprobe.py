"""modprobe's files, lists of modules, and the small files of a PCI device."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.amdgpu_ids import product_name
from doctor.texts.modprobe import Modprobe, read_modprobe, read_modules
from doctor.texts.uevent import PciDevice, read_pci_uevent
from doctor.texts.uma_carveout import read_carveout_options

TTM = "# 96 GiB\noptions ttm pages_limit=25165824 page_pool_size=25165824\n"
BLACKLIST = """\
blacklist amdgpu # an old card
install radeon /bin/true
alias vfio-pci x
options vfio-pci \\
  ids=1002:744c
"""


def test_options_and_blacklist() -> None:
    assert read_modprobe([TTM, BLACKLIST]) == Modprobe(
        options={"ttm": "pages_limit=25165824 page_pool_size=25165824", "vfio_pci": "ids=1002:744c"},
        blacklisted=("amdgpu", "radeon"),
    )


def test_an_install_line_that_loads_it_all_the_same_is_no_blacklist() -> None:
    assert read_modprobe(["install amdgpu /sbin/modprobe --ignore-install amdgpu\n"]) == Modprobe()


def test_modules() -> None:
    proc = "amdgpu 17842176 27 - Live 0x0000000000000000\namdxcp 12288 1 amdgpu, Live 0x0000000000000000\n"
    assert read_modules(proc) == ("amdgpu", "amdxcp")
    assert read_modules("Module                  Size  Used by\namdgpu              17842176  27\n") == ("amdgpu",)


UEVENT = "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SUBSYS_ID=1EAE:7901\nPCI_SLOT_NAME=0000:03:00.0\n"


def test_a_device() -> None:
    assert read_pci_uevent(UEVENT) == PciDevice("1002:744c", 0x030000, "amdgpu")


def test_a_device_without_a_driver() -> None:
    assert read_pci_uevent(UEVENT.replace("DRIVER=amdgpu\n", "")) == PciDevice("1002:744c", 0x030000, "none")
    assert read_pci_uevent("MODALIAS=usb:1\n") is None


def test_product_names() -> None:
    ids = "# comment\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n"
    ids += "7481,   C7,     AMD X\n"
    assert product_name(ids, "1002:744c", 0xC8) == "AMD Radeon RX 7900 XTX"
    assert product_name(ids, "1002:7481", 0xC7) == "AMD X"
    assert product_name(ids, "1002:744c", 0xC9) is None and product_name(ids, "10de:744c", 0xC8) is None


def test_carve_outs() -> None:
    text = "0: Minimum (512 MB)\n1:  (1 GB)\n2: Medium (16 GB)\nnonsense\n"
    assert read_carveout_options(text) == (512 << 20, 1 << 30, 16 << 30)


_words = st.sampled_from(["options", "blacklist", "install", "ttm", "amdgpu", "a=1", "#", "\\", "744C,", "C8,", "A=x"])


@given(st.text() | st.lists(_words | st.text(max_size=9)).map(" ".join), st.integers(0, 255))
def test_never_raises(text: str, revision: int) -> None:
    assert isinstance(read_modprobe([text]), Modprobe)
    assert isinstance(read_modules(text), tuple)
    assert isinstance(read_pci_uevent(text), PciDevice | None)
    assert isinstance(product_name(text, "1002:744c", revision), str | None)
    assert isinstance(read_carveout_options(text), tuple)
