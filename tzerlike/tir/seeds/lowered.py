"""Seeds from Relax: operators and small models, legalized to TIR, fused, and scheduled.

Every PrimFunc of a lowered module is a seed. Legalisation uses 64-bit shapes and other definitions than TOPI
called directly; fusion gives bodies of several blocks with intermediate buffers; schedules give tiled,
vectorised, parallel and (for CUDA) thread-bound loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import part, tirx, tvm
from tzerlike.tir.seeds import lowered_models, lowered_ops, schedules
from tzerlike.tir.seeds.generate import Recipe
from tzerlike.tir.seeds.operators import Operator


def recipes() -> Iterator[Recipe]:
    """Yield the recipes: each operator legalised, each model also fused, and operators under schedules."""
    relax = part("relax")
    for operator in lowered_ops.lowered_operators(relax):
        yield Recipe(operator.name, partial(_legalised, partial(module_of_operator, operator)))
    for model in lowered_models.models(relax):
        yield Recipe(model.name, partial(_fused, model))
    yield from schedules.recipes()


def module_of_operator(operator: Operator) -> Any:
    """Return the Relax module whose function `main` applies `operator` to parameters of its types."""
    relax = part("relax")
    builder = relax.BlockBuilder()
    symbols: dict[str, Any] = {}

    def dimension(d: int | str) -> Any:
        return d if isinstance(d, int) else symbols.setdefault(d, tirx.Var(d, "int64"))

    params = [
        relax.Var(f"p{index}", relax.TensorType([dimension(d) for d in tensor.shape], tensor.dtype))
        for index, tensor in enumerate(operator.inputs)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(operator.apply(*params)))
        builder.emit_func_output(result)
    return builder.get()


def functions_of(module: Any) -> dict[str, Any]:
    """Return the PrimFuncs of a lowered module by name, without the marks of the fusion passes."""
    functions = {name.name_hint: func for name, func in module.functions.items() if isinstance(func, tirx.PrimFunc)}
    return {
        name: func.without_attr("op_pattern") if "op_pattern" in (func.attrs or {}) else func
        for name, func in sorted(functions.items())
    }


def legalised(module: Any) -> Any:
    """Return a module with its Relax functions made of PrimFuncs; one that has none as it is."""
    if all(isinstance(func, tirx.PrimFunc) for func in module.functions.values()):
        return module
    return part("relax").transform.LegalizeOps()(module)


def _legalised(make: Callable[[], Any]) -> dict[str, Any]:
    return functions_of(part("relax").transform.LegalizeOps()(make()))


def _fused(model: Operator) -> dict[str, Any]:
    return fused(module_of_operator(model))


def fused(module: Any) -> dict[str, Any]:
    """Return the functions that a model is lowered to, several calls of it in one."""
    transform = part("relax").transform
    passes = tvm.transform.Sequential(
        [
            transform.DecomposeOpsForInference(),
            transform.LegalizeOps(),
            transform.AnnotateTIROpPattern(),
            transform.FoldConstant(),
            transform.FuseOps(),
            transform.FuseTIR(),
            transform.DeadCodeElimination(),
        ]
    )
    return functions_of(passes(module))
