"""Imports of ONNX as first steps of a sequence: what they are for, and what the bundle of one shows by itself."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from tests.models import Drafted, called, case_of, floats, observed
from tests.puzzles.test_walking_models import walked
from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Observation
from tzerlike.findings.bisect.role import bisection
from tzerlike.findings.reduction.guilty import guilty_passes
from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.onnx.file import onnx_model, onnx_objection, proto_of
from tzerlike.graph.exchange.onnx.rows import ONNX_FORMS
from tzerlike.graph.importers import ONNX, OPSETS
from tzerlike.graph.model import Model, Origin, TensorType, Vertex, read_model
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, IMPORT_STEPS
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.importing import suitable_import
from tzerlike.harnesses.graph.pairs import GraphPairs
from tzerlike.harnesses.graph.passes import ZERO, suited
from tzerlike.harnesses.graph.regression import applied_test, regression_test
from tzerlike.harnesses.graph.texts import repro_script, source_of_program, wrong_output
from tzerlike.oracles.model_imports import judge_imports
from tzerlike.oracles.models import judge_errors
from tzerlike.processes.forked import in_child

pytest.importorskip("onnx", reason="needs the extra `onnx`")

OLD, NEW = ONNX.steps[0], ONNX.plainest(ONNX.steps[0])
NOT_IN_SOME_OPSETS = "has unsupported type"
"""What the checker says of a dtype that an operator did not have yet; such a file is not imported."""

_EYE = Drafted()
EYE = _EYE.model(_EYE.call("eye", n=2, m=2, k=0, dtype="float64"))
"""The importer takes an identity matrix to have the dtype of what it is like."""


@pytest.mark.parametrize("name", sorted(ONNX_FORMS))
def test_each_form_is_accepted_by_the_checker_of_onnx_but_for_dtypes(name: str) -> None:
    dice, accepted = Dice(Random(name)), 0
    for number in range(12):
        drawn = draw_call(ROWS[name], dice, SizeLimits(rank=4, extent=6, elements=128))
        origins = tuple(Origin(one.type) for one in drawn.inputs if isinstance(one, Wanted))
        made = tuple(range(len(origins), len(origins) + len(drawn.outputs)))
        vertex = Vertex(name, tuple(range(len(origins))), drawn.attributes, drawn.outputs)
        model = Model(origins, (vertex,), made)
        files = [] if "bfloat16" in str(model) else [onnx_model(model, {}, opset, number) for opset in OPSETS]
        said = [onnx_objection(proto_of(file)) for file in files if file is not None]
        assert all(not one or NOT_IN_SOME_OPSETS in one for one in said), (model, said)
        accepted += said.count("")
    assert accepted
    manners = {manner.form for manner in ONNX.manners.values()}
    assert manners >= {*range(len(ONNX_FORMS[name]))}, "a form that is never tried first"


def test_an_import_comes_first_and_is_for_what_onnx_has_words_for() -> None:
    plain = called("add", floats(3), floats(3))
    passes = (NEW, *ZERO)
    assert suited(passes, plain) == passes and suited((*ZERO, NEW), plain) == ZERO
    assert suited((NEW, OLD, *ZERO), plain) == passes
    for model in (
        called("nn.dropout", floats(3), rate=0.5),
        msgspec.structs.replace(
            plain, vertices=tuple(msgspec.structs.replace(one, within=("function0",)) for one in plain.vertices)
        ),
        called("add", *[Origin(TensorType((3,), "bfloat16"))] * 2),
    ):
        assert suited(passes, model) == ZERO


def test_a_dtype_that_an_opset_has_not_is_for_newer_ones() -> None:
    """Sums of int8 came with opset 14."""
    model = called("add", *[Origin(TensorType((3,), "int8"))] * 2)
    assert suited((OLD,), model) == () and suited((NEW,), model) == (NEW,)


def test_what_onnx_refuses_is_not_judged() -> None:
    """A reduction may come by it: the bundle would say that the checker accepts the file."""
    draft = Drafted()
    for dtype in ("bfloat16", "int8"):
        model = draft.model(draft.call("eye", n=2, m=2, k=0, dtype=dtype))
        draft = Drafted(Origin(TensorType((3,), dtype)))
        model = model if dtype == "bfloat16" else draft.model(draft.call("add", 0, 0))
        case = case_of(model, OLD.name)
        seen = _observed(case)
        assert seen.exit is Exit.REJECTED and seen.rejection is not None
        assert (seen.rejection.label, judge_imports(case, seen)) == ("documented-refusal", None)


def test_a_threshold_that_onnx_does_not_have_is_not_written_in_double_precision() -> None:
    wide = {dtype: called("nn.softplus", Origin(TensorType((3,), dtype)), beta=1.0, threshold=20.0)
            for dtype in ("float32", "float64")}  # fmt: skip
    assert [suited((NEW,), model) for model in wide.values()] == [(NEW,), ()]


def test_models_are_imported_where_an_oracle_asks_for_that() -> None:
    asks, none = GraphPairs((), ("model-imports",)), GraphPairs(())
    assert set(asks.mutators) - set(none.mutators) == {"exchange"}
    text = case_of(called("add", floats(3), floats(3))).ir
    for pairs, most in ((asks, 1), (none, 0)):
        drawn = [pairs.fresh(Random(number), text)[0] for number in range(40)]
        begun = [passes for passes in drawn if passes and passes[0] in IMPORT_STEPS]
        assert (len(begun) > 8) == most and len(begun) < 32
    carried = case_of(read_model(text), NEW.name)
    assert none.fit(carried, text)[0] == () and asks.fit(carried, text)[0] == (NEW,)
    both = GraphPairs((), ("model-imports", "model-gradients"))
    loss = case_of(called("sum:all", floats(3), axis=None, keepdims=False)).ir
    assert all(both.fresh(Random(number), loss)[0][0] == GRADIENT for number in range(8))


def test_mutants_for_an_import_can_be_imported() -> None:
    pairs, text = GraphPairs((), ("model-imports",)), case_of(called("add", floats(3), floats(3))).ir
    mutants = [pairs.mutant(Mutation(number, 0, 0, 0, "exchange", "x"), text, lambda rng: text) for number in range(40)]
    models = [read_model(one.attempt.text) for one in mutants if one.attempt.text]
    assert sum(bool(suitable_import(model, Random(0))) for model in models) > len(models) / 2 > 10


def test_imports_take_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as refused:
        HARNESS.prepare({"oracles": ["model-imports"]})
    assert str(refused.value) == (
        "--oracles: model-imports needs onnx or torch; install it with: pip install 'tzerlike[onnx]' or pip install "
        "'tzerlike[torch]'"
    )
    with pytest.raises(UserError) as refused:
        HARNESS.require_fit(None, case_of(EYE, NEW.name))  # type: ignore[arg-type]
    assert str(refused.value).startswith("case.passes: relax.FromOnnx23_0 needs onnx")
    HARNESS.require_fit(None, case_of(EYE))  # type: ignore[arg-type]


def _observed(case: Case) -> Observation:
    answer, died = in_child(lambda: json.dumps(observed(case).to_json()))
    assert answer is not None, f"the child died of signal {died}"
    return Observation.from_json(json.loads(answer))


@pytest.mark.parametrize("step", [OLD, NEW])
def test_an_import_agrees_with_what_its_model_computes(step: Any) -> None:
    """Of several outputs, of one that comes bare, and with what the file holds."""
    held = Drafted(floats(2, 3), floats(2, 3, kind="constant", seed=1))
    total = held.call("add", 0, 1)
    several = held.model(total, held.call("exp", total), 0)
    for model in (called("nn.relu", floats(3)), several):
        seen = _observed(case_of(model, step.name, "relax.FoldConstant"))
        assert seen.exit is Exit.OK and seen.results is not None and str(seen.results.optimised) == "agrees"


def test_what_is_not_imported_is_found_and_its_bundle_shows_that_without_tzerlike(tmp_path: Path) -> None:
    case = case_of(EYE, NEW.name)
    seen = _observed(case)
    found = judge_imports(case, seen)
    assert found is not None and found.kind == "ice-on-valid" and found.parts[0] == "FromOnnx"
    assert judge_errors(case, seen) is None
    assert {judge_imports(one, _observed(one)).signature for one in (case, case_of(EYE, OLD.name))} == {found.signature}  # type: ignore[union-attr]
    program = source_of_program(found, EYE)
    assert program is not None
    assert "DecomposeOps" not in program.source, "that is behind what fails"
    test = applied_test(found, EYE, program.source)
    repro = repro_script(found, EYE, program.source, Limits(), None)
    for text, status in ((test.text, 1), (test.cured, 0), (repro, 1)):
        (tmp_path / "script.py").write_text(text)
        run = [sys.executable, "-I", str(tmp_path / "script.py")]
        assert subprocess.run(run, capture_output=True, check=False, cwd=tmp_path).returncode == status, text


@pytest.fixture
def without_axis(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has the importer take each softmax along the last axis."""
    from tvm import relax
    from tvm.relax.frontend.onnx import onnx_frontend

    def plant() -> None:
        class Softmax(onnx_frontend.OnnxOpConverter):  # type: ignore[misc]
            @classmethod
            def _impl_v1(cls, builder: Any, inputs: Any, attributes: Any, params: Any) -> Any:
                return relax.op.nn.softmax(inputs[0], axis=-1)

        table = onnx_frontend._get_convert_map()
        monkeypatch.setattr(onnx_frontend, "_get_convert_map", lambda: {**table, "Softmax": Softmax})

    return plant


