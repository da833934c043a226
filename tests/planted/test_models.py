"""Bugs planted in the way of a model are found, and what they are planted in is blamed; harmless rewrites are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest

from tests.models import Drafted, called, case_of, floats, observed
from tests.planted.models import (
    GRADIENTS,
    HARMLESS,
    HARMLESS_GRADIENTS,
    LEGALISATIONS,
    MISCOMPILES,
    OVERLAPPING,
    Planted,
    rewriting,
)
from tzerlike.core.case import Case
from tzerlike.core.results import Results
from tzerlike.graph.loss import with_loss
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.graph.steps import GRADIENT
from tzerlike.harnesses.graph import building
from tzerlike.harnesses.graph.passes import MIXED, suited
from tzerlike.oracles import ORACLES, judged, make_oracles
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

relax = tvm_api.part("relax")
JUDGES = make_oracles([name for name, oracle in ORACLES.items() if oracle.harness == "graph"])
_LEVELS = count(11)
"""An attribute of an operator replaces those of lower levels."""

QUICK = ("operands-swapped", "broadcast-forgotten", "sum-regrouped", "normalised-by-hand", "sign-lost")


def _marked(names: Any) -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in names]


@dataclass(frozen=True)
class _Seen:
    """What a child saw in a case: whether it means something, how its build ended, and what was found and blamed."""

    defined: bool
    ending: str
    blamed: list[tuple[str, ...]]


def _seen(case: Case) -> _Seen:
    """Kernels with threads of their own run in a child."""

    def work() -> str:
        seen = observed(case)
        known = seen.results or Results("unknown")
        found = judged(JUDGES, case, seen)
        return json.dumps([known.defined, str(known.optimised), [(one.kind, *one.parts[:2]) for one in found]])

    answer, died = in_child(work)
    assert answer is not None, f"the child died of signal {died}"
    defined, ending, blamed = json.loads(answer)
    return _Seen(defined, ending, [tuple(one) for one in blamed])


def _blamed(case: Case) -> list[tuple[str, ...]]:
    return _seen(case).blamed


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Planted], Case]:
    """Has a rewrite run as a pass between two of TVM's."""

    def planted(one: Planted) -> Case:
        step, original = rewriting(one.operator, one.rewrite), building.made_pass

        def applied(module: Any) -> Any:
            made = step(module)
            assert not tvm_api.structural_equal(made, module), "the rewrite does not apply"
            return made

        def made(spec: Any) -> Any:
            return applied if spec.name == "relax.Planted" else original(spec)

        monkeypatch.setattr(building, "made_pass", made)
        return case_of(one.model, "relax.CanonicalizeBindings", "relax.Planted", "relax.FoldConstant")

    return planted


@pytest.mark.parametrize("name", _marked(MISCOMPILES))
def test_a_pass_that_miscompiles_is_blamed(plant: Callable[[Planted], Case], name: str) -> None:
    assert _blamed(plant(MISCOMPILES[name])) == [("wrong-code", "optimised", "relax.Planted")]


@pytest.mark.parametrize(
    "name", ["tanh", *(pytest.param(n, marks=pytest.mark.long) for n in LEGALISATIONS if n != "tanh")]
)
def test_an_operator_is_blamed_that_is_lowered_wrongly(name: str) -> None:
    model, planted = LEGALISATIONS[name]
    right = tvm_api.tvm.ir.Op.get(f"relax.{name}").get_attr("FLegalize")
    case = case_of(model, "relax.CanonicalizeBindings", "relax.FoldConstant")
    try:
        tvm_api.tvm.ir.register_op_attr(f"relax.{name}", "FLegalize", planted, level=next(_LEVELS))
        assert _blamed(case) == [("wrong-code", "both", name)]
    finally:
        tvm_api.tvm.ir.register_op_attr(f"relax.{name}", "FLegalize", right, level=next(_LEVELS))
    assert _blamed(case) == []


def test_the_default_pipeline_is_blamed_for_a_pass_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    one = MISCOMPILES["operands-swapped"]
    step, original = rewriting(one.operator, one.rewrite), relax.get_pipeline

    def pipeline(name: str) -> Any:
        then = original(name)
        return (lambda module: then(step(module))) if name == "default" else then

    monkeypatch.setattr(relax, "get_pipeline", pipeline)
    case = case_of(one.model, "relax.CanonicalizeBindings", "relax.FoldConstant")
    assert _blamed(case) == [("wrong-code", "optimised", "default pipeline")]


def test_memory_that_is_given_away_too_early_is_blamed_on_its_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """All results of one size share their memory."""
    made = relax.transform.StaticPlanBlockMemory()

    @relax.expr_functor.mutator
    class Sharing(relax.PyExprMutator):  # type: ignore[misc, name-defined]
        held: Any = None

        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if not (isinstance(call.op, tvm_api.tvm.ir.Op) and call.op.name == "relax.memory.alloc_tensor"):
                return call
            self.held = call.args[0] if self.held is None else self.held
            return tvm_api.part("relax").Call(call.op, [self.held, *call.args[1:]], call.attrs, call.ty_args)

    @tvm_api.tvm.transform.module_pass(opt_level=0, name="StaticPlanBlockMemory")
    def planted(module: Any, _: Any) -> Any:
        planned = made(module)
        sharing = Sharing(planned)
        sharing.builder_.update_func(planned.get_global_var("main"), sharing.visit_expr(planned["main"]))
        return sharing.builder_.get()

    assert _blamed(case_of(OVERLAPPING)) == []
    monkeypatch.setattr(relax.transform, "StaticPlanBlockMemory", lambda: planted)
    assert _blamed(case_of(OVERLAPPING)) == [("wrong-code", "both", "StaticPlanBlockMemory")]


