"""The program of a model that is imported, in the texts of a bundle: statements that make its file with `onnx.helper`
and have TVM import it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tzerlike.core.case import Case, PassSpec
from tzerlike.findings.issue.literal import array_source, python_source
from tzerlike.findings.repro import without_idle_imports
from tzerlike.graph.exchange.onnx_file import IR_VERSION
from tzerlike.graph.exchange.onnx_rows import ONNX_DTYPES
from tzerlike.graph.exchange.writing import OnnxFile, OnnxNode
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.harnesses.graph.importing import file_of
from tzerlike.harnesses.graph.program import ModelSource
from tzerlike.harnesses.graph.sources import sources_source

_OF_TVM = ("from tvm import relax", "from tvm.relax.frontend.onnx import from_onnx")

ONNX_IMPORTS = ("from onnx import TensorProto, helper, numpy_helper", _OF_TVM[1])

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


def imported_program(model: Model, case: Case, step: PassSpec, *, alone: bool = False) -> ModelSource:
    """Return statements that define `Module`, with np, relax, and the names of ONNX_IMPORTS in scope.

    What is imported `alone` is not made ready for inference.
    """
    ((_, values), *_) = values_of_runs(model, ROWS, case.input_seed)
    written = dict(zip((f"x{n}" for n in range(len(values))), sources_source(model, case), strict=True))
    text = _source(file_of(model, values, step), written) + (_IMPORTED if alone else _FOR_INFERENCE)
    imports = "\n".join(("import numpy as np", ONNX_IMPORTS[0], *_OF_TVM))
    return ModelSource(text, without_idle_imports(f"{imports}\n\n{text}"))


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
