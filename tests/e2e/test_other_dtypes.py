"""The dtypes in which the model of a finding shows the same: asked of TVM itself."""

from __future__ import annotations

from collections.abc import Iterable

from tests.models import case_of
from tests.puzzles.conftest import served
from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.harnesses.graph.dtypes import dtypes_shown
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.oracles import effort_for, judged, make_oracles
from tzerlike.processes.lane import Lane

ORACLES = ("model-errors",)


def called(row: str, dtype: str, calls: int = 1) -> Model:
    kind = TensorType((3,), dtype)
    return Model((Origin(kind),), tuple(Vertex(row, (n,), {}, (kind,)) for n in range(calls)), (calls,))


def test_what_fails_in_some_dtypes_is_asked_in_all() -> None:
    with served(Lane.prepare(0, NoCoverage(), HARNESS.run_case, HARNESS.jobs), Limits()) as executor:
        executor.effort, judges = effort_for(ORACLES), make_oracles(ORACLES)

        def judge(case: Case) -> Iterable[Finding]:
            (seen,) = executor.run([case], count=False)
            return judged(judges, case, seen)

        model = called("atan", "float16")
        (finding,) = judge(case_of(model))
        shown = dtypes_shown(executor, finding, model, judge)
        assert {"float32", "float64"} <= set(shown["nothing"]) and "float32" not in shown["same"]
        assert dtypes_shown(executor, finding, called("atan", "float16", calls=4), judge) == {}
