"""How a harness treats the programs of Cases in bundles: the texts that it writes, and how it reduces them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.shrink import Reducer
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Texts
from tzerlike.findings.repro import replaying
from tzerlike.oracles.examiner import Look

JudgeCase = Callable[[Case], Iterable[Finding]]
"""Runs a case once and returns what is found."""


ACCEPTING = frozenset(("types", "form", "text", "meaning", "inputs"))
"""What may accept a program: the interpreter too, for some inputs, and for the first that a few seeds give."""


class CaseSize(Protocol):
    """The size of a case, in a total order; `numbers` are what people count of it."""

    @property
    def numbers(self) -> Mapping[str, int]: ...

    def __lt__(self, other: Any, /) -> bool: ...


class Programs(ABC):
    """The programs of a harness; `reducers` are those of its cases, by name, in the order of the search.

    `reducing_share` is how many children a campaign has for reductions, at most, for each case of its own, where what
    comes first is of the first tier, is a bundle that nobody has reduced, or is to be compared with bundles.
    `entry_choice` is how entries of a corpus are chosen where nobody says: what has found more (docs/evaluation.md).
    """

    reducers: Mapping[str, Reducer[Case]]
    reducing_share: float = 0.125
    entry_choice: str = "uniform"

    @abstractmethod
    def size(self, case: Case) -> CaseSize:
        """Return the size of a case; any exception where its program does not read."""

    def rough_size(self, case: Case) -> CaseSize:
        """Return the size of a case where what is hardly smaller is as large, for programs that have to take long."""
        return self.size(case)

    @abstractmethod
    def texts(
        self, executor: ForkExecutor, finding: Finding, limits: Limits, evidence: Evidence, judge: JudgeCase
    ) -> Texts:
        """Return the texts of a finding that occurred in a compilation."""

    def texts_of_look(self, executor: ForkExecutor, finding: Finding, look: Look) -> Texts:
        """Return the texts of what a probe found; `finding` is that of `look`."""
        return Texts("", replaying(finding.title))

    def texts_of_calls(self, executor: ForkExecutor, finding: Finding, place: str, calls: Sequence[str]) -> Texts:
        """Return the texts of a mutation that died in `place`, of the last of `calls`."""
        return Texts("", replaying(finding.title))

    def plain(self, executor: ForkExecutor, case: Case, *, printed: bool) -> bool:
        """Whether somebody would write the program of `case`, which is valid; with `printed`, it reads back too."""
        return False

    def shipped(self, case: Case) -> bool:
        """Whether a case is compiled by a pipeline that TVM ships, with default options."""
        return not case.passes and case.config == ContextConfig()

    def usual(self, case: Case) -> Case:
        """The same program in the default pipeline, with default options."""
        return replace(case, passes=(), config=ContextConfig())

    def carried(self, executor: ForkExecutor, finding: Finding) -> Iterator[Case]:
        """Yield cases with plain programs in the default pipeline that may show a finding, the most alike first."""
        return iter(())

    def smaller(self, case: Case) -> Iterator[Case]:
        """Yield the case with extents half as large, again and again; nothing where they are small."""
        return iter(())

    def mended(self, executor: ForkExecutor, case: Case) -> Iterator[Case]:
        """Yield cases of programs like that of `case` with nothing odd about their form, where something is."""
        return iter(())

    def accepted(self, case: Case, asked: frozenset[str] = ACCEPTING) -> frozenset[str]:
        """What accepts the program of a case, and survives it, by name: verifiers, the parser, the interpreter.

        Others than those `asked` need not be among them.
        """
        return frozenset()

    def odd(self, case: Case) -> frozenset[str]:
        """What is odd about the form of the program of a case, in words."""
        return frozenset()

    def require_fit(self, executor: ForkExecutor, case: Case, inputs: str = "") -> None:  # noqa: B027 - any case fits
        """UserError in one line unless this compiler takes `case`, and `inputs`, a path or "", fit its program."""
