"""One problem under one check: ask TVM, and compare what it claims with the values."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from tzerlike.arith.bridge import Unmakeable, Unreadable
from tzerlike.arith.checks import Analysis, Question, pose
from tzerlike.arith.claims import Counterexample, refute
from tzerlike.arith.enumerate import AssignmentGrid, Mask
from tzerlike.arith.model import Expr, Problem
from tzerlike.core.errors import TzerlikeError
from tzerlike.core.frames import cpp_frames, function_name
from tzerlike.core.observation import Frame, message_template
from tzerlike.core.refused import Refusal, nameless, refusal_in
from tzerlike.systems import tvm_api, under_test

_UNMADE, _UNREAD = "not made: ", "unread: "
_NO_ARGUMENT = re.compile(r"Do not know how to handle type|got `ffi\.OpaquePyObject`")
"""What tvm-ffi says of an object that is none of TVM's."""
_TOP_FRAMES = 3
_FRAMES = 32


@dataclass(frozen=True, slots=True)
class AnalysisOutcome:
    """What became of a check: whether it claimed anything, where that is false, or the exception that TVM raised.

    `frames` are the C++ functions that the exception came through, from the innermost out.
    """

    claimed: bool = False
    wrong: Counterexample | None = None
    error: str = ""
    frames: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether TVM raised an exception; that we cannot read an answer is no fault of its."""
        return bool(self.error) and not self.error.startswith((_UNMADE, _UNREAD))

    @property
    def condition(self) -> str:
        """Which check of TVM's own failed, or else what it says; "" where it did not raise."""
        said = refusal_in(self.error) if self.refused else Refusal("", "", "")
        return said.condition or nameless(said.words)

    @property
    def error_parts(self) -> tuple[str, ...]:
        """What distinguishes exceptions: the message without what varies, and the functions that say most."""
        frames = under_test().code.telling(tuple(Frame(function_name(name), "") for name in self.frames))
        return (message_template(self.error), *(frame.function for frame in frames[:_TOP_FRAMES]))


_SILENT, _RIGHT = AnalysisOutcome(), AnalysisOutcome(claimed=True)


@dataclass(frozen=True, slots=True)
class Table:
    """A problem with its values at all assignments, and the assignments that count."""

    problem: Problem
    grid: AssignmentGrid
    counted: Mask

    @classmethod
    def of(cls, problem: Problem, grid: AssignmentGrid | None = None) -> Table:
        """Tabulate a problem; `grid` may be that of another one with the same variables."""
        grid = grid or AssignmentGrid.of(problem.variables)
        return cls(problem, grid, grid.defined(problem))

    @property
    def defined(self) -> bool:
        return bool(np.count_nonzero(self.counted))


def run_analysis(table: Table, check: Analysis) -> AnalysisOutcome:
    """Ask a fresh analyzer; the process may die of it.

    The exceptions that TVM raises are part of the outcome; those of our own code pass through.
    """
    with ExitStack() as scope:
        question = posed(table, scope)
        return question if isinstance(question, AnalysisOutcome) else answer(table, question, check)


def posed(table: Table, scope: ExitStack) -> Question | AnalysisOutcome:
    """Return the question with a fresh analyzer, or the outcome where TVM raises when it is given the constraints."""
    try:
        return pose(table.problem, scope)
    except Unmakeable as unknown:
        return AnalysisOutcome(error=f"{_UNMADE}{unknown}")
    except Exception as error:
        if not raised_in_analysis(error):
            raise
        # A fork has sets that its own analyzer cannot be given.
        return AnalysisOutcome(error=f"{_UNREAD}{error}") if _NO_ARGUMENT.search(str(error)) else _refused(error)


def answer(table: Table, question: Question, check: Analysis) -> AnalysisOutcome:
    """Ask the question's analyzer, which may have answered other checks before."""
    try:
        claims = check.ask(question)
    except Unreadable as unknown:
        return AnalysisOutcome(error=f"{_UNREAD}{unknown}")
    except Exception as error:
        if not raised_in_analysis(error):
            raise
        return _refused(error)
    if not claims:
        return _SILENT
    wrong = refute(table.problem, table.grid, table.counted, claims)
    return _RIGHT if wrong is None else AnalysisOutcome(True, wrong)


def rewritten(check: Analysis, problem: Problem) -> Expr | None:
    """Return what a simplifier makes of a problem's root; None where it leaves it alone or does not say."""
    if not check.applies(problem):
        return None
    with ExitStack() as scope:
        question = posed(Table.of(problem), scope)
        if isinstance(question, AnalysisOutcome):
            return None
        try:
            claims = check.ask(question)
        except Unreadable:
            return None
        except Exception as error:
            if not raised_in_analysis(error):
                raise
            return None
    return claims[0].right if claims else None


def raised_in_analysis(error: Exception) -> bool:
    """Whether an exception is TVM's, and so data, or one of our own."""
    if isinstance(error, TzerlikeError):
        return False
    return isinstance(error, tvm_api.tvm.error.InternalError | MemoryError) or tvm_api.raised_by_tvm(error)


def _refused(error: Exception) -> AnalysisOutcome:
    """MemoryError when that is what TVM says."""
    if isinstance(error, MemoryError) or "bad_alloc" in str(error):
        raise MemoryError from error
    return AnalysisOutcome(error=f"{type(error).__name__}: {error}", frames=tuple(cpp_frames(error)[:_FRAMES]))
