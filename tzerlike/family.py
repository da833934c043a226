"""The supervisor's end of a zygote: start it, hand out work, hear what became of it."""

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

from tzerlike.errors import TzerlikeError, UserError
from tzerlike.fixed_environment import callers_variables, fixed_environment

_START_SECONDS = 300.0
_PACKET_LIMIT = 1 << 17


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold SIGINT back in this process and in those started meanwhile: the zygote takes it up once it ignores it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Family:
    """A zygote process and everything forked from it; leaving the context ends all of them.

    `environment` is the environment variables that workers get, and all that they get; the zygote and the children that
    take cases see none that differ from caller to caller. `python` is the interpreter that all run in, and with that
    the TVM.
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
    ) -> None:
        # A run that has to write byte code lays its heap out differently from the next one.
        compileall.compile_dir(Path(__file__).parent, quiet=2, legacy=False)
        self._fixed = fixed_environment(environment)
        self._of_the_caller = callers_variables(environment)
        self._command = [str(python or sys.executable), "-m", "tzerlike.zygote"]
        self.facts: dict[str, Any] = {}
        for last in (False, True):
            self._start()
            self._send_with({"slots": slots, "coverage": coverage, "last": int(last)}, cache_dir)
            self._send({"restore": [str(path.resolve()) for path in restore]})
            answer = self._expect("ready")
            if answer["settled"]:
                self.facts = answer["environment"]
                return
            self.close()

    def _start(self) -> None:
        """Start a zygote: its socket is its standard input, so that all are started alike."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with _interrupts_held():
            self._process = subprocess.Popen(
                self._command,
                env=self._fixed,
                cwd="/",
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
            )
        theirs.close()

    def __enter__(self) -> Family:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote; the kernel ends what it forked."""
        self._socket.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stderr.close()

    def spawn(self, role: str, params: Mapping[str, Any], slot: int = 0) -> None:
        """Fork a worker with its runner; it works in the directory and with the variables of this process."""
        self._send({"do": "spawn", "slot": slot})
        around = {"directory": os.getcwd(), "variables": self._of_the_caller}
        self._send({"role": role, "slot": slot, "params": dict(params), **around})

    def stop_workers(self) -> None:
        """Ask every worker to save and end."""
        self._send({"do": "signal"})

    def events(self, timeout: float) -> Iterator[dict[str, Any]]:
        """Yield what the zygote and the workers have to say within `timeout` seconds of now.

        Raises TzerlikeError when the zygote is gone.
        """
        deadline = time.monotonic() + timeout
        while True:
            ready, _, _ = select.select([self._socket], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return
            yield self._receive()

    def ask(
        self, role: str, params: Mapping[str, Any], cancelled: Callable[[], bool] = lambda: False
    ) -> list[dict[str, Any]]:
        """Run one worker to its end and return what it reported, or less once `cancelled`.

        Raises UserError or TzerlikeError with the worker's message when it failed.
        """
        self.spawn(role, params)
        answers: list[dict[str, Any]] = []
        while True:
            if cancelled():
                return answers
            for packet in self.events(0.2):
                if packet["event"] == "failed":
                    raise (UserError if packet["user"] else TzerlikeError)(packet["message"])
                if packet["event"] == "exited":
                    if packet["status"] != 0:
                        raise TzerlikeError(f"the worker process ended with status {packet['status']}")
                    return answers
                answers.append(packet)

    def _expect(self, event: str) -> dict[str, Any]:
        deadline = time.monotonic() + _START_SECONDS
        for packet in self.events(deadline - time.monotonic()):
            if packet["event"] == event:
                return packet
            if packet["event"] == "failed":
                self.close()
                raise (UserError if packet["user"] else TzerlikeError)(packet["message"])
        self.close()
        raise TzerlikeError("the zygote did not start in time")

    def _send(self, packet: Mapping[str, Any]) -> None:
        data = json.dumps(packet).encode()
        if len(data) > _PACKET_LIMIT:
            raise TzerlikeError(f"a packet of {len(data)} bytes")
        with contextlib.suppress(BrokenPipeError, ConnectionError):
            self._socket.send(data)

    def _send_with(self, packet: Mapping[str, Any], directory: Path) -> None:
        """Send a packet along with a directory, which the receiver need not know the name of."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            socket.send_fds(self._socket, [json.dumps(packet).encode()], [descriptor])
        except (BrokenPipeError, ConnectionError):
            return
        finally:
            os.close(descriptor)

    def _receive(self) -> dict[str, Any]:
        try:
            data = self._socket.recv(_PACKET_LIMIT)
        except ConnectionError:
            data = b""
        if not data:
            self._process.wait()
            self._stderr.seek(0)
            stderr = self._stderr.read().decode(errors="replace")
            lines = [line for line in stderr.splitlines() if line.strip()]
            reason = "\n".join(lines[-12:])
            raise TzerlikeError(f"the zygote ended with status {self._process.returncode}\n{reason}")
        packet: dict[str, Any] = json.loads(data)
        return packet
