"""The reduced bundle on disk: `reduced/` in the bundle's own directory, whole at every moment."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import FIRST_TIER
from tzerlike.core.storage import remove
from tzerlike.findings.bundles.bundle import Bundle, read_record
from tzerlike.findings.reduction import REDUCED
from tzerlike.findings.reduction.judge import FindingJudge
from tzerlike.findings.reduction.place import put_in_place

_SAVE_EVERY = 10.0
"""Seconds between two saves while the search goes on, at least: a kill loses no more than that."""

_SAVING_SHARE = 0.1
"""Part of the time that saves may take: to confirm a case that takes long takes several times as long."""


class Recorder:
    """Keeps the best case so far of one bundle on disk, once it has shown the finding again.

    `environment` is what the reduction ran under, `cost` the seconds that a save takes, where that is known to be long.
    """

    def __init__(self, bundle: Bundle, judge: FindingJudge, environment: Mapping[str, Any], cost: float = 0.0) -> None:
        self._bundle = bundle
        self._judge = judge
        self._environment = environment
        self._next_save = time.monotonic() + max(_SAVE_EVERY, cost / _SAVING_SHARE)
        self.saved: Case | None = None

    def note(self, case: Case) -> None:
        """Save `case` if the last save is a while ago."""
        began = time.monotonic()
        if began >= self._next_save:
            self.save(case)
            now = time.monotonic()
            self._next_save = now + max(_SAVE_EVERY, (now - began) / _SAVING_SHARE)

    def save(self, case: Case) -> bool:
        """Write `case` as the reduced bundle; False, with everything left as it was, when it does not show again."""
        if case == self.saved:
            return True
        finding = self._judge.finding(case)
        if finding is None:
            return False
        temporary = self._bundle.path / f".tmp-{os.getpid()}-{REDUCED}"
        remove(temporary)
        try:
            temporary.mkdir()
            path = self._judge.retrial.write(temporary, finding, self._bundle.stored, self._environment)
            if path is None or (case != self._bundle.stored.case and self._lost_tier(path)):
                return False
            put_in_place(path, self._bundle.path / REDUCED)
        except OSError as error:
            raise UserError(f"{self._bundle.path / REDUCED}: {error.strerror}") from error
        finally:
            remove(temporary)
        self.saved = case
        return True

    def _lost_tier(self, path: Path) -> bool:
        """Whether what the bundle says of its tier is not so of the reduced one: the witness may not understand it."""
        return read_record(path).tier != FIRST_TIER and self._judge.first_tier
