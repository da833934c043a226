"""A fault as files: `faults/<signature>/` in a campaign's directory, with everything needed to run it again.

fault.json    what failed, where, and in which campaign
case.json     the case, where there was one
parent.json   the case that a mutation changed, where the fault occurred in one
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tzerlike.core.case import Case
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import Fault, UserError
from tzerlike.core.mutation import Mutation
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import json_text, write_directory
from tzerlike.core.stored import StoredCase
from tzerlike.findings.cases import read_case, require_runnable

SCHEMA_VERSION = 1
FILE = "fault.json"

_CASE, _PARENT = "case.json", "parent.json"


class Donor(msgspec.Struct, frozen=True):
    """A case that a mutation drew from a corpus of so many entries."""

    entries: int
    ir: str


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a fault occurred on: an iteration and, as far as there was one, the case, or the mutation of a parent with
    what it drew from the corpus."""

    iteration: int
    stored: StoredCase | None = None
    mutation: Mutation | None = None
    parent: StoredCase | None = None
    donors: tuple[Donor, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it can be gone through again."""
        return self.stored is not None or (self.mutation is not None and self.parent is not None)


class FaultFile(msgspec.Struct, frozen=True):
    """The contents of fault.json; `worker` and `iteration` say where in the `campaign` it occurred first, and
    `environment` on what."""

    schema_version: int
    signature: str
    kind: str
    frames: tuple[str, ...]
    doing: Text
    text: Text
    worker: Count
    iteration: Count
    mutation: Mutation | None
    donors: tuple[Donor, ...]
    campaign: CampaignConfig
    environment: dict[str, Any]


_SCHEMA = Schema(FaultFile, "fault", SCHEMA_VERSION)


@dataclass(frozen=True, slots=True)
class FaultBundle:
    """A fault that was kept: the directory, what fault.json says, and what the fault occurred on."""

    path: Path
    file: FaultFile
    occasion: Occasion

    @property
    def fault(self) -> Fault:
        return Fault(self.file.kind, self.file.frames, self.file.text, self.file.doing)

    @property
    def signature(self) -> str:
        return self.file.signature

    flaky = False
    """Nobody looked."""


def is_fault(path: Path) -> bool:
    """Whether a directory is the bundle of a fault."""
    return (path / FILE).is_file()


def write_fault(
    directory: Path,
    fault: Fault,
    occasion: Occasion,
    worker: int,
    campaign: CampaignConfig,
    environment: dict[str, Any],
) -> None:
    """Write the bundle of a fault, whole or not at all, unless its signature has one; StorageError on a full disk."""
    target = directory / fault.signature
    if target.exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    file = FaultFile(
        schema_version=SCHEMA_VERSION,
        signature=fault.signature,
        kind=fault.kind,
        frames=fault.frames,
        doing=fault.doing,
        text=fault.text,
        worker=worker,
        iteration=occasion.iteration,
        mutation=occasion.mutation,
        donors=occasion.donors,
        campaign=campaign,
        environment=environment,
    )
    cases = ((_CASE, occasion.stored), (_PARENT, occasion.parent))
    files: dict[str, bytes | str] = {name: json_text(case.to_json()) for name, case in cases if case is not None}
    files[FILE] = msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"
    write_directory(target, files)


def kept_faults(directory: Path) -> list[Path]:
    """The bundles of faults in a directory, in order of signature."""
    return sorted(path for path in directory.glob("[0-9a-f]*") if is_fault(path))


def read_fault(path: Path) -> FaultBundle:
    """Read the bundle of a fault, whoever wrote it; UserError in one line that names the file and what is wrong."""
    place = path / FILE
    file = _SCHEMA.read(place)
    for donor in file.donors:
        try:
            require_runnable(Case(donor.ir, harness=file.campaign.harness))
        except UserError as error:
            raise UserError(f"{place}: donors: {error}") from error
    stored, parent = (read_case(path / name) if (path / name).exists() else None for name in (_CASE, _PARENT))
    return FaultBundle(path, file, Occasion(file.iteration, stored, file.mutation, parent, file.donors))
