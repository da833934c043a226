"""What models have beside operators, in Relax: functions, choices, tuples, casts, and extents that vary."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.e2e.test_graph_texts import written_for
from tests.models import case_of, disagreements, drawn_module, observed
from tzerlike.core.finding import Finding
from tzerlike.graph.dice import Dice
from tzerlike.graph.enclose import enclosed, repeated
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, VaryingExtent, Vertex
from tzerlike.graph.relax import relax_accepts, relax_module
from tzerlike.graph.spec import ROWS, forms
from tzerlike.graph.symbols import with_variables
from tzerlike.harnesses.graph.building import Building
from tzerlike.harnesses.graph.program import building_source, script_of_model, source_program
from tzerlike.oracles.models import judge_errors, judge_results
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused

ROW, CONDITION = TensorType((5,), "float32"), TensorType((), "bool")

CHOICE = Model(
    (Origin(CONDITION), Origin(ROW)),
    (
        Vertex("sin", (1,), {}, (ROW,)),
        Vertex("exp", (1,), {}, (ROW,)),
        Vertex("if", (0, 2, 3), {}, (ROW,)),
        Vertex("tuple", (4, 0), {"nested": True}, (ROW, CONDITION)),
        Vertex("match_cast", (5,), {"to": "variables"}, (ROW,)),
        Vertex("add", (7, 1), {}, (ROW,)),
    ),
    (8, 6),
)

VARYING = Model(
    (Origin(TensorType((5, 3), "float32")), Origin(TensorType((10, 3), "float32"))),
    (
        Vertex("tile", (0,), {"repeats": (2, 1)}, (TensorType((10, 3), "float32"),)),
        Vertex("add", (2, 1), {}, (TensorType((10, 3), "float32"),), ("function0",)),
    ),
    (3,),
    variables=((5, 7, 2),),
    written=(VaryingExtent(5, (0,)), VaryingExtent(10, (0,), 2)),
)


def _script(model: Model) -> str:
    module = drawn_module(model)
    assert relax_accepts(module)
    return str(module.script())


def _ending(model: Model, *passes: str) -> str:
    results = observed(case_of(model, *passes)).results
    return str(results and results.optimised)


@pytest.mark.parametrize(
    "condition, passes",
    [("input", ()), ("constant", ()), ("input", ("relax.FoldConstant", "relax.LegalizeOps", "relax.FuseOps"))],
)
def test_a_choice_is_written_as_one_and_computes_what_it_says(condition: Any, passes: tuple[str, ...]) -> None:
    model = replace(CHOICE, sources=(replace(CHOICE.sources[0], kind=condition), CHOICE.sources[1]))
    script = _script(model)
    assert "if x0:" in script if condition == "input" else "if " in script
    assert "R.match_cast" in script
    assert script.index("if ") < script.index("R.sin") < script.index("else:") < script.index("R.exp")
    assert _ending(model, *passes) == "agrees"


def test_functions_that_are_alike_are_one_that_is_called_twice() -> None:
    calls = (Vertex("sin", (0,), {}, (ROW,), ("function0",)), Vertex("sin", (1,), {}, (ROW,), ("function1",)))
    packed = Vertex("add", (1, 2), {}, (ROW,), ("packed0",))
    model = Model((Origin(ROW),), (*calls, packed), (3, 1))
    script = _script(model)
    assert script.count("cls.function0(") == 2 and "function1" not in script
    assert "packed: R.Tuple(" in script
    assert _ending(model, "relax.InlinePrivateFunctions") == _ending(model) == "agrees"


def _closed(mark: str, *, used: bool = False) -> Model:
    """A sine, then a product of a sum with it in a closure; the exponential of that where it is `used`."""
    calls = [
        Vertex("sin", (0,), {}, (ROW,)),
        Vertex("add", (2, 1), {}, (ROW,), (mark,)),
        Vertex("multiply", (3, 2), {}, (ROW,), (mark,)),
        Vertex("exp", (4,), {}, (ROW,)),
    ]
    return Model((Origin(ROW), Origin(ROW, seed=1)), tuple(calls[: 3 + used]), (4 + used,))


@pytest.mark.parametrize("mark, script", [("closure0", "def lv1(p0: R.Tensor"), ("maker0", "-> R.Callable(")])
def test_a_closure_holds_half_of_what_it_takes_and_is_called_on_the_rest(mark: str, script: str) -> None:
    model = _closed(mark)
    assert script in _script(model)
    assert _ending(model) == _ending(model, "relax.LegalizeOps", "relax.FuseOps", "relax.FuseTIR") == "agrees"
    assert _ending(model, "relax.LambdaLift", "relax.FoldConstant") == "agrees"


def test_closures_are_lifted_last_and_a_bundle_says_so(tmp_path: Path) -> None:
    """What is built otherwise is for TVM's virtual machine to refuse."""
    case = case_of(_closed("closure0", used=True))
    seen = observed(case)
    found = judge_errors(case, seen)
    assert found is not None and (found.parts[0], seen.culprit) == ("LowerRuntimeBuiltin", "LowerRuntimeBuiltin")
    (tmp_path / "repro.py").write_text(written_for(Finding("ice-on-valid", found.parts, case, seen))[0])
    run = [sys.executable, "-I", str(tmp_path / "repro.py")]
    done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert done.returncode == 1 and "type mismatch" in done.stderr


