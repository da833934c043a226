"""Bundles: everything that a finding needs to be seen again, as plain files that run nothing when read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tzerlike.core.archive import no_arrays
from tzerlike.core.errors import UserError
from tzerlike.core.finding import KINDS, ROUND_TRIP, Finding, Signed
from tzerlike.core.harness import Harness
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Observation, Stage
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import json_text, remove, storage_error, write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.issue.subject import Subject
from tzerlike.tir.stored import read_stored_case


class About(Enum):
    """What a finding came about in, which says how it is replayed."""

    COMPILATION = auto()
    """Of the case, or running what came of it."""
    MUTATION = auto()
    """Calls that make a program in memory, at which TVM died."""
    SCHEDULE = auto()
    """Schedule primitives, applied to the case's program."""
    TEXT = auto()
    """Printing the program and parsing it again."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle directory says: the case, what was seen, and under which limits."""

    path: Path
    stored: StoredCase
    kind: str
    signature: str
    parts: tuple[str, ...]
    observation: Observation
    limits: Limits
    environment: Mapping[str, Any]
    flaky: bool

    @property
    def title(self) -> str:
        return f"{self.kind}: {' / '.join(self.parts)}"

    @property
    def about(self) -> About:
        if "schedule" in self.environment:
            return About.SCHEDULE
        if self.parts[:1] == (ROUND_TRIP,):
            return About.TEXT
        return About.MUTATION if self.observation.stage is Stage.MUTATE else About.COMPILATION


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How many of the runs after the first showed the same signature."""

    runs: Count
    same: Count

    @classmethod
    def of(cls, finding: Signed, again: Sequence[Signed | None]) -> Confirmation:
        """Count how many times `finding` was found again."""
        return cls(len(again), sum(other is not None and other.signature == finding.signature for other in again))

    @property
    def flaky(self) -> bool:
        """Whether it may not show in a replay."""
        return self.same < self.runs


def write_bundle(
    directory: Path,
    finding: Finding,
    stored: StoredCase,
    limits: Limits,
    confirmation: Confirmation,
    script: str,
    repro: str,
    environment: Mapping[str, Any],
    inputs: bytes | None = None,
    test: str = "",
) -> Path | None:
    """Write a bundle under `directory`, whole or not at all; None when its signature has one already.

    `script` is the module's TVMScript, empty where TVM cannot print it; `repro` the text of repro.py; `inputs` the
    archive of what the program ran on, if it ran; `test` the regression test, empty where there is none.
    """
    subject = Subject(
        finding,
        stored.case,
        finding.observation,
        confirmation.runs,
        confirmation.same,
        environment,
        script,
        test,
    )
    files: dict[str, str | bytes] = {
        "case.json": json_text(stored.to_json()),
        "module.py": script or "# TVM cannot print this module; case.json holds it.\n",
        "inputs.npz": no_arrays() if inputs is None else inputs,
        "observation.json": observation_text(finding, finding.observation, limits, confirmation, environment),
        "repro.py": repro,
        "report.md": report(subject),
        **({TEST_FILE: test} if test else {}),
    }
    return store_bundle(directory, finding, files)


def observation_text(
    finding: Signed,
    seen: Observation,
    limits: Limits,
    confirmation: Confirmation,
    environment: Mapping[str, Any],
) -> str:
    """Return the contents of a bundle's observation.json."""
    record = {
        "kind": finding.kind,
        "signature": finding.signature,
        "parts": list(finding.parts),
        "limits": {"seconds": limits.seconds, "memory": limits.memory},
        "confirmed": {"runs": confirmation.runs, "same": confirmation.same, "flaky": confirmation.flaky},
        "observation": seen.to_json(),
        "environment": dict(environment),
    }
    return json_text(_RECORD.stamped(record))


def store_bundle(directory: Path, finding: Signed, files: Mapping[str, str | bytes]) -> Path | None:
    """Write the files of a bundle, all or none; None when its signature has a bundle already.

    UserError when the disk is full.
    """
    target = directory / finding.directory
    if target.exists() or any(directory.glob(f"*-{finding.signature}")):
        return None
    temporary = directory / f".tmp-{os.getpid()}-{finding.signature}"
    remove(temporary)
    try:
        temporary.mkdir()
        for name, content in files.items():
            write_atomic(temporary / name, content)
        os.rename(temporary, target)
    except FileExistsError:
        return None
    except OSError as error:
        if target.exists():
            return None
        raise storage_error(target, error) from error
    finally:
        remove(temporary)
    return target


class _StoredLimits(msgspec.Struct):
    """At most ten hours and 4 TiB."""

    seconds: Annotated[float, Meta(ge=1e-3, le=36_000)]
    memory: Annotated[int, Meta(ge=1, le=1 << 42)]


class _StoredRecord(msgspec.Struct):
    kind: str
    signature: Annotated[str, Meta(pattern=r"\A[0-9a-f]{12}\Z")]
    parts: tuple[Text, ...]
    limits: _StoredLimits
    confirmed: Confirmation
    observation: dict[str, Any]
    environment: dict[str, Any]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind[:40]!r} is none of {', '.join(KINDS)}")


_RECORD = Schema(_StoredRecord, "bundle")


@dataclass(frozen=True, slots=True)
class Record:
    """What a bundle's observation.json says, of either harness."""

    kind: str
    signature: str
    parts: tuple[str, ...]
    limits: Limits
    confirmed: Confirmation
    observation: Observation
    environment: Mapping[str, Any]

    @property
    def version(self) -> str:
        """The TVM that it was found on, "" where that is not said."""
        version = self.environment.get("tvm")
        return version if isinstance(version, str) else ""


def read_record(bundle: Path) -> Record:
    """Read the observation.json of a bundle; UserError in one line that names the file and the field at fault."""
    file = bundle / "observation.json"
    stored = _RECORD.read(file)
    try:
        seen = Observation.from_json(stored.observation)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
    limits = Limits(stored.limits.seconds, stored.limits.memory)
    return Record(stored.kind, stored.signature, stored.parts, limits, stored.confirmed, seen, stored.environment)


@dataclass(frozen=True, slots=True)
class OtherBundle:
    """A bundle of another harness than that of tensor IR, as far as running it again takes."""

    path: Path
    harness: Harness
    signature: str
    limits: Limits
    flaky: bool


def read_other_bundle(path: Path, harness: Harness) -> OtherBundle:
    """Read a bundle; UserError in one line that names the file at fault."""
    record = read_record(path)
    harness.check(path / "case.json")
    return OtherBundle(path, harness, record.signature, record.limits, record.confirmed.flaky)


def read_bundle(path: Path) -> Bundle:
    """Read a bundle, whoever wrote it; UserError in one line that names the file and the field at fault.

    Nothing in it runs: the program stays text, and `inputs.npz` is read by whoever needs it (tzerlike.core.archive).
    """
    if not path.is_dir():
        raise UserError(f"{path}: not a bundle (no such directory)")
    stored = read_stored_case(path / "case.json")
    record = read_record(path)
    return Bundle(
        path=path,
        stored=stored,
        kind=record.kind,
        signature=record.signature,
        parts=record.parts,
        observation=record.observation,
        limits=record.limits,
        environment=record.environment,
        flaky=record.confirmed.flaky,
    )
