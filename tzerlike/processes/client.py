"""The supervisor's end of a zygote: start it, hand out work, receive the results.

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
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.forks import REFUSED
from tzerlike.core.limits import files_are_cut_off
from tzerlike.core.package import PACKAGE
from tzerlike.processes import signals
from tzerlike.processes.fixed_environment import callers_variables, fixed_environment
from tzerlike.processes.vitals import STOPPED, STOPPED_SECONDS, Lasting, SlotProcess, Vital, Watchdog, state_of
from tzerlike.systems import TVM
from tzerlike.systems.pair import require_pair

_START_SECONDS = 300.0
_LOOK_EVERY = 0.2
_PACKET_LIMIT = 1 << 17


_QUIET_SECONDS = 10.0
"""After which a worker that has been asked something, and says nothing, is looked at."""

_END_SECONDS = 10.0
"""For the processes of a client to be gone, once they are killed."""

Cancelled = Callable[[], bool]
"""Asked now and then while a client starts: whether nobody wants it any more."""


def _never() -> bool:
    return False


class ZygoteEnded(TzerlikeError):
    """A zygote is gone, and with it all that was forked from it."""


class WorkerEnded(TzerlikeError):
    """A worker ended before it had answered."""


class StartCancelled(Exception):
    """Nobody wants the client any more that was to start."""


class Client:
    """A zygote process and everything forked from it; leaving the context ends all of them.

    `environment` is the environment variables that workers get, and all that they get; the zygote and the children that
    take cases see none that differ from caller to caller. `python` is the interpreter that all run in, and `system` the
    name of the compiler that they load there. What is forked for a slot is held to its core of `cores`, if there are
    any. Children find the packages `loads` loaded, where those are there.

    UserError where this interpreter's TVM cannot work; StartCancelled when `cancelled` says so before the zygote is
    ready, ZygoteEnded when it dies before.
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
        system: str = TVM.name,
        cancelled: Cancelled = _never,
        cores: Sequence[int] = (),
        loads: Collection[str] = (),
    ) -> None:
        self._cores = cores
        if python is None and system == TVM.name:
            require_pair()
        # A run that has to write byte code lays its heap out differently from the next one.
        if not files_are_cut_off():
            compileall.compile_dir(PACKAGE, quiet=2, legacy=False)
        self._of_the_caller = callers_variables(environment)
        command = [str(python or sys.executable), "-m", "tzerlike.processes.zygote"]
        restored = [str(path.resolve()) for path in restore]
        for last in (False, True):
            self._start(command, fixed_environment(environment), cancelled)
            try:
                order: dict[str, Any] = {"slots": slots, "coverage": coverage, "last": int(last), "system": system}
                if loads:
                    order["loads"] = sorted(loads)
                self._send(order, os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY), _sheet({"restore": restored}))
                answer = self._expect("ready", cancelled)
            except BaseException:
                self.close()
                raise
            if answer["settled"]:
                break
            self.close()
        self.facts: dict[str, Any] = answer["environment"]

    def _start(self, command: Sequence[str], environment: Mapping[str, str], cancelled: Cancelled) -> None:
        """Start a zygote; what it is given are its standard input and output, so that all are started alike."""
        self._closed = False
        self._standstill = Lasting(STOPPED_SECONDS)
        self._stderr = open(os.memfd_create("stderr"), "w+b")  # noqa: SIM115 - closed by close()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Whatever is forked from the zygote holds the other end of this: it is closed once all of them are gone.
        self._life, life = os.pipe()
        try:
            with signals.held_back():
                self._process = _started(
                    command,
                    cancelled,
                    env=environment,
                    cwd="/",
                    stdin=theirs.fileno(),
                    stdout=life,
                    stderr=self._stderr,
                )
        except BaseException:
            self._socket.close()
            os.close(self._life)
            self._stderr.close()
            raise
        finally:
            theirs.close()
            os.close(life)
        self._handle = os.pidfd_open(self._process.pid)

    def __enter__(self) -> Client:
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
        """Fork a worker with its runner; it works in the directory and with the variables of this process."""
        around = {"directory": os.getcwd(), "variables": self._of_the_caller}
        core = [self._cores[slot]] if self._cores else []
        sheet = _sheet({"role": role, "params": dict(params), **around})
        self._send({"do": "spawn", "slot": slot, "core": core}, sheet)

    def stop_workers(self) -> None:
        """Ask every worker to save and end."""
        self._send({"do": "stop"})

    def ping(self) -> None:
        """Ask the zygote for a sign of life: an event `pong` that has those of the workers."""
        self._send({"do": "ping"})

    def kill(self, slot: int, role: SlotProcess) -> None:
        """End a worker or a runner that hangs."""
        self._send({"do": "kill", "slot": slot, "role": role.value})

    def look(self) -> None:
        """Called again and again: ZygoteEnded once the zygote has been stopped for a while."""
        if self._standstill.lasts(time.monotonic(), state_of(self._process.pid) == STOPPED):
            raise ZygoteEnded("the zygote was stopped")

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
        failure: TzerlikeError | None = None
        watchdog, heard = Watchdog(), time.monotonic()
        while True:
            if cancelled():
                return answers
            self.look()
            if time.monotonic() - heard > _QUIET_SECONDS:
                self.ping()
            for packet in self.events(_LOOK_EVERY):
                if packet["event"] == "pong":
                    # How long it is silent is its own affair.
                    vitals = [replace(Vital(**vital), silent=0.0) for vital in packet["vitals"]]
                    for victim in watchdog.to_kill(time.monotonic(), vitals):
                        self.kill(*victim)
                    continue
                heard = time.monotonic()
                if packet["event"] == "failed":
                    failure = (UserError if packet["user"] else TzerlikeError)(packet["message"])
                    continue
                if packet["event"] == "exited":
                    # Only now: the next question must not see the end of this worker.
                    if failure is not None:
                        raise failure
                    if packet["status"] != 0:
                        raise WorkerEnded(f"the worker process ended with status {packet['status']}")
                    return answers
                answers.append(packet)

    def _expect(self, event: str, cancelled: Cancelled) -> dict[str, Any]:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if cancelled():
                raise StartCancelled
            self.look()
            for packet in self.events(_LOOK_EVERY):
                if packet["event"] == event:
                    return packet
                if packet["event"] == "failed":
                    raise (UserError if packet["user"] else TzerlikeError)(packet["message"])
        raise ZygoteEnded("the zygote did not start in time")

    def _send(self, packet: Mapping[str, Any], *files: int) -> None:
        """Send a packet with open files, which are closed here, unless the zygote is gone or has not listened for long;
        who listens to it notices that.

        What differs from caller to caller is in files, so that the zygote itself need not read it.
        """
        try:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionError):
                socket.send_fds(self._socket, [json.dumps(packet).encode()], files, socket.MSG_DONTWAIT)
        finally:
            for file in files:
                os.close(file)

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
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return ZygoteEnded("\n".join([f"the zygote ended {how}", *lines[-12:]]))


def _sheet(content: Mapping[str, Any]) -> int:
    """Return an open file that holds `content` as JSON."""
    file = os.memfd_create("sheet")
    os.write(file, json.dumps(content).encode())
    return file


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
