"""Bisecting models: the step is named that raises, leaves what it may not, or changes what is computed, with a diff."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models import called, case_of, floats
from tests.planted.models import MISCOMPILES, rewriting
from tzerlike.core.case import Case
from tzerlike.core.observation import Stage
from tzerlike.execution.diagnosis.walk import Change, Walk
from tzerlike.harnesses.graph import building, walking
from tzerlike.systems import tvm_api

relax = tvm_api.part("relax")
SWAPPED = MISCOMPILES["operands-swapped"]


class _Notes:
    """Stands for the channel of a child."""

    def __init__(self) -> None:
        self.results: list[dict[str, Any]] = []
        self.under_way = ""

    def enter_stage(self, stage: Stage) -> None:
        return None

    def note_pass(self, name: str) -> None:
        self.under_way = name

    def pass_name(self) -> str:
        return self.under_way

    def add_result(self, result: dict[str, Any]) -> None:
        self.results.append(result)


def walked(case: Case, stop: int | None = None) -> Walk:
    notes: Any = _Notes()
    walking.walk_model({"case": case.to_json(), "stop": stop}, notes, 60.0)
    return Walk.from_json(notes.results[-1]["walk"])


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Any:
    def planted(step: Any) -> Case:
        original = building.made_pass
        made = lambda spec: step if spec.name == "relax.Planted" else original(spec)  # noqa: E731
        monkeypatch.setattr(building, "made_pass", made)
        return case_of(SWAPPED.model, "relax.CanonicalizeBindings", "relax.Planted", "relax.FoldConstant")

    return planted


def test_the_step_is_named_behind_which_something_else_is_computed(plant: Any) -> None:
    walk = walked(plant(rewriting(SWAPPED.operator, SWAPPED.rewrite)))
    assert (walk.change, walk.suspects, walk.index, walk.passes) == (Change.RESULT, ("relax.Planted",), 1, 3)
    assert walk.difference is not None
    assert "\n-" in walk.diff and "\n+" in walk.diff and "R.subtract" in walk.diff


def test_the_step_is_named_that_raises(plant: Any) -> None:
    def raising(module: Any) -> Any:
        raise tvm_api.tvm.error.InternalError("planted")

    walk = walked(plant(raising))
    assert (walk.change, walk.suspects, walk.index) == (Change.RAISED, ("relax.Planted",), 1)
    assert "planted" in walk.detail and "R.subtract" in walk.diff


def test_the_step_is_named_that_leaves_what_the_verifier_refuses(plant: Any) -> None:
    def stripped(module: Any) -> Any:
        main, module = module["main"], module.clone()
        module["main"] = relax.Function([], main.body, main.ret_ty, main.is_pure, main.attrs)
        return module

    walk = walked(plant(stripped))
    assert (walk.change, walk.suspects, walk.index) == (Change.ILL_FORMED, ("relax.Planted",), 1)


def test_what_a_step_dies_of_is_shown(plant: Any) -> None:
    walk = walked(plant(rewriting(SWAPPED.operator, SWAPPED.rewrite)), stop=1)
    assert (walk.suspects, walk.index) == (("relax.Planted",), 1) and "R.subtract" in walk.diff


def test_a_model_that_does_not_build_by_itself_is_code_generations() -> None:
    walk = walked(case_of(called("ewise_fma", floats(3), floats(3), floats(3)), "relax.CanonicalizeBindings"))
    assert walk.change is Change.RAISED and walk.index is None and "ewise_fma" in walk.detail


def test_nothing_is_said_of_what_is_right() -> None:
    walk = walked(case_of(SWAPPED.model, "relax.CanonicalizeBindings", "relax.FoldConstant"))
    assert (walk.change, walk.suspects) == (Change.NONE, ())
