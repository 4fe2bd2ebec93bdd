"""What a process can tell about itself while it times something: clocks of its CPUs, switches, memory, its mask.

`worker.py` loads this file by its path. Everything is None where this system does not tell. Standard library only;
Python 3.8 syntax.
"""

import os
from statistics import median

#: So many CPUs are asked for their clock.
_ASKED_CPUS = 16
#: Without cpufreq, /proc/cpuinfo tells the clocks, but asks every CPU there is for it.
_MOST_CPUS_OF_CPUINFO = 64

_LAST_CPU, _USER_TICKS, _SYSTEM_TICKS = 36, 11, 12  # fields of /proc/<pid>/stat behind the name


def text_of(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


def affinity():
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return None


def busiest_cpus(threads):
    """The CPUs on which the threads with the most CPU time were last seen."""
    try:
        tasks = os.listdir("/proc/self/task")
    except OSError:
        return []
    seen = []
    for task in tasks:
        text = text_of("/proc/self/task/%s/stat" % task)
        fields = text.rpartition(")")[2].split() if text else []
        if len(fields) > _LAST_CPU:
            seen.append((int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS]), int(fields[_LAST_CPU])))
    seen.sort(reverse=True)
    return sorted({cpu for _, cpu in seen[: min(threads, _ASKED_CPUS)]})


def clock_mhz(threads):
    """The median clock of the CPUs in use."""
    clocks = []
    for cpu in busiest_cpus(threads):
        text = text_of("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq" % cpu)
        if text is None:
            return clock_of_cpuinfo()
        if text.strip().isdigit():
            clocks.append(int(text) / 1000.0)
    return median(clocks) if clocks else None


def clock_of_cpuinfo():
    if (os.cpu_count() or 1) > _MOST_CPUS_OF_CPUINFO:
        return None
    lines = (text_of("/proc/cpuinfo") or "").splitlines()
    clocks = [line.partition(":")[2].strip() for line in lines if line.startswith("cpu MHz")]
    try:
        return median(map(float, clocks)) if clocks else None
    except ValueError:
        return None


def switches():
    """Voluntary and involuntary context switches so far."""
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nvcsw, used.ru_nivcsw


def peak_resident_bytes():
    """Not from getrusage on Linux: what it tells there starts with what the parent had."""
    status = text_of("/proc/self/status")
    for line in (status or "").splitlines():
        words = line.split()
        if line.startswith("VmHWM:") and len(words) == 3:
            return int(words[1]) * 1024
    if os.name == "nt":
        return peak_of_windows()
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak_of_windows():
    import ctypes
    from ctypes import wintypes

    class Counters(ctypes.Structure):  # PROCESS_MEMORY_COUNTERS
        _fields_ = [("cb", wintypes.DWORD), ("faults", wintypes.DWORD), ("peak", ctypes.c_size_t)] + [
            ("other%d" % at, ctypes.c_size_t) for at in range(7)
        ]

    counters = Counters()
    counters.cb = ctypes.sizeof(counters)
    ask = ctypes.windll.psapi.GetProcessMemoryInfo
    ask.argtypes = [wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD]
    this = ctypes.windll.kernel32.GetCurrentProcess
    this.restype = wintypes.HANDLE
    return counters.peak if ask(this(), ctypes.byref(counters), counters.cb) else None


def free_bytes():
    """Memory that new data may take without pushing anything out."""
    for line in (text_of("/proc/meminfo") or "").splitlines():
        words = line.split()
        if line.startswith("MemAvailable:") and len(words) == 3:
            return int(words[1]) * 1024
    return None
