"""The reduced bundle on disk: `reduced/` in the bundle's own directory, whole at every moment."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from typing import Any

from tzerlike.bundles.bundle import Bundle
from tzerlike.bundles.compilation import bundle_compilation, confirmed
from tzerlike.case import Case
from tzerlike.compare.evidence import evidence_for
from tzerlike.errors import UserError
from tzerlike.executor.execute import ForkExecutor
from tzerlike.limits import Limits
from tzerlike.oracles.finding import Finding
from tzerlike.reduction import REDUCED
from tzerlike.reduction.judge import Judge
from tzerlike.reduction.place import put_in_place

SAVE_EVERY = 10.0
"""Seconds between two saves while the search goes on, at least: a kill loses no more than that."""

_SAVING_SHARE = 0.1
"""Part of the time that saves may take: to confirm a case that takes long takes several times as long."""


class Recorder:
    """Keeps the best case so far of one bundle on disk, once it has shown the finding again.

    `environment` is what the reduction ran under.
    """

    def __init__(
        self, bundle: Bundle, judge: Judge, executor: ForkExecutor, limits: Limits, environment: Mapping[str, Any]
    ) -> None:
        self._bundle = bundle
        self._judge = judge
        self._executor = executor
        self._limits = limits
        self._environment = environment
        self._next_save = time.monotonic() + SAVE_EVERY
        self.saved: Case | None = None

    def note(self, case: Case) -> None:
        """Save `case` if the last save is a while ago."""
        began = time.monotonic()
        if began >= self._next_save:
            self.save(case)
            now = time.monotonic()
            self._next_save = now + max(SAVE_EVERY, (now - began) / _SAVING_SHARE)

    def save(self, case: Case) -> bool:
        """Write `case` as the reduced bundle; False, with everything left as it was, when it does not show again."""
        if case == self.saved:
            return True
        finding = self._judge.finding(case)
        if finding is None:
            return False
        evidence = evidence_for(case, finding.observation.results)
        temporary = self._bundle.path / f".tmp-{os.getpid()}-{REDUCED}"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            temporary.mkdir()
            confirmation = confirmed(
                finding.kind,
                evidence,
                temporary / "inputs.npz",
                lambda layout, inputs: self._judge.finding(case, layout, inputs) is not None,
            )
            if confirmation.flaky:
                return False
            path = bundle_compilation(
                temporary,
                self._executor,
                finding,
                self._bundle.stored,
                self._limits,
                confirmation,
                evidence,
                self._found,
                self._environment,
            )
            if path is not None:
                put_in_place(path, self._bundle.path / REDUCED)
        except OSError as error:
            raise UserError(f"{self._bundle.path / REDUCED}: {error.strerror}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.saved = case
        return True

    def _found(self, case: Case) -> list[Finding]:
        finding = self._judge.finding(case)
        return [] if finding is None else [finding]
