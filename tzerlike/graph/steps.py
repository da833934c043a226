"""Steps of a sequence for a model that are no passes of Relax, and what findings call them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tzerlike.core.case import PassSpec
from tzerlike.core.results import GRADIENT_OF, IMPORT_OF

COMPILED = PassSpec("relax.CompiledMode")
"""The virtual machine runs machine code in place of bytecode."""

GRADIENT = PassSpec("relax.Gradient")
"""The first step of a sequence, where it has it: `main_adjoint` is made and run, which gives gradients too."""

OPSETS = (11, 13, 17, 18, 21, 23)
"""Those of ONNX in which operators changed most."""

_MANNERS = 3
"""In how many ways a file is written: no call has more forms."""

FROM_ONNX = "relax.FromOnnx"
"""What findings call an import: a bug is the same in all opsets."""

_WRITTEN = {
    PassSpec(f"{FROM_ONNX}{opset}_{manner}"): (opset, manner) for manner, opset in product(range(_MANNERS), OPSETS)
}

IMPORT_STEPS = tuple(_WRITTEN)
"""First steps of a sequence: the model is written as ONNX, and what TVM imports of the file goes on."""


def newest_of(step: PassSpec) -> PassSpec:
    """Return the import of the newest opset, in the same manner."""
    return PassSpec(f"{FROM_ONNX}{OPSETS[-1]}_{_WRITTEN[step][1]}")


def opset_and_manner(step: PassSpec) -> tuple[int, int]:
    """Return the opset of an import, and which form of each call comes first."""
    return _WRITTEN[step]


def leading(passes: Sequence[PassSpec]) -> tuple[PassSpec, ...]:
    """Return the step that makes the program of a sequence, gradients or an import: all its builds begin with that."""
    return tuple(passes[:1]) if passes and passes[0] in (GRADIENT, *IMPORT_STEPS) else ()


def import_step(passes: Sequence[PassSpec]) -> PassSpec | None:
    """Return the import that a sequence begins with, where it does."""
    return next((step for step in passes[:1] if step in IMPORT_STEPS), None)


def noted_as(step: PassSpec) -> str:
    """Return what findings call a step."""
    return FROM_ONNX if step in IMPORT_STEPS else step.name


def blames_gradients(guilty: str) -> bool:
    """Whether the one who is guilty is a gradient, or the pass that makes them."""
    return guilty.startswith(GRADIENT_OF) or guilty == GRADIENT.name


def blames_import(guilty: str) -> bool:
    """Whether the one who is guilty is an importer."""
    return guilty.startswith(IMPORT_OF) or guilty == FROM_ONNX
