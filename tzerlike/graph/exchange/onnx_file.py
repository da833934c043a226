"""Models as ONNX, and ONNX as TVM imports it. It needs the extra `onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from random import Random
from typing import Any

import numpy as np

from tzerlike.graph.exchange.onnx_only import OnnxCall
from tzerlike.graph.exchange.onnx_rows import ONNX_DTYPES, ONNX_FORMS
from tzerlike.graph.exchange.writing import OnnxNode, Writing, WrittenCall
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType
from tzerlike.systems import tvm_api

OPSETS = (11, 13, 17, 18, 21, 23)
"""Where operators changed most."""

_IR_VERSION = 10


def onnx_model(model: Model, constants: Mapping[int, Array], opset: int, rng: Random) -> Any:
    """Return the model as a ModelProto, with sources s0, s1, ... and all its outputs under their numbers (o7, ...).

    None where a call cannot be said in this opset. `constants` are the sources that the file is to hold.
    """
    to = Writing(opset)
    names = [f"s{number}" for number in range(len(model.sources))]
    kinds = model.types()
    for vertex in model.vertices:
        inputs = tuple(names[one] for one in vertex.inputs)
        call = WrittenCall(to, inputs, tuple(kinds[one] for one in vertex.inputs), vertex.outputs)
        forms = ONNX_FORMS.get(vertex.row, ())
        start = len(to.nodes)
        for form in rng.sample(forms, len(forms)):
            found = form(call, **vertex.attributes)
            if found is not None:
                names += found
                break
            del to.nodes[start:]
        else:
            return None
    outputs = []
    for number in dict.fromkeys(model.outputs):
        to.nodes.append(OnnxNode("Identity", (names[number],), (f"o{number}",), {}))
        outputs.append((f"o{number}", kinds[number]))
    inputs_of_file = [(f"s{n}", one.type) for n, one in enumerate(model.sources) if n not in constants]
    held = {f"s{number}": value for number, value in constants.items()} | to.constants
    return _proto(to, inputs_of_file, outputs, held)


def onnx_call(call: OnnxCall) -> Any:
    """Return a file of one call; what types it gives is left to who reads it."""
    to, inputs = call.writing()
    return _proto(to, inputs, [(f"o{number}", None) for number in range(call.outputs)], to.constants)


def imported_module(proto: Any) -> Any:
    """Return the Relax module that TVM makes of it; its own exceptions."""
    importer = tvm_api.part("relax.frontend.onnx")
    return importer.from_onnx(proto, keep_params_in_input=False)


def onnxruntime_results(proto: Any, inputs: Mapping[str, Array]) -> list[Array]:
    """Return what ONNX Runtime computes, without optimisations; its own exceptions."""
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(one) for one in session.run(None, dict(inputs))]


def _proto(
    to: Writing,
    inputs: Sequence[tuple[str, TensorType]],
    outputs: Sequence[tuple[str, TensorType | None]],
    held: Mapping[str, Array],
) -> Any:
    onnx = import_module("onnx")
    helper = onnx.helper
    nodes = [
        helper.make_node(
            one.operator,
            list(one.inputs),
            list(one.outputs),
            domain=one.domain,
            **{
                key: onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
                for key, value in one.attributes.items()
            },
        )
        for one in to.nodes
    ]
    graph = helper.make_graph(
        nodes,
        tvm_api.ENTRY,
        [_info(helper, name, kind) for name, kind in inputs],
        [_info(helper, name, kind) for name, kind in outputs],
        [onnx.numpy_helper.from_array(np.array(value, order="C"), name) for name, value in held.items()],
    )
    domains = dict.fromkeys(("", *(one.domain for one in to.nodes)))
    versions = [helper.make_opsetid(domain, 1 if domain else to.opset) for domain in domains]
    found = helper.make_model(graph, opset_imports=versions)
    found.ir_version = _IR_VERSION
    return found


def _info(helper: Any, name: str, kind: TensorType | None) -> Any:
    if kind is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, ONNX_DTYPES[kind.dtype], kind.shape)
