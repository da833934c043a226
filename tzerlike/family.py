"""The supervisor's end of a zygote: start it, hand out work, hear what became of it."""

from __future__ import annotations

import compileall
import contextlib
import json
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

    `environment` is the environment variables that the zygote gets, and all that it gets; `python` the interpreter that
    it runs in, and with that the TVM.
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
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        with _interrupts_held():
            self._process = subprocess.Popen(
                [str(python or sys.executable), "-m", "tzerlike.zygote", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
            )
        theirs.close()
        order = {
            "slots": slots,
            "coverage": coverage,
            "cache_dir": str(cache_dir),
            "restore": [str(path) for path in restore],
        }
        self._send(order)
        self.facts: dict[str, Any] = self._expect("ready")["environment"]

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
        """Fork a worker with its runner."""
        self._send({"do": "spawn", "role": role, "slot": slot, "params": dict(params)})

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
        failure: TzerlikeError | None = None
        while True:
            if cancelled():
                return answers
            for packet in self.events(0.2):
                if packet["event"] == "failed":
                    failure = (UserError if packet["user"] else TzerlikeError)(packet["message"])
                    continue
                if packet["event"] == "exited":
                    # Only now: what is asked next is not to hear of the end of this worker.
                    if failure is not None:
                        raise failure
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
