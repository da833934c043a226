"""Models as modules of PyTorch, in source, and as TVM imports the programs that PyTorch exports of them. It needs the
extra `torch`.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tzerlike.graph.exchange.torch.rows import TORCH_FORMS
from tzerlike.graph.exchange.torch.words import TORCH_DTYPES, TORCH_FLOATS, torch_dtype
from tzerlike.graph.exchange.writing import WrittenCall
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType
from tzerlike.systems import tvm_api

_MODULE = """\
class Model(torch.nn.Module):
{held}    def forward({taken}):
{statements}        return {given}

args = ({zeros})
program = torch.export.export(Model().eval(), args)
"""

_HELD = """\
    def __init__(self):
        super().__init__()
{lines}
"""


@dataclass(frozen=True)
class TorchModule:
    """What comes in by name, the statements of `forward` and the names that it returns, and constants by name."""

    inputs: tuple[tuple[str, TensorType], ...]
    statements: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]

    def source(self, constants: Mapping[str, str]) -> str:
        """Return statements that define `program`; `constants` has source of the values, np and torch are in scope.

        Constants that are floats are parameters, others are buffers.
        """
        lines = "".join(_constant(name, value, constants[name]) for name, value in self.constants.items())
        return _MODULE.format(
            held=_HELD.format(lines=textwrap.indent(lines, " " * 8)) if lines else "",
            taken=", ".join(("self", *(name for name, _ in self.inputs))),
            statements="".join(f"        {line}\n" for line in self.statements),
            given=", ".join(self.outputs),
            zeros=", ".join(_zeros(kind) for _, kind in self.inputs) + "," * (len(self.inputs) == 1),
        )


def _constant(name: str, value: Array, source: str) -> str:
    tensor = f"torch.from_numpy({source})"
    if str(value.dtype) in TORCH_FLOATS:
        return f"self.{name} = torch.nn.Parameter({tensor})\n"
    return f'self.register_buffer("{name}", {tensor})\n'


def _zeros(kind: TensorType) -> str:
    return f"torch.zeros({tuple(kind.shape)!r}, dtype={torch_dtype(kind.dtype)})"


def torch_module(model: Model, constants: Mapping[int, Array], first: int = 0) -> TorchModule | None:
    """Return the model as a module with inputs x0, x1, ..., and as many outputs as it has.

    None where a call cannot be said. `constants` are the sources that the module is to hold, by number. Where a call
    has several forms, that at the place `first` is tried first, and then those behind it, in a ring.
    """
    kinds = model.types()
    if any(kind.dtype not in TORCH_DTYPES for kind in kinds):
        return None
    names = [f"self.x{n}" if n in constants else f"x{n}" for n in range(len(kinds))]
    statements = []
    for made, vertex in model.first_outputs():
        inputs, outputs = (tuple(names[one] for one in vertex.inputs), tuple(kinds[one] for one in vertex.inputs))
        call = WrittenCall(inputs, outputs, vertex.outputs)
        forms = TORCH_FORMS.get(vertex.row, ())
        start = first % len(forms) if forms else 0
        tried = (form(call, **vertex.attributes) for form in (*forms[start:], *forms[:start]))
        found = next((one for one in tried if one is not None), None)
        if found is None:
            return None
        statements.append(f"{', '.join(names[made : made + len(vertex.outputs)])} = {found}")
    coming = tuple((names[n], one.type) for n, one in enumerate(model.sources) if n not in constants)
    held = {f"x{n}": value for n, value in constants.items()}
    return TorchModule(coming, tuple(statements), tuple(names[one] for one in model.outputs), held)


def torch() -> Any:
    """Return PyTorch with one thread: a process with others is not forked well."""
    found = import_module("torch")
    found.set_num_threads(1)
    return found


def exported_program(module: TorchModule) -> Any:
    """Return what PyTorch exports of a module; its own exceptions."""
    scope = {"torch": torch(), "np": np, "values": {name: value.copy() for name, value in module.constants.items()}}
    with _quietly():
        exec(module.source({name: f'values["{name}"]' for name in module.constants}), scope)
    return scope["program"]


def decomposed_program(program: Any) -> Any:
    """Return a program as TVM has PyTorch decompose it before it imports it, unless it is told not to."""
    with _quietly():
        return program.run_decompositions()


def module_of_program(program: Any) -> Any:
    """Return the Relax module that TVM makes of a program as it is; its own exceptions."""
    importer = tvm_api.part("relax.frontend.torch")
    return importer.from_exported_program(program, run_ep_decomposition=False)


def torch_results(program: Any, inputs: Sequence[Array]) -> list[Array]:
    """Return what PyTorch computes of a program; its own exceptions."""
    found = torch()
    with found.no_grad(), _quietly():
        outputs = program.module()(*(found.from_numpy(np.array(one)) for one in inputs))
    return [one.detach().numpy().copy() for one in ([outputs] if hasattr(outputs, "numpy") else outputs)]


def operators_of(program: Any) -> list[str]:
    """Return PyTorch's names of the operators in a program, such as aten.softmax, without their overloads."""
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    return [".".join(name.split(".")[:2]) for name in targets if name.startswith("aten.")]


def list_operators_once() -> None:
    """Have PyTorch look for operators that are implemented in terms of others now, and not whenever it decomposes a
    program: that takes a tenth of a second, and finds no more where nobody adds any."""
    utils: Any = import_module("torch._export.utils")
    if hasattr(utils, "_materialize_cpp_cia_ops"):
        utils._materialize_cpp_cia_ops()
        utils._materialize_cpp_cia_ops = lambda: None


def _quietly() -> warnings.catch_warnings[None]:
    return warnings.catch_warnings(action="ignore")
