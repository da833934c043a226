"""The dtypes and the operators with which the model of a finding shows the same: asked of TVM itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from tests.models import case_of
from tests.puzzles.conftest import served
from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.issue.subject import DTYPES_SHOWN, OPERATORS_SHOWN
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.variants import variants_shown
from tzerlike.oracles import effort_for, judged, make_oracles
from tzerlike.processes.lane import Lane

ORACLES = ("model-errors",)


def called(row: str, dtype: str, calls: int = 1) -> Model:
    kind = TensorType((3,), dtype)
    return Model((Origin(kind),), tuple(Vertex(row, (n,), {}, (kind,)) for n in range(calls)), (calls,))


@pytest.fixture(scope="module")
def executor() -> Iterator[ForkExecutor]:
    with served(Lane.prepare(0, NoCoverage(), HARNESS.run_case, HARNESS.jobs), Limits()) as made:
        made.effort = effort_for(ORACLES)
        yield made


def test_what_fails_in_some_dtypes_with_some_operators_is_asked_of_all(executor: ForkExecutor) -> None:
    judges = make_oracles(ORACLES)

    def judge(case: Case) -> Iterable[Finding]:
        (seen,) = executor.run([case], count=False)
        return judged(judges, case, seen)

    model = called("atan", "float16")
    (finding,) = judge(case_of(model))
    shown = variants_shown(executor, finding, model, judge)
    assert {"float32", "float64"} <= set(shown[DTYPES_SHOWN]["nothing"])
    assert "float32" not in shown[DTYPES_SHOWN]["same"]
    operators = set(shown[OPERATORS_SHOWN])
    assert {"asin", "acos"} <= operators and not operators & {"sin", "cos", "atan"}
    assert variants_shown(executor, finding, called("atan", "float16", calls=4), judge) == {}
    twice = variants_shown(executor, finding, called("atan", "float16", calls=2), judge)
    assert twice[OPERATORS_SHOWN] == [], "nobody knows which of two matters"
    idle = Origin(TensorType((3,), "float32"))
    beside = msgspec.structs.replace(model, sources=(*model.sources, idle), outputs=(2,))
    assert variants_shown(executor, finding, beside, judge)[DTYPES_SHOWN] == shown[DTYPES_SHOWN]
