"""Models through PyTorch: the module, the program that is exported, and what TVM imports of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

from tzerlike.graph.exchange.torch.module import (
    TorchModule,
    decomposed_program,
    exported_program,
    list_operators_once,
    module_of_program,
    operators_of,
    torch_module,
    torch_results,
)
from tzerlike.graph.importers import AS_EXPORTED, DECOMPOSED, TORCH, Manner
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.harnesses.graph.written import Unimportable, WrittenModel, telling_operators

_HELPERS = frozenset({
    "aten.alias", "aten._to_copy", "aten.clone", "aten.detach", "aten.expand", "aten.pad", "aten.permute",
    "aten.reshape", "aten.select", "aten.slice", "aten.squeeze", "aten.t", "aten.to", "aten.transpose",
    "aten.unsqueeze", "aten.view",
})  # fmt: skip
"""Operators that bring what others take or give into form."""


@dataclass(frozen=True)
class TorchWritten(WrittenModel):
    module: TorchModule
    decomposed: bool

    @cached_property
    def _exported(self) -> Any:
        try:
            return exported_program(self.module)
        except Exception as error:
            raise Unimportable(f"torch.export: {type(error).__name__}: {error}") from error

    @cached_property
    def _program(self) -> Any:
        """What TVM is given, decomposed beforehand, so that what PyTorch raises is known to be its own."""
        exported = self._exported
        try:
            return decomposed_program(exported) if self.decomposed else exported
        except Exception as error:
            raise Unimportable(f"run_decompositions: {type(error).__name__}: {error}") from error

    def check(self) -> None:
        """An export takes too long."""

    def importer(self) -> Callable[[], Any]:
        program = self._program

        def take() -> Any:
            with redirect_stdout(StringIO()):
                return module_of_program(program)

        return take

    def operators(self) -> str:
        return telling_operators(operators_of(self._exported), _HELPERS)

    def source(self, constants: Mapping[str, str], *, alone: bool) -> str:
        arguments = "program" if self.decomposed else f"program, {TORCH.options[AS_EXPORTED]}"
        return f"{self.module.source(constants)}Module = {TORCH.function}({arguments})"

    def computed(self, inputs: Sequence[Array]) -> list[Array]:
        try:
            return torch_results(self._program, inputs)
        except Exception as error:
            raise Unimportable(f"torch: {type(error).__name__}: {error}") from error


def through_torch(model: Model, constants: Mapping[int, Array], manner: Manner) -> TorchWritten | None:
    """Return a model as a module of PyTorch; None without words for it."""
    module = torch_module(model, constants, manner.form)
    return None if module is None else TorchWritten(module, manner.way == DECOMPOSED)


def load_torch() -> None:
    """Import a small model, where PyTorch is there, so that no child has to load it, and what it loads when used."""
    if importlib.util.find_spec(TORCH.package) is None:
        return
    kind = TensorType((2, 2), "float32")
    calls = (Vertex("add", (0, 1), {}, (kind,)), Vertex("nn.softmax", (2,), {"axis": 1}, (kind,)))
    small = through_torch(Model((Origin(kind), Origin(kind)), calls, (3,)), {}, Manner(DECOMPOSED, 0))
    assert small is not None, "PyTorch has words for these"
    small.importer()()
    list_operators_once()
