"""How long this process has been running: what a user waits for begins when a command is entered."""

import os
import time

_IMPORTED = time.perf_counter()
_LONGEST = 3600.0
"""Seconds between the start of a process and this import beyond which the system's answer is not believed."""
_told = False
program = False
"""Whether this process is the program `taichimd`, which ends with its command."""


def begin_of_command() -> float:
    """When this process's command was entered (`time.perf_counter`); from the second call on it is now."""
    global _told
    now = time.perf_counter()
    if _told:
        return now
    _told = True
    begin = now - _age()
    # Where the system does not tell, or not in this way, the import of the package is nearly as early.
    return begin if _IMPORTED - _LONGEST < begin < _IMPORTED else _IMPORTED


def _age() -> float:
    """Seconds since this process started, as Linux tells; 0 elsewhere."""
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            ticks = int(file.read().rsplit(")", 1)[1].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
