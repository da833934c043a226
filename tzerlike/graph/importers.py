"""TVM's importers as sequences, findings and reports name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType

from tzerlike.core.case import PassSpec


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is written and imported: `way` is what an importer can be asked, `form` which form of a call comes
    first."""

    way: int
    form: int


@dataclass(frozen=True, slots=True)
class Importer:
    """`name` is what findings call an import, in any manner: a bug is the same in all.

    A model is written with `package`, which an extra of that name brings and `written_with` imports, and imported by
    `function` of TVM's `module`; `accepted` says who takes it for valid, and `label` is that of issues. `bare`: an only
    output comes without a tuple around it. The plainest of its `manners` have the last way. `options` are what
    `function` is asked for in a way, where that is not its default.
    """

    name: str
    package: str
    written_with: str
    module: str
    function: str
    accepted: str
    label: str
    bare: bool
    manners: Mapping[PassSpec, Manner]
    options: Mapping[int, str] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[PassSpec, ...]:
        return tuple(self.manners)

    @property
    def imports(self) -> tuple[str, ...]:
        """Lines that a script takes which writes a model and has it imported."""
        return self.written_with, f"from {self.module} import {self.function}"

    def plainest(self, step: PassSpec) -> PassSpec:
        """Return the step with the last way and the same form."""
        form = self.manners[step].form
        return [one for one, manner in self.manners.items() if manner.form == form][-1]


def _manners(name: str, ways: Sequence[int], forms: int) -> Mapping[PassSpec, Manner]:
    return MappingProxyType(
        {PassSpec(f"{name}{way}_{form}"): Manner(way, form) for form, way in product(range(forms), ways)}
    )


OPSETS = (11, 13, 17, 18, 21, 23)
"""The ways of ONNX: the opsets in which operators changed most."""

AS_EXPORTED, DECOMPOSED = 0, 1
"""The ways of PyTorch: the program as it is, or with operators in terms of fewer ones, which is the default."""

ONNX = Importer(
    name="relax.FromOnnx",
    package="onnx",
    written_with="from onnx import TensorProto, helper, numpy_helper",
    module="tvm.relax.frontend.onnx",
    function="from_onnx",
    accepted="`onnx.checker.check_model` accepts it",
    label="onnx",
    bare=True,
    manners=_manners("relax.FromOnnx", OPSETS, 3),
)
TORCH = Importer(
    name="relax.FromTorch",
    package="torch",
    written_with="import torch",
    module="tvm.relax.frontend.torch",
    function="from_exported_program",
    accepted="`torch.export.export` accepts it",
    label="pytorch",
    bare=False,
    manners=_manners("relax.FromTorch", (AS_EXPORTED, DECOMPOSED), 3),
    options=MappingProxyType({AS_EXPORTED: "run_ep_decomposition=False"}),
)

IMPORTERS = (ONNX, TORCH)


def importer_named(name: str) -> Importer | None:
    """Return the importer that findings call so."""
    return next((one for one in IMPORTERS if one.name == name), None)


def importer_in(passes: Sequence[PassSpec]) -> Importer | None:
    """Return the importer that a sequence begins with, where it does."""
    return next((one for one in IMPORTERS if passes and passes[0] in one.manners), None)
