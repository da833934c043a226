"""Gradients of TVM's pass beside those by differences: models that a child builds, runs and judges."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.models import ALL, Drafted, Notes, case_of
from tests.models import observed as observed_here
from tests.puzzles.conftest import served
from tzerlike import api
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.stored import Provenance, StoredCase
from tzerlike.coverage import NoCoverage
from tzerlike.execution.diagnosis.ask import ask_walk
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.graph.loss import differentiable, is_loss, with_loss
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.graph.steps import GRADIENT
from tzerlike.graph.stored import model_of
from tzerlike.harnesses.graph.building import Building
from tzerlike.harnesses.graph.failing import shortest_source
from tzerlike.harnesses.graph.gradients import gradient_at_fault
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.pairs import GraphPairs
from tzerlike.harnesses.graph.passes import MIXED, ZERO, rules_for_gradients, suited
from tzerlike.harnesses.graph.program import in_short, source_program
from tzerlike.harnesses.graph.regression import regression_test
from tzerlike.harnesses.graph.texts import repro_script, wrong_output
from tzerlike.harnesses.graph.walking import WALK
from tzerlike.oracles.model_gradients import judge_gradients
from tzerlike.oracles.models import judge_errors, judge_results
from tzerlike.processes.forked import in_child
from tzerlike.processes.lane import Lane


def _doubles(*shape: int, low: float = -2.0) -> Origin:
    return Origin(TensorType(shape, "float64"), low=low, high=2.0, seed=len(shape))


def _chain() -> Model:
    """softmax(x @ y) * sin(x @ y), and what of it lies above its mean."""
    draft = Drafted(_doubles(3, 4), _doubles(4, 5))
    product = draft.call("matmul", 0, 1)
    share = draft.call("multiply", draft.call("nn.softmax", product, axis=1), draft.call("sin", product))
    mean = draft.call("mean", share, axis=(1,), keepdims=True)
    found = draft.call("nn.relu", draft.call("subtract", share, mean))
    return with_loss(draft.model(found), [found])


def _call(row: str, *sources: Origin, **attributes: Any) -> Model:
    draft = Drafted(*sources)
    found = draft.call(row, *range(len(sources)), **attributes)
    return with_loss(draft.model(found), [found])


def _choice(*shape: int) -> Model:
    return _call("where", Origin(TensorType((3, 4), "bool")), _doubles(3, 4), _doubles(*shape))


RIGHT = {
    "a chain": _chain(),
    "a broadcast": _call("divide", _doubles(3, 4), _doubles(3, 1, low=0.5)),
    "a variance": _call("variance", _doubles(3, 4), axis=(1,), keepdims=False),
    "a scan": _call("cumsum", _doubles(3, 4), axis=1, exclusive=False),
    "a choice": _choice(3, 4),
}
WRONG = {
    "cumsum": _call("cumsum", _doubles(3, 4), axis=1, exclusive=True),
    "where": _choice(4),
}


@cache
def observed(case: Case) -> Observation:
    """What a child sees: a parallel kernel would leave TVM's threads behind, which the children of later tests lack."""
    answer, signal = in_child(lambda: json.dumps(observed_here(case).to_json()))
    assert answer is not None, f"died of signal {signal}"
    return Observation.from_json(json.loads(answer))


BRANCHES = Origin(TensorType((), "bool")), _doubles(3, 4), _doubles(3, 4)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (_call("rsqrt", _doubles(3, 4, low=0.5)), "FPrimalGradient has not been registered"),
        (_call("call_tir:staged", _doubles(4)), "without registering corresponding gradient function"),
        (_call("if", *BRANCHES), "only support one dataflow block"),
    ],
)
def test_what_has_no_rule_is_no_finding(model: Model, words: str) -> None:
    case = case_of(model, GRADIENT.name)
    seen = observed(case)
    assert words in seen.message
    assert judge_errors(case, seen) is None
    assert not differentiable(model, rules_for_gradients())


def _case(model: Model, *passes: str) -> Case:
    return case_of(model, GRADIENT.name, *passes)