def _status(script: str) -> int:
    """How a script ends that is run in a child of this process."""

    def work() -> str:
        with redirect_stdout(StringIO()):
            try:
                exec(compile(script, "script", "exec"), {"__name__": "script"})
            except SystemExit as end:
                return str(end.code or 0)
            except AssertionError:
                return "1"
        return "0"

    return int(in_child(work)[0] or -1)


def test_what_is_imported_wrongly_is_shown_by_the_repro_and_the_test_alone(without_axis: Callable[[], None]) -> None:
    model = called("nn.softmax", floats(2, 3, 4), axis=1)
    case = case_of(model, NEW.name)
    without_axis()
    seen = _observed(case)
    found = judge_imports(case, seen)
    assert found is not None and found.parts[:2] == ("both", "import of Softmax")
    program, wrong = source_of_program(found, model), wrong_output(found, model)
    assert program is not None
    test = regression_test(found, model, program.source, wrong)
    call = "\ntest_import_of_softmax_wrong_code()\n"
    # A child has its limits already.
    repro = repro_script(found, model, program.source, Limits(), wrong).replace("\nlimit()\n", "\n")
    assert (_status(repro), _status(test.text + call), _status(test.cured + call)) == (1, 1, 0)


def test_a_walk_leaves_the_blame_with_the_import_of_the_operator(without_axis: Callable[[], None]) -> None:
    """Whose import is wrong is known, and the step of the sequence says less."""
    without_axis()
    case = case_of(called("nn.softmax", floats(2, 3, 4), axis=1), NEW.name, "relax.FoldConstant")
    walk = walked(case)
    assert walk.suspects == () and walk.difference is not None
    assert bisection("signature", _observed(case), walk).guilty == "import of Softmax"


def test_an_import_alone_is_tried_first_where_it_is_blamed() -> None:
    case = case_of(EYE, NEW.name, "relax.FoldConstant", "relax.FuseOps")
    first = next(iter(guilty_passes(_observed(case))(case)))
    assert first().passes == (NEW,)
