"""Operators as data: one row for each, or one for each of its forms, from ONNX's and NumPy's definitions."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.spec import elementwise, linear_algebra, manipulation, nn, reduction
from tzerlike.graph.spec.language import Specification

ROWS: Mapping[str, Specification] = {
    row.name: row for kind in (elementwise, reduction, manipulation, linear_algebra, nn) for row in kind.ROWS
}
"""All rows by name."""