@pytest.mark.parametrize("model", RIGHT.values(), ids=RIGHT)
def test_gradients_are_those_that_differences_give(model: Model) -> None:
    seen = observed(_case(model))
    assert seen.results is not None and str(seen.results.optimised) == "agrees"


@pytest.mark.parametrize("name", WRONG)
def test_a_scan_that_leaves_itself_out_and_a_choice_that_broadcasts_have_wrong_gradients(name: str) -> None:
    """That of the scan is of one that takes itself in; that of the choice has the shape of the result."""
    case = _case(WRONG[name], "relax.FoldConstant")
    seen = observed(case)
    found = judge_gradients(case, seen)
    assert found is not None and judge_results(case, seen) is None
    assert found.parts[:3] == ("both", f"gradient of {name}", "float")


def test_triu_has_a_rule_that_does_not_fit_it() -> None:
    case = _case(_call("triu", _doubles(3, 4), k=0))
    found = judge_errors(case, observed(case))
    assert found is not None and found.root[0] == "gradient of triu" and "partials number" in found.root[1]


def _fed_choice(*rows: str) -> Model:
    """Logarithms in a column, which a choice makes a matrix of, and what some other operators make of that."""
    draft = Drafted(_doubles(3, low=0.5), Origin(TensorType((2,), "bool")), _doubles())
    column = draft.call("expand_dims", draft.call("log", 0), axis=(1,))
    found = draft.call("where", 1, column, 2)
    for row in rows:
        found = draft.call(row, found, k=0)
    return with_loss(draft.model(found), [found])


@pytest.mark.parametrize(
    ("rows", "guilty", "how"), [((), "where", "shape"), (("triu",), "triu", "InternalError: Check failed: (partials")]
)
def test_who_has_the_gradient_that_another_fails_on_is_to_blame(rows: tuple[str, ...], guilty: str, how: str) -> None:
    """That of the choice has the shape of its result, which that of the logarithm cannot take; where it comes to
    nothing of the sort, it is not to blame although it is wrong."""
    found = judge_errors(case := _case(_fed_choice(*rows)), observed(case))
    assert found is not None and found.root[0] == f"gradient of {guilty}" and found.root[1].startswith(how)
    assert found.parts[0] == "Gradient"


def test_gradients_go_through_what_is_computed_of_constants_too() -> None:
    """Nobody asks for the one by the ones, but TVM makes it, in a wrong shape, which that of tanh cannot take."""
    draft = Drafted(_doubles(5, 1, 2, 1))
    made = draft.call("tanh", draft.call("ones", shape=(1, 5, 2, 1), dtype="float64"))
    how = {"strides": (2, 1), "padding": (0, 0, 1, 0), "dilation": (2, 1), "groups": 5}
    found = draft.call("nn.conv2d", made, 0, **how, data_layout="NCHW", kernel_layout="OIHW")
    seen = observed(_case(with_loss(draft.model(found), [found])))
    assert seen.origin is not None and seen.origin.pass_name == "gradient of nn.conv2d"


def test_smaller_cases_have_gradients_of_a_part_of_a_model() -> None:
    """What comes out is no scalar where a call before the last is left out: so the sum of each tensor is tried."""
    draft = Drafted(_doubles(3, 4))
    parts = draft.call("split", draft.call("exp", 0), indices_or_sections=2, axis=1)
    model = with_loss(draft.model(parts), [parts])
    case = _case(model)
    smaller = [attempt() for attempt in HARNESS.reducers["losses"](case)]
    assert [{"exp"}, {"exp", "split"}] == [
        {one.row for one in model_of(other.ir).vertices} & {"exp", "split"} for other in smaller[:2]
    ]
    assert all(is_loss(model_of(other.ir)) for other in smaller)
    assert list(HARNESS.reducers["losses"](replace(case, passes=()))) == []


