"""A pass that fails on what others have made, told without them: asked of TVM itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.models import Drafted, case_of, floats
from tests.puzzles.conftest import served
from tzerlike.core.archive import no_arrays
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.stored import Provenance, StoredCase
from tzerlike.coverage import NoCoverage
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.refresh import report_of
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.harnesses.graph.given import given_to_failing
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.oracles import effort_for, judged, make_oracles
from tzerlike.processes.lane import Lane

ORACLES = ("model-errors", "model-form")
LAYOUTS = "relax.ConvertLayoutOfNothing"
"""It fails on `squeeze` along an axis that counts from the end, of which gradients have some."""


def product(kind: str = "input") -> Model:
    draft = Drafted(floats(1, 1, 1, 1, seed=1, kind=kind), floats(1, seed=2))
    return draft.model(draft.call("sum:all", draft.call("matmul:vector second", 0, 1), axis=None, keepdims=False))


@pytest.fixture(scope="module")
def executor() -> Iterator[ForkExecutor]:
    with served(Lane.prepare(0, NoCoverage(), HARNESS.run_case, HARNESS.jobs), Limits()) as made:
        made.effort = effort_for(ORACLES)
        yield made


def judged_by(executor: ForkExecutor, case: Case) -> Iterable[Finding]:
    (seen,) = executor.run([case], count=False)
    return judged(make_oracles(ORACLES), case, seen)


@pytest.mark.parametrize("kind", ["input", "constant"])
def test_the_call_that_a_pass_fails_on_is_left(executor: ForkExecutor, kind: str) -> None:
    model = product(kind)
    (finding,) = judged_by(executor, case_of(model, "relax.Gradient", "relax.CanonicalizeBindings", LAYOUTS))
    given = given_to_failing(finding, model)
    assert given is not None and given.place == 2
    assert [spec.name for spec in given.finding.case.passes] == [LAYOUTS]
    assert "R.squeeze(" in given.source and "R.matmul(" not in given.source and "R.sum(" not in given.source


def test_nothing_is_told_otherwise_where_nothing_comes_before(executor: ForkExecutor) -> None:
    draft = Drafted(floats(1, 1, seed=1))
    model = draft.model(draft.call("squeeze", 0, axis=(-1,)))
    (finding,) = judged_by(executor, case_of(model, LAYOUTS))
    assert given_to_failing(finding, model) is None
    config = ContextConfig(options=(("tirx.disable_assert", True),))
    behind = replace(finding, case=replace(case_of(model, "relax.CanonicalizeBindings", LAYOUTS), config=config))
    assert given_to_failing(behind, model) is not None


def test_a_report_names_what_the_pass_is_given(executor: ForkExecutor, tmp_path: Path) -> None:
    """In its title, its test and its script, and it does not say that it takes the gradient."""
    model = product()
    case = replace(case_of(model, "relax.Gradient", LAYOUTS), target="llvm")
    (finding,) = judged_by(executor, case)
    made = HARNESS.texts(executor, finding, Limits(), Evidence(no_arrays()), lambda other: judged_by(executor, other))
    stored = StoredCase(case, Provenance("seed"))
    path = write_bundle(tmp_path, finding, stored, Limits(), Confirmation(5, 5), made, {})
    assert path is not None
    for text in (path.joinpath("report.md").read_text(), report_of(path)):
        title, _, rest = text.partition("\n")
        assert title == "# [Bug][Relax] ConvertLayout fails on squeeze: std::bad_alloc"
        assert "Seen with `relax.transform.ConvertLayout` run before the default pipeline." in rest
        assert "Gradient" not in rest
    for name in ("test_regression.py", "repro.py"):
        assert "R.squeeze(" in (written := path.joinpath(name).read_text()) and "Gradient" not in written


def test_what_shows_only_with_a_constant_in_place_is_told_with_it(executor: ForkExecutor) -> None:
    """A closure takes a parameter from outside, and defines a constant itself: it is out of sight outside."""
    scalar, choice = TensorType((), "float32"), TensorType((), "bool")
    inside = Vertex("if:two", (1, 0, 0, 0, 0), {}, (scalar, scalar), ("closure0",))
    outside = Vertex("if:two", (1, 0, 0, 0, 0), {}, (scalar, scalar))
    model = Model((Origin(scalar), Origin(choice, "constant")), (inside, outside), (3, 5))
    (finding,) = judged_by(executor, case_of(model, "relax.EliminateCommonSubexpr"))
    made = HARNESS.texts(executor, finding, Limits(), Evidence(no_arrays()), lambda other: judged_by(executor, other))
    for text in (made.script, made.repro, made.test):
        assert "R.const(" in text and "BindParams" not in text
