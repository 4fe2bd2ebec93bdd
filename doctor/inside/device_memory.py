"""Fills the memory of a device block by block, and tells after each block where it came from. `worker.py` loads this
file by its path. Standard library and the target's torch only; Python 3.8 syntax.

It ends when the driver refuses a block, when `fill_bytes` are held, or when the machine's own memory runs short: a
machine that swaps, or whose kernel ends programs, tells nothing more.
"""

import os
import sys

_MIB = 1 << 20
_BLOCK = 128 * _MIB
#: From so much on, blocks are larger: each of them is looked at.
_MOST_BLOCKS = 64
#: What the machine keeps of its own memory: the larger of the two.
_KEPT_BYTES, _KEPT_SHARE = 1 << 30, 0.10

_CARDS = "/sys/class/drm"


def fill(torch, device, limit_bytes, grew):
    """How it ended, and the last error. `grew(row)` is called before the first block and behind each."""
    block = max(_BLOCK, limit_bytes // _MOST_BLOCKS // _MIB * _MIB)
    before = parts_in_use()
    held, blocks = 0, []
    kept = max(_KEPT_BYTES, int(_KEPT_SHARE * (total_bytes() or 0)))
    grew(row(held, before))
    while held + block <= limit_bytes:
        free = free_bytes()
        if free is not None and free - block < kept:
            return "kept-free", "the machine keeps %d MiB of its own memory" % (kept // _MIB)
        try:
            tensor = torch.empty(block // 4, dtype=torch.float32, device=device)
            tensor.fill_(1.0)
            wait(torch, device, tensor)
        except (RuntimeError, MemoryError) as error:
            lines = str(error).splitlines()
            return "refused", (lines[0] if lines else type(error).__name__)[:300]
        blocks.append(tensor)
        held += block
        grew(row(held, before))
    return "limit", ""


def wait(torch, device, tensor):
    if str(device).startswith("cuda"):
        torch.cuda.synchronize(device)
    if float(tensor[-1].item()) != 1.0:
        raise RuntimeError("what was written to the memory did not come back")


def row(held, before):
    now = parts_in_use()
    known = before is not None and now is not None
    return {
        "bytes": held,
        "dedicated_bytes": max(now[0] - before[0], 0) if known else None,
        "shared_bytes": max(now[1] - before[1], 0) if known else None,
        "free_bytes": free_bytes(),
    }


def parts_in_use():
    """Bytes in use of what was carved out and of what is shared, of all AMD cards together; None where the kernel does
    not count them."""
    found = None
    try:
        names = os.listdir(_CARDS)
    except OSError:
        return None
    for name in sorted(names):
        if name.startswith("card") and "-" not in name:
            used = [number_in("%s/%s/device/mem_info_%s_used" % (_CARDS, name, part)) for part in ("vram", "gtt")]
            if None not in used:
                found = used if found is None else [one + other for one, other in zip(found, used)]
    return found


def number_in(path):
    try:
        with open(path, encoding="ascii") as file:
            text = file.read().strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None


def free_bytes():
    return memory_of_windows()[1] if os.name == "nt" else meminfo("MemAvailable")


def total_bytes():
    return memory_of_windows()[0] if os.name == "nt" else meminfo("MemTotal")


def meminfo(field):
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                words = line.split()
                if words and words[0] == field + ":":
                    return int(words[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def memory_of_windows():
    """Total and available bytes."""
    import ctypes

    class Status(ctypes.Structure):  # MEMORYSTATUSEX
        _fields_ = [("length", ctypes.c_uint32), ("load", ctypes.c_uint32)] + [
            (name, ctypes.c_uint64) for name in ("total", "available", "a", "b", "c", "d", "e")
        ]

    status = Status()
    status.length = ctypes.sizeof(status)
    if sys.platform != "win32" or not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None, None
    return status.total, status.available
