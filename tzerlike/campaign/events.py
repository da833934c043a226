"""The event log of a worker: a line of JSON for each case, in files of bounded size and number.

`events.jsonl` is written to; once it is full it becomes `events-<number>.jsonl.gz`, of which the last few are kept.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.schema import VERSION
from tzerlike.core.storage import storage_error, write_atomic
from tzerlike.core.untrusted import open_regular

SCHEMA_VERSION = 1
"""Stated in the first line of each file."""

FULL = 16 << 20
"""Bytes of the file that is written to before another is begun."""

KEPT = 8
"""Full files that are kept, each packed to about a tenth of its size."""

_CURRENT = "events.jsonl"
_PACKED = re.compile(r"events-([0-9]{6})\.jsonl\.gz")
_LONGEST = 1 << 20


class EventLog:
    """Appends to the log in a directory; lines go out whole, at the latest a second after they were added."""

    def __init__(self, directory: Path, full: int = FULL, kept: int = KEPT) -> None:
        self._directory = directory
        self._full = full
        self._kept = kept
        self._waiting = b""
        self._flushed = time.monotonic()
        path = directory / _CURRENT
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            raise storage_error(path, error) from error
        if not self._size():
            self._waiting = _HEADER

    def add(self, event: dict[str, Any]) -> None:
        """Append an event; what cannot be written yet, since the disk is full, waits for the next flush."""
        self._waiting += _line(event)

    @property
    def due(self) -> bool:
        return time.monotonic() - self._flushed > 1.0

    def flush(self) -> None:
        """Write what waits, and begin another file once this one is full.

        NoSpace where there is no room: all that is not written yet waits on, and the next flush goes on where it was.
        """
        self._flushed = time.monotonic()
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self._descriptor, self._waiting) :]
        except OSError as error:
            raise storage_error(self._directory / _CURRENT, error) from error
        if self._size() >= self._full:
            self._rotate()

    def _size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        current = self._directory / _CURRENT
        packed = _packed(self._directory)
        number = 1 + (int(packed[-1].name[len("events-") :][:6]) if packed else 0)
        # A kill between the two leaves lines twice, and loses none.
        write_atomic(self._directory / f"events-{number:06}.jsonl.gz", gzip.compress(current.read_bytes(), 1, mtime=0))
        os.ftruncate(self._descriptor, 0)
        self._waiting = _HEADER
        for path in packed[: len(packed) + 1 - self._kept]:
            path.unlink(missing_ok=True)


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


_HEADER = _line({VERSION: SCHEMA_VERSION})


def _packed(directory: Path) -> list[Path]:
    """The full files that are there, the oldest first."""
    try:
        return sorted(path for path in directory.iterdir() if _PACKED.fullmatch(path.name))
    except OSError:
        return []


def event_lines(directory: Path) -> Iterator[bytes]:
    """Yield the lines of the log in a directory, the oldest first; what cannot be read is left out.

    Whoever wrote it: lines and files are bounded, and no link is followed.
    """
    for path in (*_packed(directory), directory / _CURRENT):
        try:
            with open_regular(path) as raw:
                file = gzip.GzipFile(fileobj=raw) if path.name.endswith(".gz") else raw
                # What was written before logs had a bound may be long; what is packed is not.
                left = 4 * FULL if file is not raw else 1 << 40
                while left > 0 and (line := file.readline(_LONGEST)):
                    left -= len(line)
                    yield line
        except (UserError, OSError, EOFError, zlib.error):
            continue


def mend_events(path: Path) -> None:
    """Cut off the torn last line that an interrupted writer left in an events.jsonl."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _LONGEST))
        tail = file.read()
    if tail and not tail.endswith(b"\n"):
        os.truncate(path, size - len(tail) + tail.rfind(b"\n") + 1)
