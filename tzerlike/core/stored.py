"""A case with its origin, as stored in a file of a corpus or of a bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.schema import Schema
from tzerlike.core.untrusted import PROGRAM_BYTES


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A corpus file: a case and where it comes from."""

    case: Case
    provenance: Provenance

    def to_json(self) -> dict[str, Any]:
        return _STORED.stamped({"case": self.case.to_json(), "provenance": self.provenance.to_json()})


class _Stored(msgspec.Struct):
    case: dict[str, Any]
    provenance: dict[str, Any]


_STORED = Schema(_Stored, "file", unstated=1)
"""Version 1 of a corpus file did not state it."""


def stored_case(path: Path) -> StoredCase:
    """Read such a file; UserError in one line when it is not one. Whether the case may run is not looked at."""
    found = _STORED.read(path)
    try:
        stored = StoredCase(Case.from_json(found.case), Provenance.from_json(found.provenance))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    if len(json.dumps(stored.case.to_json(), ensure_ascii=False).encode()) > PROGRAM_BYTES:
        raise UserError(f"{path}: a case of more than {PROGRAM_BYTES >> 20} MiB")
    return stored