def test_what_kills_a_process_that_runs_is_no_pass() -> None:
    """A walk along the passes runs what they leave: what dies of that is not what was under way in the compiler."""
    draft = Drafted(_doubles(2, 4), Origin(TensorType((64,), "int32"), "constant", -8, 8, seed=4))
    taken = draft.call("take:clip", 0, 1, axis=1, mode="clip")
    case = _case(with_loss(draft.model(taken), [taken]), "relax.FoldConstant")
    with served(Lane.prepare(0, NoCoverage(), jobs=HARNESS.jobs), Limits()) as executor:
        walks = [ask_walk(executor.call, case, job=WALK) for _ in range(3)]
    assert all(walk is None or walk.change is Change.NONE for walk in walks)


def test_of_two_that_fail_it_is_the_one_whose_words_are_heard() -> None:
    draft = Drafted(_doubles(3, 4))
    found = draft.call("add", draft.call("concat", upper := draft.call("triu", 0, k=0), axis=0), upper)
    seen = observed(_case(with_loss(draft.model(found), [found])))
    assert (
        seen.origin is not None and seen.origin.pass_name == "gradient of concat" and seen.origin.where in seen.message
    )


def test_what_writes_outside_of_its_tensor_is_guilty_however_its_process_ends(tmp_path: Path) -> None:
    """The gradient of a choice that clips its indices goes by the indices as they are. What ran it may say that results
    are wrong, or die, at once or of a later build."""
    for low, high in ((-8, 8), (4, 8), (-8, -4)):
        draft = Drafted(_doubles(2, 4), Origin(TensorType((3,), "int32"), "constant", low, high, seed=4))
        taken = draft.call("take:clip", 0, 1, axis=1, mode="clip")
        stored = StoredCase(_case(with_loss(draft.model(taken), [taken])), Provenance(""))
        (tmp_path / "case.json").write_text(json.dumps(stored.to_json()))
        found = api.judge(tmp_path / "case.json", oracles=("crash", "model-results", "model-gradients")).finding
        assert found is not None and (found.kind, found.blame) == ("wrong-code", "both")
        assert "gradient of take makes it so" in found.detail


@pytest.mark.parametrize("row", ["negative", "logical_not"])
def test_what_gradients_are_not_documented_for_is_no_finding(row: str) -> None:
    """Of what is no scalar, or no float."""
    draft = Drafted(Origin(TensorType((3,), "float64" if row == "negative" else "bool")))
    seen = observed(case := _case(draft.model(draft.call(row, 0))))
    assert seen.exit is Exit.REJECTED and judge_errors(case, seen) is None


def test_fewer_lines_are_still_those_of_a_dataflow_block() -> None:
    draft = Drafted(_doubles())
    case = _case(model := draft.model(draft.call("match_cast", 0, to="same")))
    found = judge_errors(case, observed(case))
    program = source_program(model, alone=True)
    assert found is not None and program is not None
    assert "with R.dataflow():" in shortest_source(found, model, in_short(program).source)


def test_no_operator_is_to_blame_where_gradients_of_what_is_no_scalar_are_wanted() -> None:
    draft = Drafted(_doubles(3, 4))
    seen = observed(_case(draft.model(draft.call("concat", 0, axis=0))))
    assert "must be a float scalar" in seen.message and seen.origin is None


def test_a_pass_that_fails_on_what_has_right_gradients_is_to_blame_itself() -> None:
    """The gradient of the choice is wrong, but all is well with gradients alone."""
    draft = Drafted(Origin(TensorType((3, 4), "bool")), _doubles(3, 4), _doubles(4))
    chosen = draft.call("where", 0, 1, 2)
    case = _case(with_loss(draft.model(chosen), [chosen]), "relax.ThroughNothing")
    building = Building(case, Notes(), ALL)  # type: ignore[arg-type]
    assert gradient_at_fault(building, model_of(case.ir), "relax.ThroughNothing", "") is None


def test_channels_that_come_last_are_refused_in_words() -> None:
    window = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    images = _doubles(1, 5, 5, 2), _doubles(3, 3, 2, 3)
    case = _case(_call("nn.conv2d:NHWC", *images, **window, data_layout="NHWC", kernel_layout="HWIO"))
    seen = observed(case)
    assert (seen.exit, seen.rejection and seen.rejection.label) == (Exit.REJECTED, "documented-refusal")


