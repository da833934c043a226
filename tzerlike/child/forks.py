"""A fork that waits while the kernel refuses one."""

from __future__ import annotations

import errno
import os
import time

REFUSED = (errno.EAGAIN, errno.ENOMEM)
"""What the kernel says when there are too many processes or too little memory for one more, for now."""

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0


def fork() -> int:
    """Return what os.fork returns, as soon as the kernel allows one."""
    pause = _FIRST_PAUSE
    while (pid := try_fork()) is None:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return pid


def try_fork() -> int | None:
    """Return what os.fork returns; None when the kernel refuses for now."""
    try:
        return os.fork()
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        return None
