"""Models through ONNX: the file, what TVM imports of it, and statements that make it with `onnx.helper`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from tzerlike.findings.issue.literal import array_source, python_source
from tzerlike.graph.exchange.onnx.file import IR_VERSION, imported_module, onnx_model, onnx_objection, proto_of
from tzerlike.graph.exchange.onnx.words import ONNX_DTYPES
from tzerlike.graph.exchange.writing import OnnxFile, OnnxNode
from tzerlike.graph.importers import Manner
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType
from tzerlike.harnesses.graph.written import Unimportable, WrittenModel, telling_operators
from tzerlike.systems import tvm_api

_HELPERS = frozenset({"Identity", "Cast", "Transpose", "Reshape", "Shape", "Squeeze", "Unsqueeze"})
"""Operators that bring what others take or give into form."""

_ONNX_NAMES = {"float32": "FLOAT", "float64": "DOUBLE"}

_LISTED = ("int64", "float32", "float64")
"""Dtypes whose numbers stand in the source of a small constant as they are."""

_DTYPES = ("dtype", "to")
"""Attributes that are dtypes."""

_FILE = """\
graph = helper.make_graph(
    [
{nodes}    ],
    "main",
    inputs=[{inputs}],
    outputs=[{outputs}],{constants}
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", {opset})], ir_version={version})
Module = """

_IMPORTED, _FOR_INFERENCE = "from_onnx(model)", "relax.transform.DecomposeOpsForInference()(from_onnx(model))"


@dataclass(frozen=True)
class OnnxWritten(WrittenModel):
    file: OnnxFile

    def check(self) -> None:
        self._proto()

    def _proto(self) -> Any:
        proto = proto_of(self.file)
        if said := onnx_objection(proto):
            raise Unimportable(f"onnx.checker: {said}")
        return proto

    def importer(self) -> Callable[[], Any]:
        """What is imported is made ready for inference."""
        proto, decompose = self._proto(), tvm_api.part("relax").transform.DecomposeOpsForInference()

        def take() -> Any:
            # It prints what it fails on, and a child need not have where to.
            with redirect_stdout(StringIO()):
                return decompose(imported_module(proto))

        return take

    def operators(self) -> str:
        return telling_operators([node.operator for node in self.file.nodes], _HELPERS)

    def source(self, constants: Mapping[str, str], *, alone: bool) -> str:
        return _source(self.file, constants) + (_IMPORTED if alone else _FOR_INFERENCE)


def through_onnx(model: Model, constants: Mapping[int, Array], manner: Manner) -> OnnxWritten | None:
    """Return a model as a file of ONNX in the opset that is the way; None without words for it."""
    file = onnx_model(model, constants, manner.way, manner.form)
    return None if file is None else OnnxWritten(file)


def _source(file: OnnxFile, written: Mapping[str, str]) -> str:
    """Source of a file; `written` has that of the values of some constants."""
    held = "".join(f"        {_constant(name, value, written.get(name))},\n" for name, value in file.constants.items())
    constants = f"\n    initializer=[\n{held}    ]," if held else ""
    return _FILE.format(
        nodes="".join(f"        {_node(one)},\n" for one in file.nodes),
        inputs=", ".join(_info(name, kind) for name, kind in file.inputs),
        outputs=", ".join(_info(name, kind) for name, kind in file.outputs),
        constants=constants,
        opset=file.opset,
        version=IR_VERSION,
    )


def _node(node: OnnxNode) -> str:
    given = [python_source(node.operator), python_source(node.inputs), python_source(node.outputs)]
    return f"helper.make_node({', '.join([*given, *(_attribute(*one) for one in node.attributes.items())])})"


def _constant(name: str, value: Array, written: str | None) -> str:
    dtype = str(value.dtype)
    if written is None and dtype in _LISTED:
        return f'helper.make_tensor("{name}", {_proto_dtype(dtype)}, {list(value.shape)}, {value.reshape(-1).tolist()})'
    return f'numpy_helper.from_array({written or array_source(value, python_source(dtype))}, "{name}")'


def _attribute(name: str, value: object) -> str:
    if name in _DTYPES:
        return f"{name}={_proto_dtype(next(dtype for dtype, number in ONNX_DTYPES.items() if number == value))}"
    if isinstance(value, np.ndarray):
        return f"{name}=numpy_helper.from_array({array_source(value, python_source(str(value.dtype)))})"
    return f"{name}={python_source(value)}"


def _info(name: str, kind: TensorType | None) -> str:
    assert kind is not None, "the outputs of a model have types"
    return f'helper.make_tensor_value_info("{name}", {_proto_dtype(kind.dtype)}, {list(kind.shape)})'


def _proto_dtype(dtype: str) -> str:
    return f"TensorProto.{_ONNX_NAMES.get(dtype, dtype.upper())}"
