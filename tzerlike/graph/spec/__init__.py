"""Operators as data: one row for each, or one for each of its forms, from ONNX's and NumPy's definitions."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.spec import (
    creation,
    elementwise,
    forms,
    gradient,
    image,
    indexing,
    kernels,
    linear_algebra,
    losses,
    manipulation,
    nn,
    quantization,
    reduction,
)
from tzerlike.graph.spec.language import Specification

_KINDS = (
    elementwise,
    reduction,
    manipulation,
    indexing,
    creation,
    linear_algebra,
    nn,
    losses,
    image,
    quantization,
    gradient,
)

OPERATOR_ROWS: Mapping[str, Specification] = {row.name: row for kind in _KINDS for row in kind.ROWS}
"""The rows of operators by name."""

ROWS: Mapping[str, Specification] = {**OPERATOR_ROWS, **{row.name: row for row in (*forms.ROWS, *kernels.ROWS)}}
"""All rows by name: operators, functions of tensor IR, and what else models have."""
