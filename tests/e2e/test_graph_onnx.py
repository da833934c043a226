"""Rows against ONNX Runtime, and TVM's importer of ONNX against rows. It needs the extra `onnx`."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from tzerlike.graph.answer import answers, differs
from tzerlike.graph.dice import Dice
from tzerlike.graph.exchange.onnx.file import imported_module, onnx_model, onnxruntime_results, proto_of
from tzerlike.graph.exchange.onnx.only import ONNX_CALLS, OnnxCall
from tzerlike.graph.exchange.onnx.rows import ONNX_FORMS
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.spec import ROWS
from tzerlike.graph.values import drawn_values
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

pytest.importorskip("onnx", reason="needs the extra `onnx`")
runtime = pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

BEYOND = {
    "one_hot": "no kernel for float64",
    "nn.gelu_tanh": "computes float64 in single precision",
    "nn.instance_norm": "one factor and one summand for all elements: it cancels where they are alike",
}
"""What ONNX Runtime does not do, or not as exactly as our bounds have it."""

IMPORTED_OTHERWISE = {
    ("MaxPool", "SAME_LOWER"): "a row is lost",
    ("ConvTranspose", "output_shape"): "not looked at",
    ("Upsample", "nearest"): "no scales as an input",
    ("Resize", "linear"): "the ratio of extents in place of the scale that is given",
    ("Slice", "starts"): "no limits as attributes",
    ("OneHot", "axis"): "float64, whatever the values are",
    ("OneHot", "{}"): "no depth of rank 1",
    ("EyeLike", "dtype"): "no other dtype than the input's",
    ("RoiAlign", "sampling_ratio"): "half a pixel is taken off before the scale",
    ("Shape", ""): "a shape and no tensor comes out",
}
"""Calls that the importer of this TVM refuses, or makes something else of: operator, and a word of the attributes."""

CHEAP = ("add", "argmax", "nn.conv2d", "nn.pad", "scatter_elements", "sum", "topk", "strided_slice", "where")


def _calls(name: str, count: int) -> list[tuple[Model, Any, list[Any]]]:
    """Calls of a row with their files and inputs, as far as ONNX has words for them."""
    dice, found = Dice(Random(name)), []
    for number in range(count):
        drawn = draw_call(ROWS[name], dice, SizeLimits(rank=4, extent=6, elements=128))
        wanted = [one for one in drawn.inputs if isinstance(one, Wanted)]
        origins = tuple(Origin(one.type, "input", float(one.low), float(one.high), i) for i, one in enumerate(wanted))
        vertex = Vertex(name, tuple(range(len(origins))), drawn.attributes, drawn.outputs)
        model = Model(origins, (vertex,), tuple(len(origins) + i for i in range(len(drawn.outputs))))
        file = onnx_model(model, {}, (13, 18, 23)[number % 3], number)
        if file is not None and "bfloat16" not in str(model):
            found.append((model, proto_of(file), [drawn_values(origin, 0) for origin in origins]))
    return found


def _agreed(model: Model, inputs: list[Any], outputs: list[Any]) -> bool:
    vertex = model.vertices[0]
    known = recognise(ROWS[vertex.row], [origin.type for origin in model.sources], vertex.attributes)
    assert known is not None
    with np.errstate(all="ignore"):
        wanted = answers(ROWS[vertex.row], known, inputs, vertex.attributes, vertex.outputs)
    assert len(outputs) == len(wanted)
    return not any(differs(value, bound, one) for (value, bound), one in zip(wanted, outputs, strict=True))


def _compared_with_runtime(name: str, count: int) -> int:
    compared = 0
    for model, file, inputs in _calls(name, count):
        try:
            outputs = onnxruntime_results(file, {f"x{number}": one for number, one in enumerate(inputs)})
        except Exception as error:  # noqa: BLE001 - of a library that may not be there
            assert type(error).__name__ in ("NotImplemented", "InvalidGraph"), (model, error)
            continue
        compared += 1
        assert _agreed(model, inputs, outputs), model
    return compared


@pytest.mark.parametrize("name", CHEAP)
def test_onnxruntime_computes_what_a_row_means(name: str) -> None:
    assert _compared_with_runtime(name, 8) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(ONNX_FORMS.keys() - BEYOND.keys()))
def test_onnxruntime_computes_what_every_row_means(name: str) -> None:
    assert _compared_with_runtime(name, 40) > 0


@pytest.mark.parametrize("name", ("subtract", "nn.conv2d", "sum", "concat"))
def test_what_tvm_imports_is_the_call(name: str) -> None:
    for model, file, inputs in _calls(name, 2):
        assert _agreed(model, inputs, _built(file, inputs)), model


def test_calls_without_a_row_are_onnx() -> None:
    refused = []
    for call in ONNX_CALLS:
        kinds = [(place, one) for place, one in enumerate(call.inputs) if isinstance(one, TensorType)]
        values = {f"x{place}": drawn_values(Origin(kind), 0) for place, kind in kinds}
        try:
            onnxruntime_results(proto_of(call.file), values)
        except Exception as error:  # noqa: BLE001 - of a library that may not be there
            refused.append((call.operator, str(error)))
    assert [name for name, _ in refused] == [], refused


@pytest.mark.long
@pytest.mark.parametrize("call", ONNX_CALLS, ids=lambda call: f"{call.operator}-{call.opset}")
def test_what_tvm_imports_of_calls_without_a_row_is_known(call: OnnxCall) -> None:
    kinds = [(place, one) for place, one in enumerate(call.inputs) if isinstance(one, TensorType)]
    values = {f"x{place}": drawn_values(Origin(kind), 0) for place, kind in kinds}
    file = proto_of(call.file)
    wanted = onnxruntime_results(file, values)

    def work() -> str:
        try:
            found = _built(file, [*values.values()])
        except Exception:  # noqa: BLE001 - a refusal is a difference too
            return ""
        return "near" * all(_near(one, other) for one, other in zip(wanted, found, strict=False))

    # Some kernels are parallel: they start threads.
    answer, died = in_child(work)
    known = any(name == call.operator and word in str(dict(call.attributes)) for name, word in IMPORTED_OTHERWISE)
    assert (answer == "near") != known, died


def _near(one: Any, other: Any) -> bool:
    alike = one.dtype == other.dtype and one.shape == other.shape
    return bool(alike and np.allclose(one, other, 1e-4, 1e-5, True))


def _built(file: Any, inputs: list[Any]) -> list[Any]:
    tvm, relax = tvm_api.tvm, tvm_api.part("relax")
    module = relax.transform.DecomposeOpsForInference()(imported_module(file))
    built = relax.build(module, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    # Of the executable, it would have a model without code of its own compiled as C, by a compiler for that.
    found = relax.VirtualMachine(built.mod, tvm.cpu())["main"](*map(tvm.runtime.tensor, inputs))
    return [one.numpy().copy() for one in ([found] if hasattr(found, "numpy") else found)]


WRONG_ATTRIBUTES = {
    "nn.softmax": ("Softmax", {"axis": lambda axis: 0}),
    "nn.leakyrelu": ("LeakyRelu", {"alpha": lambda alpha: alpha / 2}),
    "permute_dims": ("Transpose", {"perm": lambda perm: list(reversed(perm))}),
}


@pytest.mark.parametrize("name", WRONG_ATTRIBUTES)
def test_an_importer_that_reads_an_attribute_wrongly_is_seen(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    frontend = pytest.importorskip("tvm.relax.frontend.onnx.onnx_frontend")
    operator, changes = WRONG_ATTRIBUTES[name]
    calls = _calls(name, 8)
    right = frontend.OnnxOpConverter.get_converter.__func__

    def get_converter(cls: Any, opset: int) -> Any:
        found = right(cls, opset)

        def changed(bb: Any, inputs: Any, attributes: Any, *others: Any) -> Any:
            given = {key: changes[key](value) if key in changes else value for key, value in attributes.items()}
            return found(bb, inputs, given, *others)

        return changed if cls.__name__ == operator else found

    monkeypatch.setattr(frontend.OnnxOpConverter, "get_converter", classmethod(get_converter))
    assert not all(_agreed(model, inputs, _built(file, inputs)) for model, file, inputs in calls)
