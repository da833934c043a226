"""Interruptions of a build that are nobody's fault, reported with what the user can do."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from tzerlike.core.errors import UserError

GOES_ON = "run the same command again to continue"


@contextlib.contextmanager
def space_needed(again: str = GOES_ON) -> Iterator[None]:
    """Turn a full disk into a UserError that says so, and what to do then; other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f" for {error.filename}" if error.filename else ""
        raise UserError(f"no space left{where}; make room and {again}") from error
