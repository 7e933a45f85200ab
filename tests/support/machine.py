"""How slow this machine is at the moment, for promises that are given in seconds; knows nothing of the tested code.

A promise such as "within a second" holds on a machine that has time. A control that is measured beside it says how much
longer everything takes where other work runs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

#: What a Python that does nothing takes to start and to end where nothing else runs, in seconds, rounded up.
_USUAL_S = 0.03

_TIMES = 3


def at_most(seconds: float) -> float:
    """Return a bound on a time that was or will be measured: `seconds`, or as many more as the machine is slower.

    What was measured may have met others whom the control does not meet: how many processes ran, or waited for a disk,
    in the last minute counts too.
    """
    slower = statistics.median(_control_s() for _ in range(_TIMES)) / _USUAL_S
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)  # both of the whole host
    return seconds * max(1.0, slower, crowd)


def _control_s() -> float:
    begun = time.monotonic()
    subprocess.run([sys.executable, "-S", "-E", "-c", ""], check=True, timeout=300)
    return time.monotonic() - begun