def test_what_goes_through_float16_may_be_off_by_its_roundings(
    plant: Callable[[Planted], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mixed precision is no wrong code by itself; what a pass behind it does still is."""
    planted = plant(MISCOMPILES["product-transposed"])
    mixed = replace(planted, passes=(MIXED,))
    assert _blamed(mixed) == []
    assert _blamed(replace(planted, passes=(MIXED, *planted.passes))) == [("wrong-code", "optimised", "relax.Planted")]
    monkeypatch.setattr(building, "least_unit", lambda passes: 0.0)
    assert _blamed(mixed) == [("wrong-code", "optimised", MIXED.name)]


def _product(dtype: str) -> Model:
    return called("matmul", *[Origin(TensorType((3, 3), dtype), seed=n) for n in range(2)])


@pytest.mark.parametrize("dtype, fits", [("float32", True), ("float64", False), ("int8", False)])
def test_mixed_precision_is_for_products_of_float32(dtype: str, fits: bool) -> None:
    assert (MIXED in suited((MIXED,), _product(dtype))) == fits
    assert _seen(case_of(_product(dtype), MIXED.name)).defined == fits


@pytest.fixture
def other_rule(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """Has TVM make the gradients of an operator by another rule."""

    def planted(operator: str, rule: Any) -> None:
        key = f"relax.{operator}"
        right = tvm_api.tvm.ir.Op.get(key).get_attr("FPrimalGradient")
        request.addfinalizer(
            lambda: tvm_api.tvm.ir.register_op_attr(key, "FPrimalGradient", right, level=next(_LEVELS))
        )
        tvm_api.tvm.ir.register_op_attr(key, "FPrimalGradient", rule, level=next(_LEVELS))

    return planted


@pytest.mark.parametrize("name", _marked(GRADIENTS))
def test_an_operator_is_blamed_whose_gradient_is_wrong(other_rule: Callable[[str, Any], None], name: str) -> None:
    operator, model, rule = GRADIENTS[name]
    case = case_of(model, GRADIENT.name, "relax.FoldConstant")
    assert (_seen(case).ending, _blamed(case)) == ("agrees", [])
    other_rule(operator, rule)
    assert _blamed(case) == [("wrong-code", "both", f"gradient of {operator}")]


@pytest.mark.parametrize("name", HARMLESS_GRADIENTS)
def test_another_right_gradient_is_not_found(other_rule: Callable[[str, Any], None], name: str) -> None:
    operator, model, rule = HARMLESS_GRADIENTS[name]
    other_rule(operator, rule)
    seen = _seen(case_of(model, GRADIENT.name))
    assert (seen.ending, seen.blamed) == ("agrees", [])


def test_the_pass_is_blamed_that_adds_up_gradients_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operator's gradient is right by itself: the input gets that of one of the two alone."""
    draft = Drafted(floats(3, 4))
    product = draft.call("multiply", draft.call("sin", 0), draft.call("cos", 0))
    case = case_of(with_loss(draft.model(product), [product]), GRADIENT.name)
    step = rewriting("add", lambda x, y, **_: x)
    made = relax.transform.Gradient
    monkeypatch.setattr(relax.transform, "Gradient", lambda name: lambda module: step(made(name)(module)))
    assert _blamed(case) == [("wrong-code", "both", GRADIENT.name)]


def test_a_pass_behind_gradients_is_blamed_for_what_it_makes_of_them(plant: Callable[[Planted], Case]) -> None:
    planted = plant(MISCOMPILES["operands-swapped"])
    draft = Drafted(floats(3, 4), floats(3, 4))
    difference = draft.call("subtract", draft.call("tanh", 0), 1)
    case = replace(case_of(with_loss(draft.model(difference), [difference])), passes=(GRADIENT, *planted.passes))
    assert _blamed(case) == [("wrong-code", "optimised", "relax.Planted")]


def test_an_operator_that_is_lowered_wrongly_is_to_blame_and_not_its_gradient() -> None:
    operator, model, _ = GRADIENTS["half-off"]
    right = tvm_api.tvm.ir.Op.get(f"relax.{operator}").get_attr("FLegalize")
    try:
        planted = LEGALISATIONS[operator][1]
        tvm_api.tvm.ir.register_op_attr(f"relax.{operator}", "FLegalize", planted, level=next(_LEVELS))
        assert _blamed(case_of(model, GRADIENT.name)) == [("wrong-code", "both", operator)]
    finally:
        tvm_api.tvm.ir.register_op_attr(f"relax.{operator}", "FLegalize", right, level=next(_LEVELS))


@pytest.mark.parametrize("name", _marked(HARMLESS))
def test_a_harmless_rewrite_is_not_found(plant: Callable[[Planted], Case], name: str) -> None:
    seen = _seen(plant(HARMLESS[name]))
    assert (seen.ending, seen.blamed) == ("agrees", [])
