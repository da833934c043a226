"""Models as ONNX, and ONNX as TVM imports it. It needs the extra `onnx`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tzerlike.graph.exchange.onnx.rows import ONNX_FORMS
from tzerlike.graph.exchange.onnx.words import ONNX_DTYPES
from tzerlike.graph.exchange.writing import OnnxCall, OnnxFile, OnnxNode, Writing
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType
from tzerlike.systems import tvm_api

IR_VERSION = 10


def onnx_model(model: Model, constants: Mapping[int, Array], opset: int, manner: int = 0) -> OnnxFile | None:
    """Return the model as a file with inputs x0, x1, ..., and as many outputs as it has.

    None where a call cannot be said in this opset. `constants` are the sources that the file is to hold, by number.
    Where a call has several forms, that at the place `manner` is tried first, and then those behind it, in a ring.
    """
    to = Writing(opset)
    names = [f"x{number}" for number in range(len(model.sources))]
    kinds = model.types()
    for vertex in model.vertices:
        inputs = tuple(names[one] for one in vertex.inputs)
        call = OnnxCall(inputs, tuple(kinds[one] for one in vertex.inputs), vertex.outputs, to)
        forms = ONNX_FORMS.get(vertex.row, ())
        start = len(to.nodes)
        first = manner % len(forms) if forms else 0
        for form in (*forms[first:], *forms[:first]):
            found = form(call, **vertex.attributes)
            if found is not None:
                names += found
                break
            del to.nodes[start:]
        else:
            return None
    outputs: dict[str, TensorType] = {}
    for number in model.outputs:
        name = names[number]
        if number < len(model.sources) or name in outputs:
            name = f"y{len(outputs)}"
            to.nodes.append(OnnxNode("Identity", (names[number],), (name,), {}))
        outputs[name] = kinds[number]
    coming = tuple((names[n], one.type) for n, one in enumerate(model.sources) if n not in constants)
    held = {names[number]: value for number, value in constants.items()} | to.constants
    return OnnxFile(opset, tuple(to.nodes), coming, tuple(outputs.items()), held)


def proto_of(file: OnnxFile) -> Any:
    """Return a file as ONNX's own ModelProto."""
    onnx = import_module("onnx")
    helper, tensor = onnx.helper, onnx.numpy_helper.from_array
    nodes = [
        helper.make_node(
            one.operator,
            list(one.inputs),
            list(one.outputs),
            domain=one.domain,
            **{key: tensor(value) if isinstance(value, np.ndarray) else value for key, value in one.attributes.items()},
        )
        for one in file.nodes
    ]
    graph = helper.make_graph(
        nodes,
        tvm_api.ENTRY,
        [_info(helper, name, kind) for name, kind in file.inputs],
        [_info(helper, name, kind) for name, kind in file.outputs],
        [tensor(np.array(value, order="C"), name) for name, value in file.constants.items()],
    )
    domains = dict.fromkeys(("", *(one.domain for one in file.nodes)))
    versions = [helper.make_opsetid(domain, 1 if domain else file.opset) for domain in domains]
    return helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION)


def onnx_objection(proto: Any) -> str:
    """What ONNX's own checker has against a file, types included; "" for nothing."""
    checker = import_module("onnx").checker
    try:
        checker.check_model(proto, full_check=True)
    except Exception as error:  # noqa: BLE001 - its checks are of several classes, which are in no module of their own
        return str(error).strip()
    return ""


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


def _info(helper: Any, name: str, kind: TensorType | None) -> Any:
    if kind is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, ONNX_DTYPES[kind.dtype], kind.shape)
