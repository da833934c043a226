"""Models that TVM imports from files: which steps of a sequence suit them, the files, and what comes of those."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from random import Random
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
from tzerlike.graph.steps import IMPORT_STEPS, import_step, opset_and_manner
from tzerlike.graph.values import numpy_dtype
from tzerlike.systems import tvm_api

IMPORTS_ORACLE = "model-imports"

_UNSAID = "bfloat16"
"""NumPy has no such dtype, so neither have the arrays that a file is made from."""

_HELPERS = frozenset({"Identity", "Cast", "Transpose", "Reshape", "Shape", "Squeeze", "Unsqueeze"})
"""Operators that bring what others take or give into form."""


class Unimportable(Exception):
    """ONNX has no words for a model in this opset, or its checker refuses the file: there is nothing to import."""


def require_onnx(what: str) -> None:
    """UserError that says what needs onnx, where that is not installed."""
    if importlib.util.find_spec("onnx") is None:
        raise UserError(f"{what} needs onnx; install it with: pip install 'tzerlike[onnx]'")


def require_importer(passes: Sequence[PassSpec]) -> None:
    """UserError where onnx is not installed, and a sequence begins with an import."""
    step = import_step(passes)
    if step is not None:
        require_onnx(f"case.passes: {step}")


def suits(model: Model, step: PassSpec) -> bool:
    """Whether a model can be written for an import, its constants being inputs."""
    inputs = msgspec.structs.replace(
        model, sources=tuple(msgspec.structs.replace(one, kind="input") for one in model.sources)
    )
    try:
        checked_proto(file_of(inputs, (), step))
    except Unimportable:
        return False
    return True


def suitable_import(model: Model, rng: Random) -> PassSpec | None:
    """Draw a step that suits a model; None where no step does."""
    return next((step for step in rng.sample(IMPORT_STEPS, len(IMPORT_STEPS)) if suits(model, step)), None)


def file_of(model: Model, sources: Sequence[Array], step: PassSpec) -> OnnxFile:
    """Return the file of a model; it holds the values of the constants. Unimportable where there are no words for it.

    Extents that vary, functions and bfloat16 are not written.
    """
    opset, manner = opset_and_manner(step)
    plain = not model.disrupted and not model.variables and not any(vertex.within for vertex in model.vertices)
    constants = {n: sources[n] for n, one in enumerate(model.sources) if one.kind == "constant"}
    written = plain and all(kind.dtype != _UNSAID for kind in model.types())
    file = onnx_model(model, constants, opset, manner) if written else None
    if file is None:
        raise Unimportable(f"ONNX has no words for the model in opset {opset}")
    return file


def checked_proto(file: OnnxFile) -> Any:
    """Return a file as ONNX's ModelProto; Unimportable where ONNX's checker refuses it."""
    proto = proto_of(file)
    if said := onnx_objection(proto):
        raise Unimportable(f"onnx.checker: {said}")
    return proto


def importer_of(file: OnnxFile) -> Callable[[], Any]:
    """Return what has TVM import a file, for inference, and raises what TVM does; Unimportable as checked_proto."""
    proto, decompose = checked_proto(file), tvm_api.part("relax").transform.DecomposeOpsForInference()

    def take() -> Any:
        # It prints what it fails on, and a child need not have where to.
        with redirect_stdout(StringIO()):
            return decompose(imported_module(proto))

    return take


def operators_of_file(file: OnnxFile) -> str:
    """Return the names of the operators in a file, each once; of helpers where there are no others."""
    names = dict.fromkeys(node.operator for node in file.nodes)
    return "+".join([name for name in names if name not in _HELPERS] or names)


def calls_by_themselves(model: Model, sources: Sequence[Array]) -> Iterator[tuple[Model, list[Array]]]:
    """Yield each call as a model of its own, with the values that come in; what is constant is so there too."""
    tensors, kinds = [value for value, _, _ in tried(model, ROWS, sources)[0]], model.types()
    for vertex in model.vertices:
        taken = list(dict.fromkeys(vertex.inputs))
        origins = tuple(model.sources[n] if n < len(model.sources) else Origin(kinds[n]) for n in taken)
        call = msgspec.structs.replace(vertex, inputs=tuple(map(taken.index, vertex.inputs)))
        made = tuple(range(len(taken), len(taken) + len(vertex.outputs)))
        yield Model(origins, (call,), made), [tensors[n].astype(numpy_dtype(kinds[n].dtype)) for n in taken]
