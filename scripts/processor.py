"""The CPU time of whole process trees."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
from collections.abc import Sequence

_PR_SET_CHILD_SUBREAPER = 36


def take_in_orphans() -> None:
    """From now on what outlives its parent below this process comes to this process."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("this process cannot take in orphans, whose time would be missing")


def processor_time(command: Sequence[str]) -> float:
    """Run a command; returns the seconds of processor time that it and all of its descendants took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    # What outlived its parent came to this process, which has to wait for it: else its time is nobody's.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
