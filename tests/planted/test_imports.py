"""Bugs planted in TVM's importer of ONNX are found and the import of their operator is blamed; other ways are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.models import Drafted, called, case_of, floats, observed
from tzerlike.core.observation import Observation
from tzerlike.graph.importers import ONNX
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.oracles import ORACLES, judged, make_oracles
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

pytest.importorskip("onnx", reason="needs the extra `onnx`")

relax = tvm_api.part("relax")
importer = tvm_api.part("relax.frontend.onnx.onnx_frontend")
JUDGES = make_oracles([name for name, oracle in ORACLES.items() if oracle.harness == "graph"])

Convert = Callable[[Any, list[Any], dict[str, Any]], Any]
"""What the importer makes of a node, from the block builder, its inputs and its attributes."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A model, and what the importer makes of an operator of ONNX in it."""

    operator: str
    model: Model
    convert: Convert


def _wide() -> Origin:
    return Origin(TensorType((2, 3, 4), "float32"))


def _behind_fma() -> Model:
    draft = Drafted(floats(3, seed=1), floats(3, seed=2))
    return draft.model(draft.call("subtract", draft.call("ewise_fma", 0, 1, 1), 1))


def _raise(builder: Any, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    raise AttributeError("planted")


WRONG = {
    "attribute-ignored": Planted(
        "Softmax", called("nn.softmax", _wide(), axis=1), lambda _, inputs, attributes: relax.op.nn.softmax(inputs[0])
    ),
    "operands-swapped": Planted(
        "Sub", called("subtract", floats(3), floats(3)), lambda _, inputs, attributes: relax.op.subtract(*inputs[::-1])
    ),
    # TVM lowers no `ewise_fma`: without an import this model is not built.
    "behind-what-is-only-imported": Planted(
        "Sub", _behind_fma(), lambda _, inputs, attributes: relax.op.subtract(*inputs[::-1])
    ),
    "axes-reversed": Planted(
        "Transpose",
        called("permute_dims", _wide(), axes=(0, 2, 1)),
        lambda _, inputs, attributes: relax.op.permute_dims(inputs[0]),
    ),
    "sign-of-the-slope": Planted(
        "LeakyRelu",
        called("nn.leakyrelu", _wide(), alpha=0.2),
        lambda _, inputs, attributes: relax.op.nn.leakyrelu(inputs[0], -attributes["alpha"]),
    ),
    "dtype-of-the-input": Planted(
        "Cast", called("astype", floats(3), dtype="float64"), lambda _, inputs, attributes: inputs[0]
    ),
    "dimensions-kept": Planted(
        "ReduceSum",
        called("sum", _wide(), axis=(1,), keepdims=False),
        lambda _, inputs, attributes: relax.op.sum(inputs[0], 1, keepdims=True),
    ),
}
FAILING = {"raises": Planted("Erf", called("erf", floats(3)), _raise)}
HARMLESS = {
    "another-way": Planted(
        "Relu",
        called("nn.relu", floats(3)),
        lambda _, inputs, attributes: relax.op.maximum(inputs[0], relax.const(0, "float32")),
    ),
    "operands-of-a-sum-swapped": Planted(
        "Add", called("add", floats(3), floats(3)), lambda _, inputs, attributes: relax.op.add(*inputs[::-1])
    ),
    "there-and-back": Planted(
        "Sqrt",
        called("sqrt", Origin(TensorType((3,), "float32"), low=0.5)),
        lambda builder, inputs, attributes: relax.op.sqrt(
            relax.op.negative(builder.emit(relax.op.negative(inputs[0])))
        ),
    ),
}


def _blamed(model: Model) -> list[tuple[str, ...]]:
    def work() -> str:
        return json.dumps([observed(case_of(model, step.name, "relax.FoldConstant")).to_json() for step in _STEPS])

    answer, died = in_child(work)
    assert answer is not None, f"the child died of signal {died}"
    seen = [Observation.from_json(one) for one in json.loads(answer)]
    found = [judged(JUDGES, case_of(model, step.name), one) for step, one in zip(_STEPS, seen, strict=True)]
    return [(one.kind, *one.parts[:2]) for several in found for one in several]


_STEPS = ONNX.steps[1], ONNX.plainest(ONNX.steps[0])


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Planted], Model]:
    """Has the importer make something else of an operator."""

    def planted(one: Planted) -> Model:
        class Converter(importer.OnnxOpConverter):  # type: ignore[misc, name-defined]
            @classmethod
            def _impl_v1(cls, builder: Any, inputs: Any, attributes: Any, params: Any) -> Any:
                return one.convert(builder, inputs, attributes)

        table = importer._get_convert_map()
        monkeypatch.setattr(importer, "_get_convert_map", lambda: {**table, one.operator: Converter})
        return one.model

    return planted


@pytest.mark.parametrize("name", WRONG)
def test_the_import_is_blamed_that_is_wrong(plant: Callable[[Planted], Model], name: str) -> None:
    one = WRONG[name]
    assert _blamed(one.model) == []
    assert _blamed(plant(one)) == 2 * [("wrong-code", "both", f"import of {one.operator}")]


def test_an_import_that_raises_is_found(plant: Callable[[Planted], Model]) -> None:
    found = _blamed(plant(FAILING["raises"]))
    assert [one[:2] for one in found] == 2 * [("ice-on-valid", "FromOnnx")] and "planted" in found[0][2]


@pytest.mark.parametrize("name", HARMLESS)
def test_another_way_to_import_is_no_finding(plant: Callable[[Planted], Model], name: str) -> None:
    assert _blamed(plant(HARMLESS[name])) == []
