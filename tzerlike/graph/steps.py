"""Steps of a sequence for a model that are no passes of Relax, and what findings call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tzerlike.core.case import PassSpec
from tzerlike.core.results import GRADIENT_OF, IMPORT_OF
from tzerlike.graph.importers import IMPORTERS, importer_in, importer_named

COMPILED = PassSpec("relax.CompiledMode")
"""The virtual machine runs machine code in place of bytecode."""

GRADIENT = PassSpec("relax.Gradient")
"""The first step of a sequence, where it has it: `main_adjoint` is made and run, which gives gradients too."""

IMPORT_STEPS = tuple(step for one in IMPORTERS for step in one.steps)
"""First steps of a sequence: the model is written for an importer, and what TVM imports goes on."""


RAISES, WRONG_SHAPE = "raises", "shape"
"""What is wrong with an operator's gradient that TVM fails on: it is refused by itself, or is of another shape."""


def leading(passes: Sequence[PassSpec]) -> tuple[PassSpec, ...]:
    """Return the step that makes the program of a sequence, gradients or an import: all its builds begin with that."""
    return tuple(passes[:1]) if passes and passes[0] in (GRADIENT, *IMPORT_STEPS) else ()


def noted_as(step: PassSpec) -> str:
    """Return what findings call a step."""
    importer = importer_in([step])
    return step.name if importer is None else importer.name


CALLED_IN_TVM: Mapping[str, str] = MappingProxyType(
    {
        "ConvertLayoutOfNothing": "ConvertLayout",
        "ConvertLayoutToChannelsLast": "ConvertLayout",
        "ConvertLayoutOfConvolutions": "ConvertLayout",
        "FuseOpsByPatterns": "FuseOpsByPattern",
        "FuseOpsByChains": "FuseOpsByPattern",
    }
)
"""Passes with arguments that have a name of our own in sequences and signatures, and TVM's."""

READ_BACK: Mapping[str, str] = MappingProxyType({"ThroughText": "TVMScript", "ThroughJson": "JSON"})
"""Steps that write a module and read it, and as what."""

_OWN_NAME = re.compile(rf"\b(?:{'|'.join(CALLED_IN_TVM)})\b")


def in_tvms_words(text: str) -> str:
    """Return a text with TVM's names of passes in the place of ours."""
    return _OWN_NAME.sub(lambda name: CALLED_IN_TVM[name[0]], text)


def blames_gradients(guilty: str) -> bool:
    """Whether the one who is guilty is a gradient, or the pass that makes them."""
    return guilty.startswith(GRADIENT_OF) or guilty == GRADIENT.name


def blames_import(guilty: str) -> bool:
    """Whether the one who is guilty is an importer."""
    return guilty.startswith(IMPORT_OF) or importer_named(guilty) is not None
