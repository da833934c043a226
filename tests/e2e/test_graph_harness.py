"""Whole models as a harness: what a child says of them, and the commands on what a campaign found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from tests.e2e.conftest import Command
from tests.models import (
    CONSTANT,
    INACCURATE,
    OTHER,
    REFUSED,
    RIGHT,
    Drafted,
    behind_log,
    called,
    case_of,
    disagreements,
    drawn_module,
    floats,
    observed,
    one_call,
)
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.effort import Check
from tzerlike.core.observation import ILL_FORMED, Exit, Observation, Offence, Stage
from tzerlike.core.results import ARBITRARY, Ending, Ran, Results
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, VaryingExtent, Vertex, read_model
from tzerlike.graph.relax import relax_objection
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import COMPILED
from tzerlike.graph.symbols import with_those_of
from tzerlike.harnesses.graph import building
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.makers import BuildCase, maker_of_failure
from tzerlike.harnesses.graph.passes import (
    NOT_DRAWN,
    ROUND_TRIPS,
    WITH_ARGUMENTS,
    ZERO,
    known_passes,
    made_pass,
    step_source,
)
from tzerlike.oracles.immutability import judge_immutability
from tzerlike.oracles.model_steps import judge_modes, judge_signatures, judge_texts
from tzerlike.oracles.models import account_of_form, judge_errors, judge_form, judge_results
from tzerlike.processes.forked import each_in_child
from tzerlike.systems import tvm_api, tvm_build, tvm_passes


def test_an_input_is_plainer_than_a_constant() -> None:
    with_constant, inputs = case_of(CONSTANT), case_of(RIGHT)
    assert HARNESS.size(inputs) < HARNESS.size(with_constant)
    tried = [attempt() for attempt in HARNESS.reducers["plainer-sources"](with_constant)]
    assert [read_model(case.ir) for case in tried] == [RIGHT]


@pytest.mark.parametrize(
    "changed",
    [
        {"config": ContextConfig(disabled_passes=("FuseOps",))},
        {"config": ContextConfig(opt_level=1)},
        {"target": '{"kind": "llvm", "opt-level": 0}'},
    ],
)
def test_default_options_are_plainer_than_others(changed: dict[str, Any]) -> None:
    usual = replace(case_of(RIGHT), target="llvm")
    other = replace(usual, **changed)
    assert HARNESS.size(usual) < HARNESS.size(other)
    assert usual in [attempt() for attempt in HARNESS.reducers["usual-checks"](other)]


def test_the_operator_is_named_that_computes_something_else() -> None:
    case = case_of(INACCURATE)
    found = judge_results(case, observed(case))
    assert found is not None
    assert found.parts[:2] == ("both", "nn.rms_norm")


def test_what_is_read_from_nowhere_has_one_signature() -> None:
    case = case_of(INACCURATE)
    seen = observed(case)
    assert seen.results is not None and seen.results.optimised.difference is not None
    found = set()
    for nature in ("nan", "value", "infinity", "inaccurate"):
        wrong = Ran(Ending.DIFFERS, difference=replace(seen.results.optimised.difference, nature=nature))
        finding = judge_results(case, replace(seen, results=replace(seen.results, optimised=wrong)))
        assert finding is not None
        found.add(finding.signature)
    assert len(found) == 2


def test_a_model_that_is_refused_is_a_finding_with_passes_only_where_it_builds_without() -> None:
    case = case_of(REFUSED)
    found = judge_errors(case, observed(case))
    assert found is not None
    assert "atan" in found.observation.message
    with_passes = case_of(REFUSED, "relax.CanonicalizeBindings")
    seen = observed(with_passes)
    assert (judge_errors(with_passes, seen), seen.refused_bare) == (None, True)


def test_a_model_that_tvm_says_it_does_not_support_is_no_finding() -> None:
    kinds = [TensorType(shape, "float64") for shape in ((2, 6), (6,), (6,))]
    attributes = {"axes": (-1,), "epsilon": 1e-05, "center": True, "scale": True}
    vertex = Vertex("nn.layer_norm", (0, 1, 2), attributes, (kinds[0],))
    case = case_of(Model(tuple(map(Origin, kinds)), (vertex,), (3,)))
    seen = observed(case)
    assert (seen.exit, seen.rejection and seen.rejection.label) == (Exit.REJECTED, "documented-refusal")
    assert judge_errors(case, seen) is None


def test_an_operator_that_tvm_has_no_code_for_is_no_finding() -> None:
    case = case_of(one_call("ewise_fma", "float32", ((3,), (3,), (3,))))
    seen = observed(case)
    assert "cannot emit this Relax operator" in seen.message
    assert (seen.rejection and seen.rejection.label) == "documented-refusal"


@pytest.mark.parametrize(
    "row, attributes, message",
    [
        (
            "argsort",
            {"axis": -2, "descending": True, "dtype": "int64"},
            "only supports Tensor that has ShapeExpr shape",
        ),
        ("cumsum", {"axis": 1, "exclusive": False}, "non-symbolic shape is not supported for now"),
        ("permute_dims", {"axes": (1, 0)}, "The ndim is required to be known"),
    ],
)
def test_a_shape_that_tvm_does_not_infer_is_no_finding(row: str, attributes: dict[str, Any], message: str) -> None:
    """Squeezed of all its axes of extent 1, a matrix of any extents may have any number of them."""
    kind = TensorType((2, 2), "float32")
    squeezed = Vertex("squeeze:all", (0,), {"axis": None}, (kind,))
    made = TensorType((2, 2), str(attributes.get("dtype", "float32")))
    model = Model((Origin(kind),), (squeezed, Vertex(row, (1,), attributes, (made,))), (2,))
    varying = msgspec.structs.replace(model, variables=((2, 8, 7),), written=(VaryingExtent(2, (0,)),))
    case = case_of(varying)
    seen = observed(case)
    assert message in seen.message
    assert judge_errors(case, seen) is None
    assert with_those_of(model, varying, ROWS) == model


def test_the_pass_is_named_that_made_what_a_later_one_fails_on() -> None:
    wide, small = TensorType((2, 9, 3), "float16"), TensorType((4, 1), "uint8")
    vertices = (
        Vertex("match_cast", (0,), {"to": "variables"}, (wide,)),
        Vertex("exp", (3,), {}, (wide,)),
        *(Vertex(row, (number, 2), {}, (small,)) for row, number in (("bitwise_xor", 1), ("minimum", 5))),
        Vertex("bitwise_xor", (6, 2), {}, (small,)),
    )
    written = (VaryingExtent(2, (0,)), VaryingExtent(3, (1,)), VaryingExtent(9, (1, 1)), VaryingExtent(4, (0,), 2))
    sources = tuple(map(Origin, (wide, small, small)))
    case = case_of(Model(sources, vertices, (4, 7), variables=((2, 5, 4), (3, 2, 4)), written=written))
    seen = observed(case)
    assert (seen.pass_name, seen.culprit) == ("VMShapeLower", "KillAfterLastUse")
    found = judge_errors(case, seen)
    assert found is not None and found.parts[0] == "KillAfterLastUse"

    kind = TensorType((3, 4), "float32")
    nested = Vertex("tuple", (1, 0), {"nested": True}, (kind, kind))
    model = Model((Origin(kind),), (Vertex("abs", (0,), {}, (kind,)), nested), (2, 3))
    seen = observed(case_of(model, *(spec.name for spec in ZERO)))
    assert (seen.pass_name, seen.culprit) == ("FuseTIRInner", "FuseOps")

    assert observed(case_of(REFUSED)).origin is None


def test_a_variable_that_is_used_before_its_definition_is_a_stray_one() -> None:
    """The analysis of TVM refuses it: that is no fault of ours."""
    tirx = tvm_api.tirx
    i = tirx.Var("i", "int32")
    loop = tirx.For(i, 0, 2, tirx.ForKind.SERIAL, tirx.Evaluate(i))
    straying = tvm_api.module_of(tirx.PrimFunc([], tirx.SeqStmt([tirx.Evaluate(i), loop])))
    sound = tvm_api.module_of(tirx.PrimFunc([], loop))

    def build(module: Any) -> BuildCase:
        def run(case: Case, instruments: Sequence[Any]) -> None:
            with tvm_passes.pass_context(ContextConfig(), instruments):
                tirx.transform.AnnotateEntryFunc()(module)

        return run

    case = case_of(RIGHT)
    assert maker_of_failure(case, "Later", build(sound)) is None
    found = maker_of_failure(case, "Later", build(straying))
    assert found is not None and found.rule == "well-formed"


def test_a_right_model_is_no_finding() -> None:
    case = case_of(RIGHT, "relax.FoldConstant", "relax.LegalizeOps", "relax.FuseTIR")
    seen = observed(case)
    assert (seen.exit, str(seen.results and seen.results.optimised)) == (Exit.OK, "agrees")
    assert [judge(case, seen) for judge in (judge_errors, judge_form, judge_results)] == [None] * 3


def test_a_model_that_folds_to_constants_runs_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm.runtime.Executable.jit", lambda self: pytest.fail("it is compiled"))
    case = case_of(one_call("zeros_like", "float32", ((2, 3),)), "relax.FoldConstant")
    seen = observed(case)
    assert str(seen.results and seen.results.optimised) == "agrees"


def test_a_pass_that_swaps_operands_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = one_call("subtract", "float32", ((3,), (3,)))
    relax = tvm_api.part("relax")

    @relax.expr_functor.mutator
    class Swap(relax.PyExprMutator):  # type: ignore[misc, name-defined]
        def visit_call_(self, call: Any) -> Any:
            return relax.op.subtract(call.args[1], call.args[0]) if "subtract" in str(call.op) else call

    def planted(module: Any) -> Any:
        swap = Swap(module)
        swap.builder_.update_func(module.get_global_var("main"), swap.visit_expr(module["main"]))
        return swap.builder_.get()

    original = building.made_pass
    monkeypatch.setattr(building, "made_pass", lambda spec: planted if spec.name == "relax.Planted" else original(spec))
    case = case_of(swapped, "relax.CanonicalizeBindings", "relax.Planted", "relax.FoldConstant")
    found = judge_results(case, observed(case))
    assert found is not None
    assert found.parts[:2] == ("optimised", "relax.Planted")


def test_the_first_pass_that_leaves_what_the_verifier_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    relax = tvm_api.part("relax")

    def planted(module: Any) -> Any:
        """Takes the parameters away from their function."""
        main = module["main"]
        module = module.clone()
        module["main"] = relax.Function([], main.body, main.ret_ty, main.is_pure, main.attrs)
        return module

    original = building.made_pass
    monkeypatch.setattr(building, "made_pass", lambda spec: planted if spec.name == "relax.Planted" else original(spec))
    case = case_of(RIGHT, "relax.CanonicalizeBindings", "relax.Planted", "relax.FoldConstant")
    seen = observed(case)
    found = judge_form(case, seen)
    assert found is not None
    assert found.parts == ("model-form", "Planted", "well-formed")
    (offence,) = found.observation.offences
    assert "not defined" in offence.where
    account = account_of_form(offence)
    assert account.headline == f"Planted leaves an ill-formed module: {offence.where}"
    assert account.quoted == offence.where
    assert judge_errors(case, seen) is None


def test_a_step_is_not_to_blame_for_what_the_verifier_refused_before_it() -> None:
    """Relax's verifier forgets the captured variables of a block behind the first block within the closure."""
    tensor, flag, row = TensorType((2,), "float32"), TensorType((), "bool"), TensorType((8,), "int32")
    vertices = (
        Vertex("tuple", (0, 0), {"nested": False}, (tensor, tensor)),
        Vertex("call_tir:counted", (), {"dtype": "int32", "shape": (8,), "step": 7}, (row,), ("closure1",)),
        Vertex("if:two", (1, 5, 4, 2, 3), {}, (row, tensor), ("closure1",)),
    )
    model = Model((Origin(tensor), Origin(flag), Origin(row)), vertices, (3, 4, 5, 6, 7))
    assert relax_objection(drawn_module(model)) == "DataflowVar lv2 is not defined."
    case = case_of(model, "relax.ThroughJson")
    assert judge_form(case, observed(case)) is None