def test_a_model_whose_extents_vary_is_built_once_and_runs_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    script = _script(VARYING)
    assert 'R.Tensor(("2 * n", 3)' in script or "R.Tensor((2 * n, 3)" in script
    original, shapes = Building.outputs, []

    def outputs(self: Building, model: Model, built: Any, sources: Any, *allocator: Any) -> Any:
        shapes.append(sources[0].shape)
        return original(self, model, built, sources, *allocator)

    monkeypatch.setattr(Building, "outputs", outputs)
    assert _ending(VARYING) == "agrees"
    assert shapes == [(5, 3), (7, 3), (2, 3)]


def test_what_is_wrong_for_some_extents_is_found_and_its_repro_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    original = Building.outputs

    def outputs(self: Building, model: Model, built: Any, sources: Any, *allocator: Any) -> Any:
        found = original(self, model, built, sources, *allocator)
        return [one + (len(sources[0]) == 2) for one in found]

    monkeypatch.setattr(Building, "outputs", outputs)
    case = case_of(VARYING)
    found = judge_results(case, observed(case))
    assert found is not None
    text = written_for(Finding("wrong-code", found.parts, case, found.observation))[0]
    assert "(4, 3)" in text and "(10, 3)" not in text.partition("INPUTS")[2].partition("]\n")[0]
    (tmp_path / "repro.py").write_text(text)
    regression = written_for(Finding("wrong-code", found.parts, case, found.observation))[1]
    assert regression.text.count("TypeVar") == 2 and "built" in regression.cured
    run = [sys.executable, "-I", str(tmp_path / "repro.py")]
    said = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert (said.returncode, "does not show" in said.stdout) == (0, True), said.stderr


def test_models_with_forms_come_back_from_their_script() -> None:
    for model in (CHOICE, VARYING):
        assert script_of_model(model)


def test_the_extents_of_a_constant_do_not_vary_in_a_script() -> None:
    """Bound, such a parameter would make numbers of variables."""
    held = Origin(TensorType((1, 1, 5), "float32"), "constant")
    add = Vertex("add", (0, 1), {}, (TensorType((1, 5, 5), "float32"),))
    model = Model(
        (Origin(TensorType((5, 1), "float32")), held), (add,), (2,), variables=((5, 7, 2),), written=VARYING.written[:1]
    )
    script, calls = script_of_model(model), building_source(model)
    assert 'x0: R.Tensor(("n", 1)' in script.replace("(n,", '("n",') and "x1: R.Tensor((1, 1, 5)" in script
    assert 'TensorType([n, 1], "float32")' in calls and 'TensorType([1, 1, 5], "float32")' in calls