def test_gradients_come_first_and_for_models_that_have_them_alone() -> None:
    asks, none = GraphPairs((), ("model-gradients",)), GraphPairs(())
    assert set(asks.mutators) - set(none.mutators) == {"loss"}
    draft = Drafted(_doubles(3))
    case = case_of(_chain(), "relax.FoldConstant", MIXED.name)
    assert asks.fit(case, case.ir)[0] == (GRADIENT, case.passes[0])
    assert none.fit(case, case.ir)[0] == case.passes[:1]
    assert suited((GRADIENT,), draft.model(draft.call("exp", 0))) == ()
    assert {"cumsum", "matmul"} < rules_for_gradients()


def test_tier_one_is_gradients_in_a_pipeline_that_tvm_ships() -> None:
    finding = Finding("wrong-code", (), _case(WRONG["cumsum"], "relax.FoldConstant"), observed(_case(WRONG["cumsum"])))
    carried = [case.passes for case in HARNESS.carried(None, finding)]  # type: ignore[arg-type]
    assert carried == [(GRADIENT,), (GRADIENT, *ZERO)]
    assert all(case.config == ContextConfig() for case in HARNESS.carried(None, finding))  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("name", ["cumsum", "where"])
def test_what_a_bundle_holds_shows_wrong_gradients_without_tzerlike(tmp_path: Path, name: str) -> None:
    """And right ones are no bug: what is right is written down under the finding of what is wrong."""
    case = _case(WRONG[name])
    finding = Finding("wrong-code", ("wrong",), case, observed(case))
    texts = _written(finding)
    right = _written(replace(finding, case=_case(RIGHT["a scan"])))[:1] if name == "cumsum" else ()
    runs = (*zip(("repro", "fails", "cured"), texts, (1, 1, 0), strict=True), *(("right", one, 0) for one in right))
    for called, text, status in runs:
        (tmp_path / f"{called}.py").write_text(text)
        run = [sys.executable, "-I", str(tmp_path / f"{called}.py")]
        done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
        assert done.returncode == status, (called, done.stdout[-500:], done.stderr[-500:])


@pytest.mark.long
def test_the_regression_test_of_a_refusal_is_cured_by_a_model_that_has_gradients(tmp_path: Path) -> None:
    case = _case(_call("triu", _doubles(3, 4), k=0))
    model = model_of(case.ir)
    program = source_program(model, alone=True)
    assert program is not None
    test = regression_test(Finding("ice-on-valid", ("x",), case, observed(case)), model, program.source, None)
    for text, status in ((test.text, 1), (test.cured, 0)):
        (tmp_path / "test.py").write_text(text)
        run = [sys.executable, "-I", str(tmp_path / "test.py")]
        assert subprocess.run(run, capture_output=True, check=False, cwd=tmp_path).returncode == status


def _written(finding: Finding) -> tuple[str, str, str]:
    """The repro, the regression test, and that with the bug cured."""
    model = model_of(finding.case.ir)
    program, wrong = source_program(model, alone=True), wrong_output(finding, model)
    assert program is not None
    test = regression_test(finding, model, program.source, wrong)
    return repro_script(finding, model, program.source, Limits(), wrong), test.text, test.cured


def test_values_that_are_wrong_because_of_a_shape_are_that_of_the_gradient() -> None:
    """What comes before the choice takes a gradient that is larger than what it gives."""
    draft = Drafted(_doubles(1, 1, 4, 2), Origin(TensorType((4,), "bool")))
    window = {"pool_size": (4, 2), "strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    pooled = draft.call("nn.avg_pool2d", 0, **window, ceil_mode=False, count_include_pad=False, layout="NCHW")
    case = _case(with_loss(draft.model(found := draft.call("where", 1, pooled, pooled)), [found]))
    seen = observed(case)
    assert seen.results is not None and seen.results.optimised.difference is not None
    assert seen.results.optimised.difference.nature == "value"
    finding = judge_gradients(case, seen)
    assert finding is not None and finding.parts == ("both", "gradient of where", "float", "shape")
