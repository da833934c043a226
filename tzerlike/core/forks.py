"""Forking: waiting while the kernel refuses it, tying a child to its parent, and waiting for a child's end."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import time

REFUSED = (errno.EAGAIN, errno.ENOMEM)
"""What the kernel says when there are too many processes or too little memory for one more, for now."""

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


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


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, the process that forked it, ends; or has ended by now."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def wait_for(child: int) -> int:
    """Wait for a child to end, and return its wait status; one that somebody stops meanwhile goes on."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(child, signal.SIGCONT)
