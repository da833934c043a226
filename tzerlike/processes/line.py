"""A worker's line to its runner.

The zygote keeps the runner's end open: when a runner dies, the next one takes its place there, under the next number,
and says so. An order names the runner that it is meant for, and another runner lets it lie. So whenever a runner dies,
an order is taken once, or its sender learns that it was not.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from tzerlike.core.errors import RunnerLost

ORDER = struct.Struct("<IddQ")
"""What wakes a child: number of the runner, seconds of processor time a case, seconds on the clock in all, bytes of
memory."""

REPLY = struct.Struct("<I?i?")
"""What a worker gets for its order: number of the runner, whether the child got done, its wait status, whether it ran
out of time. A runner that takes another's place begins with such a reply, to no order."""

_LATE = 30.0
"""Seconds that a runner has beyond its child's time before it counts as one that does not answer."""

_BEAT_EVERY = 1.0

_LOST = "the runner is gone, and so is the process that could start another one"


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a child: whether it got done, its wait status, whether it ran out of time."""

    done: bool
    status: int = 0
    timed_out: bool = False


class Line:
    """The worker's end, `line`. `alive` is called now and then while a child works, unless the runner is late."""

    def __init__(self, line: socket.socket, alive: Callable[[], None] = lambda: None) -> None:
        self._line = line
        self._alive = alive
        self._runner = 0
        self.waiting = False
        """Whether a child is being waited for; a signal handler may then raise to give it up."""

    def ask(self, seconds: float, wall: float, memory: int) -> Reply | None:
        """Have a child take the request in the channel, and wait for it; None when its runner died before it could say.

        RunnerLost when there will be no other runner.
        """
        while select.select([self._line], [], [], 0)[0]:
            self._receive()
        try:
            self._line.send(ORDER.pack(self._runner, seconds, wall, memory))
        except ConnectionError as error:
            raise RunnerLost(_LOST) from error
        self.waiting = True
        try:
            late = time.monotonic() + wall + _LATE
            while not select.select([self._line], [], [], _BEAT_EVERY)[0]:
                if time.monotonic() < late:
                    self._alive()
            meant_for = self._runner
            reply = self._receive()
            return reply if self._runner == meant_for else None
        finally:
            self.waiting = False

    def _receive(self) -> Reply:
        try:
            data = self._line.recv(REPLY.size)
        except ConnectionError:
            data = b""
        if len(data) < REPLY.size:
            raise RunnerLost(_LOST)
        self._runner, done, status, timed_out = REPLY.unpack(data)
        return Reply(done, status, timed_out)
