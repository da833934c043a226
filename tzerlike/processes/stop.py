"""How a supervisor asks a worker to stop: by a signal that nobody else sends.

SIGINT, SIGTERM and SIGHUP are for the command itself; whoever sends them to all its processes at once, as a terminal,
systemd and Slurm do, must not end a worker in the middle of its work.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

STOP = signal.SIGUSR1


def hold_stop() -> None:
    """Hold a request to stop back, in this process and in those forked from it, until one calls `on_stop`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [STOP])


def on_stop(handler: Callable[[int, FrameType | None], None]) -> None:
    """From now on, and for a request that was held back, call `handler`."""
    signal.signal(STOP, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [STOP])
