"""Messages in which TVM says that it does not support a model: these are not errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from tzerlike.graph.importers import importer_named
from tzerlike.graph.model import Model
from tzerlike.graph.spec import OPERATOR_ROWS, ROWS
from tzerlike.graph.symbols import has_inferred_shapes
from tzerlike.passes.label import Label
from tzerlike.systems import tvm_api

_NO_CODE = r"CodeGenVM cannot emit this Relax operator directly"

WORDS: Mapping[str, str] = MappingProxyType(
    {
        r"only support \w+ and \w+ for now": "normalisations of a dtype that is yet to come",
        r"only support (NCHW|OIHW)": "gradients of windows with channels last",
        r"pattern name for a composite function should start with a compiler name": "patterns that are no compiler's",
        r"expected 32 or 64 bits but got": "remainders of half precision on a GPU",
        r"Data type \S+ not supported for \w+ op": "tests for infinities and NaN in a dtype that has them",
        r"Attribute FPrimalGradient has not been registered": "gradients of what has no rule for them",
        r"without registering corresponding gradient function": "gradients of functions of tensor IR",
        r"relax\.op\.grad\.(start|end)_checkpoint should be a Var": "checkpoints of constants",
        r"only support one dataflow block": "gradients of models with branches",
        r"A cyclic dependency detected": "patterns that match what comes before and after something else",
        r"There should be a compute block": "rewriting the layouts of what nobody has scheduled",
        r"Only call_tir and call_tir_inplace are supported in primitive function": "fusion before lowering",
        r"R\.grad\.(avg|max)_pool2d_backward\(.*\bdilation=\[(?!1, 1\])": "gradients of windows with gaps, as TVM logs",
    }
)
"""Regular expressions that occur in messages, and what is not supported."""

WORDS_ON_EXTENTS: Mapping[str, str] = MappingProxyType(
    {
        r"(?i)(must be|expect\w*)\b.{0,40}\bconstant": "an extent that has to be a number",
        r"Can only handle constant size stack allocation for now": "memory of a GPU's thread of an extent that varies",
        r"only supports Tensor that has ShapeExpr shape": "no code for shapes that are not inferred",
        _NO_CODE: "no code for any extents",
    }
)
"""The same for models whose extents vary."""

WORDS_ON_IMPORTS: Mapping[str, str] = MappingProxyType(
    {
        r"(?i:\bnot (yet )?(supported|implemented)\b)": "an operator, or what it takes, that is not imported",
        r"\bUnsupported (function type|transposed convolution)": "an operator that PyTorch has and the importer lacks",
        r"^(OpNotImplemented|OpAttributeUnImplemented|NotImplementedError)\b": "the same, by its class",
    }
)
"""The same for what an importer says."""

_ON_IMPORTS = re.compile("|".join(WORDS_ON_IMPORTS))
_ANY, _ON_EXTENTS = re.compile("|".join(WORDS)), [re.compile(words) for words in WORDS_ON_EXTENTS]


_OFFENDING = re.compile(_NO_CODE + r"[\s\S]*Offending call:\s*R\.([\w.]+)\(")
_LEGALIZATION = "FLegalize"


def label_of(message: str, model: Model, culprit: str = "") -> Label:
    """Return what an exception of TVM's on a well-typed model is; `culprit` is what findings call the step."""
    if importer_named(culprit) and _ON_IMPORTS.search(message):
        return Label.DOCUMENTED_REFUSAL
    varies = bool(model.variables) or any(vertex.row == "match_cast" for vertex in model.vertices)
    of_extents = varies and any(words.search(message) for words in _ON_EXTENTS)
    found = _OFFENDING.search(message)
    of_call = found is not None and not _has_lowering(found[1])
    said = _ANY.search(message) or of_extents or of_call or not has_inferred_shapes(model, ROWS)
    never = any(
        not _has_lowering(ROWS[vertex.row].operator) for vertex in model.vertices if vertex.row in OPERATOR_ROWS
    )
    return Label.DOCUMENTED_REFUSAL if said or never else Label.INTERNAL_ERROR


_DISPATCHED = frozenset({"argsort", "cumprod", "cumsum", "sort", "topk"})
"""Operators that DispatchSortScan lowers."""


@cache
def _has_lowering(operator: str) -> bool:
    """Whether TVM has a lowering for an operator, for some inputs at least: no build ends well of one without."""
    return operator in _DISPATCHED or tvm_api.has_attribute(f"relax.{operator}", _LEGALIZATION)