def test_reduction_keeps_values_that_are_searched_for_until_it_does_without() -> None:
    case = case_of(behind_log(4, 6))
    made = {name: [read_model(attempt().ir) for attempt in reducer(case)] for name, reducer in HARNESS.reducers.items()}
    assert [one.searched for one in made.pop("drawn-values")] == [False]
    kept = [one for models in made.values() for one in models]
    assert kept and all(one.searched for one in kept)


def test_results_that_depend_on_fresh_memory_are_told_from_wrong_ones() -> None:
    """The gradient reads what no window covers, and LLVM leaves the output as it is."""
    kinds = TensorType((2, 1, 1, 1), "float32"), TensorType((2, 1, 3, 1), "float32")
    window = {"pool_size": (2, 1), "strides": (2, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    others = {"ceil_mode": False, "count_include_pad": True, "layout": "NCHW"}
    pooled = Vertex("grad.max_pool2d_backward", (0, 1), {**window, **others}, kinds[1:])
    models = [Model(tuple(Origin(kind, seed=1) for kind in kinds), (pooled,), (2,)), INACCURATE]

    def said(model: Model) -> str:
        results = observed(replace(case_of(model), target="llvm")).results
        return "" if results is None else f"{results.optimised.ending.value} {results.optimised.message}"

    assert [answer for answer, _ in each_in_child(models, said)] == [f"differs {ARBITRARY}", "differs "]


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_a_pass_with_arguments_is_what_its_source_says(name: str) -> None:
    relax, tvm_ffi = tvm_api.part("relax"), pytest.importorskip("tvm_ffi")
    kinds = [TensorType((1, 4, 5, 5), "float32"), TensorType((4, 4, 3, 3), "float32"), TensorType((3, 3), "float32")]
    window = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1}
    convolved = Vertex("nn.conv2d", (0, 1), {**window, "data_layout": "NCHW", "kernel_layout": "OIHW"}, (_OUT,))
    others = (Vertex("multiply", (3, 3), {}, (_OUT,)), Vertex("add", (4, 3), {}, (_OUT,)))
    model = Model(tuple(map(Origin, kinds)), (convolved, *others), (5,))
    before, names = drawn_module(model), {"relax": relax, "tvm": tvm_api.tvm}
    after = made_pass(PassSpec(name))(before)
    names["mod"] = before
    exec(step_source(PassSpec(name), "mod"), names)
    assert tvm_ffi.structural_equal(after, names["mod"])
    asked = name not in ("relax.ConvertLayoutOfNothing", OF_LOWERED)
    assert tvm_ffi.structural_equal(after, before) != asked, "those have nothing to do here"
    seen = observed(case_of(model, name))
    assert str((seen.results or Results("")).optimised) == "agrees", seen


OF_LOWERED = "relax.ApplyDefaultSchedule"


def test_what_is_lowered_is_scheduled_for_a_processor() -> None:
    model = called("nn.softmax", floats(8, 33), axis=1)
    module = drawn_module(model)
    with tvm_build.target_of("llvm"):
        for spec in (*ZERO, PassSpec(OF_LOWERED)):
            module = made_pass(spec)(module)
    assert "T.parallel" in tvm_api.script_of(module)
    seen = observed(case_of(model, *(spec.name for spec in ZERO), OF_LOWERED))
    # TVM 0.27 schedules in place, and then the results are not looked at.
    assert seen.offences or str((seen.results or Results("")).optimised) == "agrees", seen


_OUT = TensorType((1, 4, 3, 3), "float32")


def _plant(monkeypatch: pytest.MonkeyPatch, planted: Any) -> Case:
    original = building.made_pass
    monkeypatch.setattr(building, "made_pass", lambda spec: planted if spec.name == "relax.Planted" else original(spec))
    return case_of(RIGHT, "relax.CanonicalizeBindings", "relax.Planted")


def test_a_pass_that_changes_what_comes_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    case = _plant(monkeypatch, lambda module: drawn_module(OTHER))
    found = judge_signatures(case, observed(case))
    assert found is not None
    assert found.parts == ("model-types", "Planted")


def test_of_what_a_pass_leaves_the_worst_is_reported() -> None:
    worse, bad = (Offence(check, "relax.P", "a rule", "") for check in (ILL_FORMED, Check.SIGNATURES))
    seen = Observation(Exit.OK, Stage.DONE, offences=(worse, bad))
    assert judge_signatures(case_of(RIGHT), seen) is None
    assert judge_signatures(case_of(RIGHT), replace(seen, offences=(bad,))) is not None


def test_a_pass_that_changes_its_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(module: Any) -> Any:
        module["main"] = drawn_module(OTHER)["main"]
        return module

    case = _plant(monkeypatch, planted)
    (found,) = judge_immutability(case, observed(case))
    assert found.parts == ("immutability", "Planted")


@pytest.mark.parametrize("step", ROUND_TRIPS)
def test_a_module_that_is_read_as_another_one_is_a_finding(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    case = case_of(CONSTANT, "relax.LegalizeOps", step)
    assert judge_texts(case, observed(case)) is None
    for reader in ("parse_script", "load_ir"):
        monkeypatch.setattr(tvm_api, reader, lambda text: drawn_module(RIGHT))
    found = judge_texts(case, observed(case))
    assert found is not None
    assert found.parts == ("model-text", step.removeprefix("relax."))


def test_machine_code_that_computes_something_else_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(one_call("subtract", "float32", ((3,), (3,))), "relax.CanonicalizeBindings", COMPILED.name)
    assert str((observed(case).results or Results("")).optimised) == "agrees"
    relax = tvm_api.part("relax")
    original, other = relax.build, drawn_module(one_call("add", "float32", ((3,), (3,))))

    def build(module: Any, target: Any, exec_mode: str, **others: Any) -> Any:
        return original(other if exec_mode == "compiled" else module, target, exec_mode=exec_mode, **others)

    monkeypatch.setattr(relax, "build", build)
    seen = observed(case)
    found = judge_modes(case, seen)
    assert found is not None and judge_results(case, seen) is None
    assert found.parts[:2] == ("optimised", "relax.CompiledMode")


def _chain(row: str, count: int) -> Model:
    """Calls of an operator one on the other; the last one comes out."""
    kind = TensorType((3,), "float32")
    vertices = tuple(Vertex(row, (n,), {}, (kind,)) for n in range(count))
    return Model((Origin(kind, low=-1.0, high=1.0),), vertices, (count,))


@pytest.mark.parametrize("planned", [True, False])
def test_where_each_call_is_right_the_planning_of_memory_is_tried(
    monkeypatch: pytest.MonkeyPatch, planned: bool
) -> None:
    """A build that is wrong where one tensor comes out, with the planning of memory alone or without it too."""
    relax, other = tvm_api.part("relax"), drawn_module(_chain("tanh", 3))
    original = relax.build

    def build(module: Any, target: Any, **others: Any) -> Any:
        disabled = "StaticPlanBlockMemory" in tvm_api.tvm.transform.PassContext.current().disabled_pass
        wrong = len(module["main"].ret_ty.fields) == 1 and not (planned and disabled)
        return original(other if wrong else module, target, **others)

    monkeypatch.setattr(relax, "build", build)
    results = observed(case_of(_chain("tanh", 2))).results
    assert results is not None
    assert (results.guilty, results.rule) == (("StaticPlanBlockMemory", "") if planned else ("", "errors-grow"))


def test_the_zero_pipeline_is_tvms() -> None:
    names: list[str] = []
    watch = tvm_passes.PassWatch(lambda name: names.append(name))
    with tvm_passes.pass_context(ContextConfig(), [watch]):
        tvm_api.part("relax").get_pipeline("zero")(tvm_api.tvm.IRModule())
    outer = [name for before, name in pairwise(names) if before == "sequential" and name != "f_zero_pipeline"]
    assert [f"relax.{name}" for name in outer] == [spec.name for spec in ZERO]


def test_passes_that_are_not_drawn_are_passes() -> None:
    assert {f"relax.{name}" for name in NOT_DRAWN} <= known_passes().keys()


@pytest.mark.long
def test_builds_of_drawn_models_compute_what_numpy_does() -> None:
    """A right build is never beyond the bounds: what differs is due to an operator that is known to be wrong."""
    wrong = {"nn.rms_norm", "argmax", "grad.max_pool2d_backward"}
    menu = Menu([row for row in ROWS.values() if row.operator not in wrong])
    assert disagreements(random_model(Random(seed), 1 + seed % 10, menu, MODEL_LIMITS) for seed in range(120)) == []


@pytest.mark.long
def test_a_campaign_and_the_commands_on_its_findings(tzerlike: Command, tmp_path: Path) -> None:
    out = tmp_path / "c"
    done = tzerlike("fuzz", "--harness", "graph", "--seed", "1", "--iterations", "90", "--out", out, "--ui", "none")
    assert done.returncode == 0, done.stderr
    stats = json.loads((out / "stats.json").read_text())
    assert (stats["faults"], stats["valid_rate"] > 0.7) == ({}, True)
    bundles = sorted((out / "findings").glob("ice-on-valid-*"))
    assert bundles
    one = bundles[0]
    assert tzerlike("replay", one).stdout.startswith("shows 1/1")
    assert tzerlike("reduce", one).returncode == 0
    reduced = json.loads((one / "reduced" / "case.json").read_text())["case"]
    assert len(json.loads(reduced["ir"])["vertices"]) <= 2
    environment = {**os.environ, "PYTHONPATH": ""}
    repro = [sys.executable, one / "reduced" / "repro.py"]
    assert subprocess.run(repro, env=environment, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    assert tzerlike("bisect", one).returncode == 0
    assert json.loads((one / "bisect.json").read_text())["change"] == "raised"
    assert tzerlike("report", one).stdout.startswith("# [Bug][Relax]")
    assert json.loads(tzerlike("triage", out, "--json").stdout)["groups"]


@pytest.mark.parametrize("mark", ["function0", "closure0", "maker0"])
def test_an_operator_is_blamed_inside_of_a_function(mark: str) -> None:
    """TVM normalises float64 in single precision."""
    draft = Drafted(Origin(TensorType((2, 3), "float64"), low=0.1), Origin(TensorType((3,), "float64"), low=0.1))
    plain = draft.model(draft.call("negative", draft.call("nn.rms_norm", 0, 1, axes=(-1,), epsilon=1e-05)))
    inside = tuple(msgspec.structs.replace(one, within=(mark,)) for one in plain.vertices)
    for model in (plain, msgspec.structs.replace(plain, vertices=inside)):
        seen = observed(case_of(model))
        assert seen.results is not None and (seen.results.blame, seen.results.guilty) == ("both", "nn.rms_norm")
