"""Models that TVM imports from files: which steps of a sequence suit them, the files, and what comes of those."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import msgspec

from tzerlike.core.case import PassSpec
from tzerlike.core.errors import UserError
from tzerlike.graph.exchange.onnx_file import imported_module, onnx_model, onnx_objection, proto_of
from tzerlike.graph.exchange.writing import OnnxFile
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.reference import tried
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import IMPORT_STEPS, opset_of
from tzerlike.graph.values import numpy_dtype
from tzerlike.systems import tvm_api

IMPORTS_ORACLE = "model-imports"

_UNSAID = "bfloat16"
"""NumPy has no such dtype, so neither have the arrays that a file is made from."""


def require_onnx(what: str) -> None:
    """UserError that says what needs onnx, where that is not installed."""
    if importlib.util.find_spec("onnx") is None:
        raise UserError(f"{what} needs onnx; install it with: pip install 'tzerlike[onnx]'")


def importable(model: Model, step: PassSpec) -> bool:
    """Whether ONNX has words for a model in the opset of a step, and its own checker accepts them."""
    plain = not model.disrupted and not model.variables and not any(vertex.within for vertex in model.vertices)
    if not plain or any(kind.dtype == _UNSAID for kind in model.types()):
        return False
    file = onnx_model(model, {}, opset_of(step))
    return file is not None and not onnx_objection(proto_of(file))


def suitable_imports(model: Model) -> list[PassSpec]:
    return [step for step in IMPORT_STEPS if importable(model, step)]


def file_of(model: Model, sources: Sequence[Array], step: PassSpec) -> OnnxFile:
    """Return the file of an importable model; it holds the values of the constants."""
    values = enumerate(zip(sources, model.sources, strict=True))
    file = onnx_model(model, {n: value for n, (value, one) in values if one.kind == "constant"}, opset_of(step))
    assert file is not None, "ONNX has no words for this model"
    return file


def import_of(file: OnnxFile) -> Callable[[], Any]:
    """Return what has TVM import a file, for inference; that raises what TVM does."""
    proto, decompose = proto_of(file), tvm_api.part("relax").transform.DecomposeOpsForInference()

    def take() -> Any:
        # It prints what it fails on, and a child need not have where to.
        with redirect_stdout(StringIO()):
            return decompose(imported_module(proto))

    return take


def operators_of_file(file: OnnxFile) -> str:
    """Return the names of the operators in a file, each once, but for those that change nothing."""
    names = dict.fromkeys(node.operator for node in file.nodes if node.operator != "Identity")
    return "+".join(names) or "Identity"


def calls_by_themselves(model: Model, sources: Sequence[Array]) -> Iterator[tuple[Model, list[Array]]]:
    """Yield each call as a model of its own, with the values that come in; what is constant is so there too."""
    tensors, kinds = [value for value, _, _ in tried(model, ROWS, sources)[0]], model.types()
    for vertex in model.vertices:
        taken = list(dict.fromkeys(vertex.inputs))
        origins = tuple(model.sources[n] if n < len(model.sources) else Origin(kinds[n]) for n in taken)
        call = msgspec.structs.replace(vertex, inputs=tuple(map(taken.index, vertex.inputs)))
        made = tuple(range(len(taken), len(taken) + len(vertex.outputs)))
        yield Model(origins, (call,), made), [tensors[n].astype(numpy_dtype(kinds[n].dtype)) for n in taken]
