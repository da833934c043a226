"""Bundles: everything needed to reproduce a finding, as plain files; reading them runs nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tzerlike.core.archive import arrays_in, no_arrays
from tzerlike.core.errors import UserError
from tzerlike.core.finding import KINDS, SCHEME, SECOND_TIER, Finding, Signed
from tzerlike.core.harness import HarnessRow
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Observation
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import json_text, write_directory
from tzerlike.core.stored import StoredCase
from tzerlike.findings.cases import read_case
from tzerlike.findings.issue.listing import inputs_text
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.issue.subject import NOTES, Subject, as_shown
from tzerlike.oracles import probe_of
from tzerlike.oracles.protocol import Probe
from tzerlike.systems.optional import LEVELS
from tzerlike.tir.witness.verdict import Deposition, WitnessWord


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How many of the runs after the first showed the same signature, and what else is known of a finding by then.

    `tier` is one of tzerlike.findings.tiers, or 0 where nobody asked, as in old bundles; `witness` what the second
    reading of the program says of wrong code.
    """

    runs: Count
    same: Count
    tier: int = 0
    witness: Deposition | None = None

    @classmethod
    def of(cls, finding: Signed, again: Sequence[Signed | None]) -> Confirmation:
        """Count how many times `finding` was found again."""
        return cls(len(again), sum(other is not None and other.signature == finding.signature for other in again))

    @property
    def flaky(self) -> bool:
        """Whether it may not show in a replay."""
        return self.same < self.runs

    def with_tier(self, tier: int, witness: Deposition | None) -> Confirmation:
        """Add the tier, and the witness where it was asked: what it cannot confirm is nothing to stop a user with, nor
        is what does not show each time."""
        sure = not self.flaky and (witness is None or witness.word is WitnessWord.CONFIRMS)
        return replace(self, tier=tier if sure else SECOND_TIER, witness=witness)

    @property
    def withheld(self) -> bool:
        """Whether the witness objects: what was expected may be wrong."""
        return self.witness is not None and self.witness.word is WitnessWord.OBJECTS


@dataclass(frozen=True, slots=True)
class Texts:
    """What a bundle has for people to read and to run.

    `script` is the source of its program, "" where that cannot be printed; `repro` the text of repro.py; `test` a
    regression test, "" where there is none. `alone` says whether one of the two shows the finding in a process of its
    own, without tzerlike, as far as that was tried. `notes` is what a report says beside, by keys of an environment.
    """

    script: str
    repro: str
    test: str = ""
    alone: bool = True
    notes: Mapping[str, Any] = field(default_factory=dict)


def write_bundle(
    directory: Path,
    finding: Finding,
    stored: StoredCase,
    limits: Limits,
    confirmation: Confirmation,
    texts: Texts,
    environment: Mapping[str, Any],
    inputs: bytes | None = None,
) -> Path | None:
    """Write a bundle under `directory`, whole or not at all; None when its signature has one already.

    `inputs` is the archive of what the program ran on, if it ran.
    """
    # It may be that of the bundle which this one is reduced from.
    environment = {key: value for key, value in environment.items() if key not in NOTES} | dict(texts.notes)
    if not texts.alone:
        # A reader cannot see it, by chance or for what else it takes.
        confirmation = replace(confirmation, tier=SECOND_TIER)
    read: dict[str, str | bytes] = {
        "case.json": json_text(stored.to_json()),
        "inputs.npz": no_arrays() if inputs is None else inputs,
    }
    subject = Subject(
        finding,
        as_shown(stored.case, environment),
        finding.observation,
        confirmation.runs,
        confirmation.same,
        environment,
        texts.script,
        texts.test,
        tier=confirmation.tier,
        witness=confirmation.witness,
        repro=texts.repro,
        inputs="" if inputs is None else inputs_text(arrays_in(inputs, directory / "inputs.npz"), texts.script),
        files={name: text.encode() if isinstance(text, str) else text for name, text in read.items()},
        memory=limits.memory,
    )
    files: dict[str, str | bytes] = {
        **read,
        "module.py": texts.script or "# TVM cannot print this module; case.json holds it.\n",
        "observation.json": observation_text(finding, finding.observation, limits, confirmation, environment),
        "repro.py": texts.repro,
        "report.md": report(subject),
        **({TEST_FILE: texts.test} if texts.test else {}),
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
    record: dict[str, Any] = {
        "kind": finding.kind,
        "scheme": SCHEME,
        "signature": finding.signature,
        "parts": list(finding.parts),
        "marks": list(finding.marks),
        "bare": list(finding.bare),
        "gist": list(finding.gist),
        "identity": list(finding.identity),
        "place": list(finding.place),
        "effect": list(finding.effect),
        "root": list(finding.root),
        "finer": list(finding.finer),
        "slips": list(finding.slips),
        "apart": list(finding.apart),
        "limits": {"seconds": limits.seconds, "memory": limits.memory},
        "confirmed": {"runs": confirmation.runs, "same": confirmation.same, "flaky": confirmation.flaky},
        "tier": confirmation.tier,
        "observation": seen.to_json(),
        "environment": dict(environment),
    }
    if confirmation.witness is not None:
        record |= {"witness": confirmation.witness.word.value, "witness_reason": confirmation.witness.reason}
    return json_text(_RECORD.stamped(record))


def store_bundle(directory: Path, finding: Signed, files: Mapping[str, str | bytes]) -> Path | None:
    """Write the files of a bundle, all or none; None when its signature, or what tells it apart, has one already.

    UserError when the disk is full.
    """
    target = directory / finding.directory
    if target.exists() or (not finding.apart and bundles_of(directory, finding.signature)):
        return None
    return target if write_directory(target, files) else None


def bundles_of(directory: Path, signature: str) -> list[Path]:
    """Return the bundles of a signature, in order of name, but none that is half written."""
    return sorted(directory.glob(f"[!.]*-{signature}"))


class _StoredLimits(msgspec.Struct):
    """At most ten hours and 4 TiB."""

    seconds: Annotated[float, Meta(ge=1e-3, le=36_000)]
    memory: Annotated[int, Meta(ge=1, le=1 << 42)]


class _StoredConfirmation(msgspec.Struct):
    runs: Count
    same: Count


class _StoredRecord(msgspec.Struct):
    kind: str
    signature: Annotated[str, Meta(pattern=r"\A[0-9a-f]{12}\Z")]
    parts: tuple[Text, ...]
    limits: _StoredLimits
    confirmed: _StoredConfirmation
    observation: dict[str, Any]
    environment: dict[str, Any]
    tier: Annotated[int, Meta(ge=0, le=2)] = 0
    witness: WitnessWord | None = None
    witness_reason: Text = ""
    scheme: Annotated[int, Meta(ge=1, le=SCHEME)] = 1
    marks: tuple[Text, ...] = ()
    bare: tuple[Text, ...] = ()
    gist: tuple[Text, ...] = ()
    identity: tuple[Text, ...] = ()
    place: tuple[Text, ...] = ()
    effect: tuple[Text, ...] = ()
    root: tuple[Text, ...] = ()
    finer: tuple[Text, ...] = ()
    slips: tuple[Text, ...] = ()
    apart: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind[:40]!r} is none of {', '.join(KINDS)}")


