"""The campaign directory: every path, whole-or-absent writes, and the numbers that are read from it.

One writer per file: a worker writes its own shard under `workers/<n>/` and files named by content; the
supervisor writes the rest.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tzerlike.case import Case, Provenance
from tzerlike.errors import UserError
from tzerlike.schema import Schema
from tzerlike.untrusted import PROGRAM_BYTES
from tzerlike.untrusted import read_json as read_json

_TEMPORARY = ".tmp-"


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file so that it is whole or absent whenever a reader looks.

    UserError when the disk is full; the old file then stays as it was.
    """
    temporary = path.with_name(f"{_TEMPORARY}{os.getpid()}-{path.name}")
    try:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _storage_error(path, error) from error


def write_json(path: Path, value: object) -> None:
    write_atomic(path, json_text(value))


def json_text(value: object) -> str:
    """Return the text of a JSON file that people may want to read."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _storage_error(path: Path, error: OSError) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"no space left for {path}; make room, then go on with --resume (nothing saved was lost)")
    return UserError(f"{path}: {error.strerror}; everything saved before stays, go on with --resume")


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A corpus file: a case and where it comes from."""

    case: Case
    provenance: Provenance

    def to_json(self) -> dict[str, Any]:
        return _STORED.stamped({"case": self.case.to_json(), "provenance": self.provenance.to_json()})


@dataclass(frozen=True, slots=True)
class CampaignDir:
    """All paths of a campaign; creating one touches nothing."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "campaign.toml"

    @property
    def environment(self) -> Path:
        return self.root / "environment.json"

    @property
    def stats(self) -> Path:
        return self.root / "stats.json"

    @property
    def coverage_csv(self) -> Path:
        return self.root / "coverage.csv"

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    @property
    def corrupt(self) -> Path:
        return self.root / "corrupt"

    @property
    def findings(self) -> Path:
        return self.root / "findings"

    def worker(self, number: int) -> Path:
        return self.root / "workers" / str(number)

    def worker_state(self, number: int) -> Path:
        return self.worker(number) / "state.json"

    def worker_events(self, number: int) -> Path:
        return self.worker(number) / "events.jsonl"

    def worker_coverage(self, number: int) -> Path:
        return self.worker(number) / "coverage.bits"

    def create(self, jobs: int) -> None:
        """Make the directories; UserError when that is not possible."""
        try:
            for directory in (self.corpus, self.findings, *(self.worker(n) for n in range(jobs))):
                directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out: cannot make {error.filename or self.root}: {error.strerror}") from error

    def sweep(self) -> None:
        """Remove what an interrupted writer left: temporary files, and the torn last line of an event file."""
        for path in list(self.root.rglob(f"{_TEMPORARY}*")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        for events in self.root.glob("workers/*/events.jsonl"):
            data = events.read_bytes()
            if data and not data.endswith(b"\n"):
                os.truncate(events, data.rfind(b"\n") + 1)

    def save_case(self, stored: StoredCase) -> None:
        path = self.corpus / f"{stored.case.id}.json"
        if not path.exists():
            write_atomic(path, json.dumps(stored.to_json(), ensure_ascii=False))

    def load_case(self, case_id: str) -> StoredCase:
        """Read one corpus file; UserError that names the file when it is missing, corrupt or misnamed."""
        path = self.corpus / f"{case_id}.json"
        stored = read_stored_case(path)
        if stored.case.id != case_id:
            raise UserError(f"{path}: its content does not belong to its name")
        return stored

    def corpus_ids(self) -> list[str]:
        try:
            return sorted(name[:-5] for name in os.listdir(self.corpus) if len(name) == 69 and name.endswith(".json"))
        except FileNotFoundError:
            return []

    def set_aside(self, case_id: str) -> Path:
        """Move a corpus file that cannot be used out of the corpus; returns where it lies now."""
        self.corrupt.mkdir(exist_ok=True)
        target = self.corrupt / f"{case_id}.json"
        os.replace(self.corpus / f"{case_id}.json", target)
        return target

    def bundles(self) -> Iterator[Path]:
        """The bundle directories, in order of name."""
        if self.findings.is_dir():
            yield from sorted(p for p in self.findings.iterdir() if p.is_dir() and not p.name.startswith("."))


class _Stored(msgspec.Struct):
    case: dict[str, Any]
    provenance: dict[str, Any]


_STORED = Schema(_Stored, "file", unstated=1)
"""Version 1 of a corpus file did not state it."""


def read_stored_case(path: Path) -> StoredCase:
    """Read a corpus file or a bundle's case.json, whoever wrote it; UserError in one line when it is not one."""
    found = _STORED.read(path)
    try:
        stored = StoredCase(Case.from_json(found.case), Provenance.from_json(found.provenance))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    if len(json.dumps(stored.case.to_json(), ensure_ascii=False).encode()) > PROGRAM_BYTES:
        raise UserError(f"{path}: a case of more than {PROGRAM_BYTES >> 20} MiB")
    return stored


class EventLog:
    """Appends one JSON line per event; lines go out whole, at the latest a second after they were added."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._lines: list[str] = []
        self._flushed = time.monotonic()

    def add(self, event: dict[str, Any]) -> None:
        self._lines.append(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
        if time.monotonic() - self._flushed > 1.0:
            self.flush()

    def flush(self) -> None:
        self._flushed = time.monotonic()
        data = "".join(self._lines).encode()
        self._lines.clear()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise _storage_error(self._path, error) from error
