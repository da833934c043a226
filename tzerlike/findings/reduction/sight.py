"""How the cases of a bundle are looked at while it is reduced, and how the smallest is written down.

One sight for what came about in a compilation, another for the text of a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.stored import StoredCase
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import About, Bundle
from tzerlike.findings.bundles.compilation import bundle_compilation, confirmed
from tzerlike.findings.bundles.text import bundle_text, look_at_text
from tzerlike.oracles import judged, make_oracles
from tzerlike.processes.heap import LAYOUTS, layouts_for

Environment = Mapping[str, Any]
"""What a bundle says that it came about under."""


class Sight(Protocol):
    """`layouts` are the heaps that a finding is confirmed on; `few` those that a smaller case has to show it on before
    it is taken."""

    layouts: tuple[int, ...]
    few: tuple[int, ...]

    def look(self, case: Case, layout: int = 0, inputs: str = "") -> list[Finding]:
        """Look at a case once on a heap, with the inputs of an archive where one is named."""
        ...

    def write(
        self, directory: Path, finding: Finding, stored: StoredCase, environment: Mapping[str, Any]
    ) -> Path | None:
        """Confirm a finding and write its bundle under `directory`; None where it does not show every time."""
        ...


class CompilationSight:
    """What a compilation of the case comes to, judged by the oracles of its campaign."""

    def __init__(self, executor: ForkExecutor, oracles: Sequence[str], kind: str) -> None:
        self._executor = executor
        self._oracles = make_oracles(oracles)
        self.layouts = layouts_for(kind)
        if kind == "wrong-code":
            # Walked along its passes each time that it shows: one heap, on which fresh memory is filled.
            self.few: tuple[int, ...] = (LAYOUTS[-1],)
        else:
            self.few = (self.layouts[0], self.layouts[-1]) if self.layouts == LAYOUTS else self.layouts

    def look(self, case: Case, layout: int = 0, inputs: str = "") -> list[Finding]:
        effort = replace(self._executor.effort, layout=layout, inputs=inputs)
        (seen,) = self._executor.run([case], count=False, effort=effort)
        return judged(self._oracles, case, seen)

    def write(
        self, directory: Path, finding: Finding, stored: StoredCase, environment: Mapping[str, Any]
    ) -> Path | None:
        evidence = evidence_for(finding.case, finding.observation.results)

        def shows(layout: int, inputs: str) -> bool:
            return any(found.signature == finding.signature for found in self.look(finding.case, layout, inputs))

        confirmation = confirmed(finding.kind, evidence, directory / "inputs.npz", shows)
        if confirmation.flaky:
            return None
        executor = self._executor
        return bundle_compilation(
            directory, executor, finding, stored, executor.limits, confirmation, evidence, self.look, environment
        )


class TextSight:
    """Whether the program of the case comes back from its text."""

    layouts: tuple[int, ...] = (0, 0)
    few: tuple[int, ...] = (0,)

    def __init__(self, executor: ForkExecutor) -> None:
        self._executor = executor

    def look(self, case: Case, layout: int = 0, inputs: str = "") -> list[Finding]:
        finding = look_at_text(self._executor, case)
        return [] if finding is None else [finding]

    def write(
        self, directory: Path, finding: Finding, stored: StoredCase, environment: Mapping[str, Any]
    ) -> Path | None:
        return bundle_text(directory, self._executor, finding, stored, environment)


def sight_for(bundle: Bundle, executor: ForkExecutor, oracles: Sequence[str]) -> Sight:
    """Return how the cases of a bundle are looked at."""
    if bundle.about is About.TEXT:
        return TextSight(executor)
    return CompilationSight(executor, oracles, bundle.kind)
