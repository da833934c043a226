"""Bundles: everything that a finding needs to be seen again, as plain files that run nothing when read."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

from tzerlike.archive import no_arrays
from tzerlike.campaign import StoredCase, json_text, read_json, read_stored_case, write_atomic
from tzerlike.errors import StorageError, UserError
from tzerlike.issue.markdown import report
from tzerlike.issue.pytest_file import TEST_FILE
from tzerlike.issue.subject import Subject
from tzerlike.limits import Limits
from tzerlike.observation import Observation, Stage
from tzerlike.oracles.finding import KINDS, ROUND_TRIP, Finding, Signed
from tzerlike.untrusted import Fields

SCHEMA_VERSION = 1

_SIGNATURE = re.compile(r"[0-9a-f]{12}")


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

    runs: int
    same: int

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
        "case.json": json_text({"schema_version": SCHEMA_VERSION, **stored.to_json()}),
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
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": finding.kind,
            "signature": finding.signature,
            "parts": list(finding.parts),
            "limits": {"seconds": limits.seconds, "memory": limits.memory},
            "confirmed": {"runs": confirmation.runs, "same": confirmation.same, "flaky": confirmation.flaky},
            "observation": seen.to_json(),
            "environment": dict(environment),
        }
    )


def store_bundle(directory: Path, finding: Signed, files: Mapping[str, str | bytes]) -> Path | None:
    """Write the files of a bundle, all or none; None when its signature has a bundle already.

    UserError when the disk is full.
    """
    target = directory / finding.directory
    if target.exists() or any(directory.glob(f"*-{finding.signature}")):
        return None
    temporary = directory / f".tmp-{os.getpid()}-{finding.signature}"
    shutil.rmtree(temporary, ignore_errors=True)
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
        raise StorageError(f"{target}: {error.strerror}; make room, then go on with --resume") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def read_bundle(path: Path) -> Bundle:
    """Read a bundle, whoever wrote it; UserError in one line that names the file and the field at fault.

    Nothing in it runs: the program stays text, and `inputs.npz` is read by whoever needs it (tzerlike.archive).
    """
    if not path.is_dir():
        raise UserError(f"{path}: not a bundle (no such directory)")
    stored = read_stored_case(path / "case.json")
    file = path / "observation.json"
    data = read_json(file)
    try:
        root = Fields.of(data, "bundle")
        if root.whole("schema_version") != SCHEMA_VERSION:
            raise UserError(f"schema_version {root.whole('schema_version')} is not {SCHEMA_VERSION}")
        return Bundle(
            path=path,
            stored=stored,
            kind=read_kind(root),
            signature=read_signature(root),
            parts=root.texts("parts"),
            observation=Observation.from_json(root.inner("observation").data),
            limits=read_limits(root.inner("limits")),
            environment=dict(root.inner("environment").data),
            flaky=read_flaky(root),
        )
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def read_kind(root: Fields) -> str:
    """The kind that an observation.json states."""
    return root.choice("kind", KINDS)


def read_signature(root: Fields) -> str:
    """The signature that an observation.json states."""
    signature = root.text("signature")
    if not _SIGNATURE.fullmatch(signature):
        raise UserError(f"{root.where}.signature: not twelve hexadecimal digits")
    return signature


def read_flaky(root: Fields) -> bool:
    """Whether the finding did not show in every run that was to confirm it."""
    confirmed = root.inner("confirmed")
    return confirmed.whole("same", 0) < confirmed.whole("runs", 0)


def read_limits(fields: Fields) -> Limits:
    """The limits that an observation.json states: at most ten hours and 4 TiB."""
    return Limits(fields.number("seconds", 1e-3, 36_000), fields.whole("memory", 1, 1 << 42))