def test_a_list_of_calls_is_written_as_what_builds_it() -> None:
    full = Vertex("full", (), {"shape": (5, 3), "fill_value": 2, "dtype": "float32"}, (TensorType((5, 3), "float32"),))
    parts = Vertex("split", (1,), {"indices_or_sections": 2, "axis": 0}, (TensorType((5, 3), "float32"),) * 2)
    calls = Model(VARYING.sources, (full, parts), (2, 4), variables=VARYING.variables, written=VARYING.written)
    names: dict[str, Any] = {"relax": tvm_api.part("relax"), "tirx": tvm_api.part("tirx")}
    source = building_source(calls)
    exec(source, names)
    built = relax_module(calls, None)
    assert tvm_api.script_of(names["Module"]) == tvm_api.script_of(built)
    assert 'TensorType([2 * n, 3], "float32")' in source and "relax.op.full([n, 3]," in source
    assert building_source(CHOICE) == building_source(VARYING) == ""


def test_what_does_not_read_back_is_built_or_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = replace(VARYING, vertices=tuple(replace(one, within=()) for one in VARYING.vertices))

    def refuse(text: str) -> None:
        raise ValueError(text)

    monkeypatch.setattr(tvm_api, "parse_script", refuse)
    built, loaded = source_program(calls), source_program(CHOICE)
    assert built is not None and "builder.emit(relax.op.tile(x0" in built.shown and built.source in built.shown
    assert loaded is not None and loaded.source.startswith("Module = tvm.ir.load_json(")
    assert loaded.shown.startswith(("@I.ir_module", "k")) and "R.sin" in loaded.shown


def test_the_verifier_takes_models_with_forms() -> None:
    names = ("add", "exp", "greater", "sum", "split", "matmul", "reshape", "where", "nn.relu")
    menu = Menu([*(ROWS[name] for name in names), *forms.ROWS])
    for seed in range(60):
        dice = Dice(Random(seed))
        model = random_model(Random(seed), 8, menu, MODEL_LIMITS)
        for change in (enclosed, repeated, enclosed):
            model = change(model, dice) or model
        module = drawn_module(with_variables(model, ROWS, dice) or model)
        assert relax_accepts(module), model


@pytest.mark.long
def test_builds_of_models_with_forms_compute_what_numpy_does() -> None:
    """Not of casts to variables: TVM takes these for others in a choice, and says at run time that they differ."""
    names = ("add", "exp", "sum", "split", "matmul", "reshape", "where", "tuple", "if", "if:two")
    menu = Menu([ROWS[name] for name in names])
    models = []
    for seed in range(60):
        dice = Dice(Random(seed))
        model = random_model(Random(seed), 6, menu, MODEL_LIMITS)
        model = enclosed(model, dice) or model
        models.append(with_variables(model, ROWS, dice) or model)
    assert disagreements(models) == []


def test_nobody_is_to_blame_where_a_build_for_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all calls at once, here; a closure keeps none of them from being looked at."""
    original, build = Building.outputs, Building.build
    monkeypatch.setattr(Building, "outputs", lambda *taken: [one + 1 for one in original(*taken)])
    model = _closed("closure0")
    results = observed(case_of(model)).results
    assert results is not None and (results.blame, results.guilty) == ("both", "sin")

    def refused(building: Building, module: Any, *others: Any, **more: Any) -> Any:
        if len(module["main"].ret_ty.fields) > len(model.outputs):
            raise CompilerRefused(ValueError("planted"))
        return build(building, module, *others, **more)

    monkeypatch.setattr(Building, "build", refused)
    results = observed(case_of(model)).results
    assert results is not None and (results.blame, results.guilty) == ("both", "")
