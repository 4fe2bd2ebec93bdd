"""Nothing that the doctor started outlives it."""

from __future__ import annotations

import subprocess
import sys

_STARTS_TWO_AND_ENDS_THEM = """
import subprocess, sys, time
from doctor.processes.descendants import end_descendants
sleeper = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); \
print('started', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", sleeper], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
import psutil
below = psutil.Process().children(recursive=True)
end_descendants()
gone, alive = psutil.wait_procs(below, timeout=10)
print(len(below), len(alive))
"""


def test_a_child_in_a_group_of_its_own_and_its_child_are_ended() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _STARTS_TWO_AND_ENDS_THEM], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.split() == ["2", "0"]
