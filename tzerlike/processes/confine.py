"""Confinement of a child: no exec, no network, no files except for reading, no other processes.

memcov/confine.cc says what is allowed. A program that tries something else dies of it, which is `Exit.CONFINED`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.forks import fork, wait_for
from tzerlike.coverage.native import errno_checked, load_memcov

WRITTEN = 16 << 20
"""Bytes that a child may write to its standard error, which is a file in memory."""


def confine() -> None:
    """In a forked child with one thread: from here on, allow no more than work on a case takes. There is no way back.

    Raises TzerlikeError where the kernel refuses.
    """
    # Modules that are imported from here on cannot leave byte code behind.
    sys.dont_write_bytecode = True
    errno_checked(load_memcov().memcov_confine(WRITTEN))


def confine_where_possible() -> None:
    """`confine`, for processes that have nothing to answer for it: whoever started the zygote has asked the user."""
    with suppress(TzerlikeError, UserError):
        confine()


def close_all_but(*descriptors: int) -> None:
    """Close every descriptor of this process but the standard ones and these: what is written to them arrives."""
    kept = {0, 1, 2, *descriptors}
    for descriptor in sorted(map(int, os.listdir("/proc/self/fd"))):
        if descriptor not in kept:
            # The one that the directory was read with is closed by now.
            with suppress(OSError):
                os.close(descriptor)


def why_unconfined() -> str:
    """Return why this machine cannot confine a child, "" where it can. Forks."""
    try:
        load_memcov()
    except UserError as error:
        return str(error)
    child = fork()
    if child == 0:
        try:
            confine()
            os._exit(0)
        except TzerlikeError:
            os._exit(1)
        finally:
            os._exit(2)
    return "" if wait_for(child) == 0 else "the kernel refuses a seccomp filter"
