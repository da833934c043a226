"""One machine at work on its shard, independent of the transport of its messages."""

from __future__ import annotations

import contextlib
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tzerlike.campaign.claims import awaited
from tzerlike.campaign.cluster.left import held
from tzerlike.campaign.cluster.link import EVERY, Link, Unreachable, exchange, send_rest
from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.cluster.parcel import News, Welcome
from tzerlike.campaign.shard import Part

_LOOKS = 0.1
"""Seconds between two looks at whether a worker waits."""

_TO_END = 60.0
_TO_READ = 5.0


def work(part: Part, link: Link) -> str:
    """Do a machine's part until it is done, again where a signal ends it; returns why it ended before, "" where it is
    done.

    While nobody can be reached the work goes on, and what it brings waits; what cannot be sent at the end stays.
    """
    while True:
        why, status = _work_once(part, link)
        if status >= 0:
            return why
        link.tell(f"ended by signal {-status}; restarting")


def _work_once(part: Part, link: Link) -> tuple[str, int]:
    """Why the part ended before it was done, and the status of its process where that ended by itself."""
    welcome = _join(link)
    with held(welcome.campaign, part) as root:
        mirror = Mirror(root, part)
        mirror.begin(welcome.pieces)
        with _launched(root, part) as process:
            output = _Output(process)
            answer = News()
            while process.poll() is None and not answer.end and not answer.stop:
                _pause(mirror.directory.claims)
                answer = exchange(mirror, link, welcome.epoch)
                output.tell(link)
        done, end = send_rest(mirror, link, welcome.epoch, _TO_END)
        end = answer.end or end
        output.finish(link)
        if done:
            shutil.rmtree(root, ignore_errors=True)
        if end or answer.stop or process.returncode == 0:
            return end, 0
        return output.error or f"status {process.returncode}", process.returncode


def _pause(claims: Path) -> None:
    """Wait until the next parcel is due, or a worker waits for what comes back for it."""
    until = time.monotonic() + EVERY
    while time.monotonic() < until:
        time.sleep(_LOOKS)
        if awaited(claims):
            return


def _join(link: Link) -> Welcome:
    while True:
        try:
            return link.join()
        except Unreachable:
            time.sleep(EVERY)


@contextlib.contextmanager
def _launched(root: Path, part: Part) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tzerlike.campaign.cluster.launcher", str(root), f"{part.node + 1}/{part.nodes}"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_SAID = ("worker ", "the zygote", "the runner", "paused", "there is room")
"""How the lines of a machine begin that are of use where the campaign was started."""

_ERROR = "tzerlike: "
_TRACEBACK = "Traceback (most recent call last):"


class _Output:
    """What the command says, line by line; `error` is why it ended, "" if it has not said so."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.error = self._said = ""

    def tell(self, link: Link) -> None:
        """Pass on what has come and is of use."""
        with contextlib.suppress(queue.Empty):
            while True:
                line = self._lines.get_nowait()
                if line.startswith(_SAID):
                    link.tell(line)
                elif line.startswith(_ERROR):
                    self.error = self._said = line.removeprefix(_ERROR)
                elif self._said.endswith(_TRACEBACK) and line[:1].strip():
                    # The last line of a traceback says what it was.
                    self.error = self._said.removesuffix(_TRACEBACK) + line

    def finish(self, link: Link) -> None:
        """Pass on the last of it, of a command that has ended."""
        self._reader.join(_TO_READ)
        self.tell(link)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.decode(errors="replace").rstrip())
