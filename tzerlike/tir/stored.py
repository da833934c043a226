"""Stored cases of tensor IR, whoever wrote them."""

from __future__ import annotations

from pathlib import Path

from tzerlike.core.errors import UserError
from tzerlike.core.stored import StoredCase, stored_case
from tzerlike.tir.allowlist.stored import require_allowed


def read_stored_case(path: Path) -> StoredCase:
    """Read a corpus file or a bundle's case.json; UserError in one line when it is not one, or may not be run."""
    stored = stored_case(path)
    try:
        require_allowed(stored.case)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return stored