_RECORD = Schema(_StoredRecord, "bundle")


@dataclass(frozen=True, slots=True)
class Record:
    """What a bundle's observation.json says, of any harness: what was seen, and under which limits."""

    path: Path
    kind: str
    signature: str
    parts: tuple[str, ...]
    limits: Limits
    confirmed: Confirmation
    observation: Observation
    environment: Mapping[str, Any]
    scheme: int
    marks: tuple[str, ...]
    bare: tuple[str, ...]
    gist: tuple[str, ...]
    identity: tuple[str, ...]
    place: tuple[str, ...]
    effect: tuple[str, ...]
    root: tuple[str, ...]
    finer: tuple[str, ...]
    slips: tuple[str, ...]
    apart: tuple[str, ...]

    @property
    def signed(self) -> Signed:
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(Signed)}
        return Signed(told.pop("kind"), told.pop("parts"), **told)

    @property
    def tier(self) -> int:
        return self.confirmed.tier

    @property
    def title(self) -> str:
        return self.signed.title

    def shown_by(self, signatures: Sequence[str]) -> bool:
        """Whether a finding with these signatures, one for each scheme, is that of this bundle."""
        return signatures[self.scheme - 1] == self.signature

    @property
    def flaky(self) -> bool:
        return self.confirmed.flaky

    @property
    def version(self) -> str:
        """The TVM that it was found on, "" where that is not said."""
        version = self.environment.get("tvm")
        return version if isinstance(version, str) else ""

    @property
    def baseline(self) -> str:
        """The baseline that builds were compared with."""
        baseline = self.environment.get("baseline")
        return baseline if isinstance(baseline, str) else LEVELS


@dataclass(frozen=True, slots=True)
class OtherBundle(Record):
    """A bundle of a harness whose programs are no Cases, as far as running it again takes."""

    harness: HarnessRow


@dataclass(frozen=True, slots=True)
class Bundle(Record):
    """A bundle with its case."""

    stored: StoredCase

    @property
    def probe(self) -> Probe | None:
        """The probe of the oracle that it is of; None where its finding came about in a compilation of the case."""
        return probe_of(self.signed, self.observation, self.environment)


def read_record(bundle: Path) -> Record:
    """Read the observation.json of a bundle; UserError in one line that names the file and the field at fault."""
    return Record(**_fields(bundle))


_AS_STORED = (
    "kind", "signature", "parts", "environment", "scheme", "marks", "bare", "gist", "identity", "place", "effect",
    "root", "finer", "slips", "apart",
)  # fmt: skip


def _fields(bundle: Path) -> dict[str, Any]:
    file = bundle / "observation.json"
    stored = _RECORD.read(file)
    try:
        seen = Observation.from_json(stored.observation)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
    limits = Limits(stored.limits.seconds, stored.limits.memory)
    witness = None if stored.witness is None else Deposition(stored.witness, stored.witness_reason)
    confirmed = Confirmation(stored.confirmed.runs, stored.confirmed.same, stored.tier, witness)
    found = {"path": bundle, "limits": limits, "confirmed": confirmed, "observation": seen}
    return found | {name: getattr(stored, name) for name in _AS_STORED}


def read_other_bundle(path: Path, harness: HarnessRow) -> OtherBundle:
    """Read a bundle; UserError in one line that names the file at fault."""
    fields = _fields(path)
    harness.load("reader")(path / "case.json")
    return OtherBundle(**fields, harness=harness)


def read_bundle(path: Path) -> Bundle:
    """Read a bundle, whoever wrote it; UserError in one line that names the file and the field at fault.

    Nothing in it runs: the program stays text, and `inputs.npz` is read by whoever needs it (tzerlike.core.archive).
    """
    if not path.is_dir():
        raise UserError(f"{path}: not a bundle (no such directory)")
    stored = read_case(path / "case.json")
    return Bundle(**_fields(path), stored=stored)
