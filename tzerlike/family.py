"""The supervisor's end of a zygote: start it, hand out work, hear what became of it.

Nothing here waits for a zygote that does not answer longer than the caller allows.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tzerlike import signals
from tzerlike.child.forks import REFUSED
from tzerlike.errors import TzerlikeError, UserError
from tzerlike.vitals import Role, state_of

_START_SECONDS = 300.0
_LOOK_EVERY = 0.2
_PACKET_LIMIT = 1 << 17


_END_SECONDS = 10.0
"""For the processes of a family to be gone, once they are killed."""

Cancelled = Callable[[], bool]
"""Asked now and then while a family starts: whether nobody wants it any more."""


def _never() -> bool:
    return False


class ZygoteEnded(TzerlikeError):
    """A zygote is gone, and with it all that was forked from it."""


class WorkerEnded(TzerlikeError):
    """A worker ended before it had answered."""


class StartCancelled(Exception):
    """Nobody wants the family any more that was to start."""


class Family:
    """A zygote process and everything forked from it; leaving the context ends all of them.

    `environment` is the environment variables that the zygote gets, and all that it gets; `python` the interpreter that
    it runs in, and with that the TVM. StartCancelled when `cancelled` says so before the zygote is ready, ZygoteEnded
    when it dies before.
    """

    def __init__(
        self,
        *,
        slots: int,
        coverage: str,
        cache_dir: Path,
        environment: Mapping[str, str],
        restore: Sequence[Path] = (),
        python: Path | None = None,
        cancelled: Cancelled = _never,
    ) -> None:
        # A run that has to write byte code lays its heap out differently from the next one.
        compileall.compile_dir(Path(__file__).parent, quiet=2, legacy=False)
        self._closed = False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        # Whatever is forked from the zygote holds the other end of this: it is closed once all of them are gone.
        self._life, life = os.pipe()
        try:
            with signals.held_back():
                self._process = _started(
                    [str(python or sys.executable), "-m", "tzerlike.zygote", str(theirs.fileno())],
                    cancelled,
                    pass_fds=[theirs.fileno(), life],
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                )
        except BaseException:
            ours.close()
            os.close(self._life)
            self._stderr.close()
            raise
        finally:
            theirs.close()
            os.close(life)
        self._handle = os.pidfd_open(self._process.pid)
        order = {
            "slots": slots,
            "coverage": coverage,
            "cache_dir": str(cache_dir),
            "restore": [str(path) for path in restore],
        }
        try:
            self._send(order)
            self.facts: dict[str, Any] = self._expect("ready", cancelled)["environment"]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Family:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote; the kernel ends what it forked, and this waits until that is gone."""
        if self._closed:
            return
        self._closed = True
        self._process.kill()
        self._process.wait()
        select.select([self._life], [], [], _END_SECONDS)
        self._socket.close()
        os.close(self._life)
        os.close(self._handle)
        self._stderr.close()

    def spawn(self, role: str, params: Mapping[str, Any], slot: int = 0) -> None:
        """Fork a worker with its runner."""
        self._send({"do": "spawn", "role": role, "slot": slot, "params": dict(params)})

    def stop_workers(self) -> None:
        """Ask every worker to save and end."""
        self._send({"do": "stop"})

    def ping(self) -> None:
        """Ask the zygote for a sign of life: an event `pong` that has those of the workers."""
        self._send({"do": "ping"})

    def kill(self, slot: int, role: Role) -> None:
        """End a worker or a runner that hangs."""
        self._send({"do": "kill", "slot": slot, "role": role.value})

    def state(self) -> str:
        """The state of the zygote; see `state_of`."""
        return state_of(self._process.pid)

    def events(self, timeout: float) -> Iterator[dict[str, Any]]:
        """Yield what the zygote and the workers have to say within `timeout` seconds of now.

        Raises ZygoteEnded when the zygote is gone.
        """
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            socket_ = self._socket.fileno()
            ready, _, _ = select.select([socket_, self._handle], [], [], left)
            if not ready:
                return
            if socket_ not in ready:
                raise self._ended()
            yield self._receive()

    def ask(self, role: str, params: Mapping[str, Any], cancelled: Cancelled = _never) -> list[dict[str, Any]]:
        """Run one worker to its end and return what it reported, or less once `cancelled`.

        Raises UserError or TzerlikeError with the worker's message when it failed.
        """
        self.spawn(role, params)
        answers: list[dict[str, Any]] = []
        while True:
            if cancelled():
                return answers
            for packet in self.events(_LOOK_EVERY):
                if packet["event"] == "failed":
                    raise (UserError if packet["user"] else TzerlikeError)(packet["message"])
                if packet["event"] == "exited":
                    if packet["status"] != 0:
                        raise WorkerEnded(f"the worker process ended with status {packet['status']}")
                    return answers
                answers.append(packet)

    def _expect(self, event: str, cancelled: Cancelled) -> dict[str, Any]:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if cancelled():
                raise StartCancelled
            for packet in self.events(_LOOK_EVERY):
                if packet["event"] == event:
                    return packet
                if packet["event"] == "failed":
                    raise (UserError if packet["user"] else TzerlikeError)(packet["message"])
        raise ZygoteEnded("the zygote did not start in time")

    def _send(self, packet: Mapping[str, Any]) -> None:
        """Send a packet, unless the zygote is gone or has not listened for long; who listens to it notices that."""
        data = json.dumps(packet).encode()
        if len(data) > _PACKET_LIMIT:
            raise TzerlikeError(f"a packet of {len(data)} bytes")
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionError):
            self._socket.send(data, socket.MSG_DONTWAIT)

    def _receive(self) -> dict[str, Any]:
        try:
            data = self._socket.recv(_PACKET_LIMIT)
        except ConnectionError:
            data = b""
        if not data:
            raise self._ended()
        packet: dict[str, Any] = json.loads(data)
        return packet

    def _ended(self) -> ZygoteEnded:
        """The error that says how the zygote ended, with the last that it wrote."""
        self._process.kill()
        status = self._process.wait()
        self._stderr.seek(0)
        lines = [line for line in self._stderr.read().decode(errors="replace").splitlines() if line.strip()]
        reason = "\n".join(["", *lines[-12:]])
        return ZygoteEnded(f"the zygote ended {_how(status)}{reason}")


def _how(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


def _started(command: Sequence[str], cancelled: Cancelled, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process, as soon as the kernel allows one; StartCancelled when nobody wants it any more."""
    while True:
        try:
            return subprocess.Popen(command, **options)
        except OSError as error:
            if error.errno not in REFUSED:
                raise
        if cancelled():
            raise StartCancelled
        time.sleep(_LOOK_EVERY)
