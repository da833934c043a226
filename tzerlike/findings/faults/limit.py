"""A limit on loops of tzerlike itself: a process that computes for too long in one go gets a fault."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tzerlike.core.errors import Fault

TOO_LONG = "TooLong"
"""The kind of the fault."""

LIMIT = 60.0
"""Seconds of processor time that a worker may compute in one iteration, its children's not among them. What takes that
long is a loop without end."""

_AGAIN = 5.0
"""Seconds until it is raised again, where nobody heard it."""


@contextmanager
def limited(seconds: float | None = None) -> Iterator[None]:
    """Raise Fault in here once this process has computed for so long, or for LIMIT.

    It is heard between two steps of Python; a loop in a library takes the supervisor, who sees that the worker's sign
    of life grows old. A forked child starts without the limit.
    """
    seconds = LIMIT if seconds is None else seconds

    def stop(number: int, frame: FrameType | None) -> None:
        raise Fault(TOO_LONG, text="".join(traceback.format_stack(frame)))

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, min(seconds, _AGAIN))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
