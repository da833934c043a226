"""The signals that ask a command to stop: SIGINT, SIGTERM, SIGHUP; handled from start to end.

While a command is being imported they end it at once, since nothing has begun. Later they are an exception, and a
campaign takes them as a request. This file is imported before everything else and imports next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_ONE_REQUEST = 1.0
"""Seconds in which several signals are one request: a terminal that closes sends SIGHUP twice, systemd SIGTERM and
SIGHUP."""

_Handler = Callable[[int, FrameType | None], None]


class Stopped(KeyboardInterrupt):
    """A signal asked for an end; `number` is which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_status(number: int) -> int:
    """What a command ends with that a signal stopped, by the shell's convention."""
    return 128 + number


def status_of(interruption: BaseException) -> int:
    """The exit status after an exception that an interruption is, or comes from."""
    cause: BaseException | None = interruption
    while cause is not None:
        if isinstance(cause, Stopped):
            return exit_status(cause.number)
        cause = cause.__cause__
    return exit_status(signal.SIGINT)


def end_at_once() -> None:
    """From now on a signal ends this process, with one line and no traceback."""
    _handle(_end)


def raise_stopped() -> None:
    """From now on a signal raises Stopped."""
    _handle(_raise)


def ignore() -> None:
    """From now on, and in all processes forked from this one, signals do nothing, even those that were held back."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold signals back in this process and in those started meanwhile, which take them up when they are ready."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class StopRequest:
    """As a context: signals are noted, not raised. `number` is the first that came, 0 while none has.

    `urgent` once another one has come later on: whoever sent it does not want to wait.
    """

    def __init__(self) -> None:
        self.number = 0
        self.urgent = False
        self._since = 0.0
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> StopRequest:
        self._before = _handle(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __bool__(self) -> bool:
        return self.number != 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.number == 0:
            self.number, self._since = number, now
        elif now - self._since > _ONE_REQUEST:
            self.urgent = True


def _handle(handler: _Handler) -> dict[signal.Signals, signal._HANDLER]:
    """Install a handler for all, and return the ones before. A SIGHUP that nohup has switched off stays off."""
    before: dict[signal.Signals, signal._HANDLER] = {}
    for number in STOPPING:
        if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        before[number] = signal.signal(number, handler)
    return before


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"tzerlike: interrupted\n")
    os._exit(exit_status(number))


def _raise(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
