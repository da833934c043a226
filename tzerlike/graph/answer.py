"""The result of an operator call, and how far a build may be from it.

Floats are computed in float64, whole numbers in their own dtype, where they wrap. The bound counts roundings: a sum of
n terms is off by at most n ulps of the sum of absolute values, which is the row's meaning on absolute inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import TensorType
from tzerlike.graph.spec.language import Rounding, Specification
from tzerlike.graph.spec.terms import Bindings, Integer, compiled
from tzerlike.graph.values import numpy_dtype


def answers(
    row: Specification,
    known: Bindings,
    inputs: Sequence[Array],
    attributes: Mapping[str, Any],
    types: Sequence[TensorType],
    least: float = 0.0,
) -> list[tuple[Array, Array]]:
    """Return each output in float64 or its whole dtype, with how far off each element may be.

    Roundings are as coarse as `least` at least, which is HALF where float16 may take the place of other floats.
    """
    wide = [_widened(one) for one in inputs]
    found = _outputs(row.meaning(*wide, **attributes))
    rounding = row.rounding
    beside = 0.0
    if rounding.deviation is not None and "float" in types[0].dtype:
        beside = rounding.deviation(max(least, _unit([*inputs], types[0])), *wide, **attributes)
    sums = _outputs(row.meaning(*map(np.abs, wide), **attributes)) if rounding.terms else found
    return [
        (_fitted(value, kind), _bound(rounding, known, value, total, [*inputs], kind, least) + beside)
        for value, total, kind in zip(found, sums, types, strict=True)
    ]


HALF = 2.0**-10
"""The unit of roundings of float16."""


def through_half(value: Array) -> Array:
    """How far off a value may be that is a float16 for a while; infinite where that is too small for it."""
    size = np.abs(value.astype(np.float64))
    return np.where(size > float(np.finfo(np.float16).max), np.inf, HALF * size + 2.0**-24)


def differs(answer: Array, bound: Array, built: Array) -> bool:
    """Whether what a build computed is beyond the bound somewhere."""
    if answer.shape != built.shape:
        return True
    if answer.dtype.kind != "f":
        return bool(np.any(answer != built))
    wide = built.astype(np.float64)
    near = (np.abs(wide - answer) <= bound) | np.isinf(bound)
    return not bool(np.all(near | (wide == answer) | (np.isnan(wide) & np.isnan(answer))))


_finfo: Callable[[Any], Any] = ml_dtypes.finfo


def _outputs(found: Any) -> list[Array]:
    return [np.asarray(one) for one in found] if isinstance(found, tuple) else [np.asarray(found)]


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


def _widened(x: Array) -> Array:
    return x.astype(np.float64) if _is_float(x.dtype) else x


def _fitted(value: Array, kind: TensorType) -> Array:
    """The value as a float64 that the dtype can hold nearly, or in the whole dtype."""
    dtype = numpy_dtype(kind.dtype)
    return value.astype(dtype).astype(np.float64) if _is_float(dtype) else value.astype(dtype)


def _unit(inputs: Sequence[Array], kind: TensorType) -> float:
    """The distance of 1 to the next number in the coarsest dtype of a call."""
    widths = [x.dtype for x in inputs] + [numpy_dtype(kind.dtype)]
    return float(max(_finfo(dtype).eps for dtype in widths if _is_float(dtype)))


def _bound(
    rounding: Rounding,
    known: Bindings,
    value: Array,
    total: Array,
    inputs: Sequence[Array],
    kind: TensorType,
    coarse: float,
) -> Array:
    """One ulp for the last rounding, and what the row says."""
    if not _is_float(numpy_dtype(kind.dtype)):
        return np.zeros(value.shape)
    epsilon = max(coarse, _unit(inputs, kind))
    terms = compiled(rounding.terms.source)(known) if isinstance(rounding.terms, Integer) else rounding.terms
    size = np.maximum(np.abs(value.astype(np.float64)), 1.0 if rounding.absolute else 0.0)
    least = _finfo(numpy_dtype(kind.dtype)).tiny
    exact = 0.0 if rounding.ulps == 0 and not terms else least
    sums = np.abs(total.astype(np.float64))
    # Whatever order a sum is taken in, it does not overflow where the sum of absolute values does not.
    most = float(_finfo(np.float16 if coarse else numpy_dtype(kind.dtype)).max)
    sums = np.where(sums > most, np.inf, sums) if terms or coarse else sums
    own = epsilon * ((rounding.ulps + (1 if exact else 0)) * size + terms * sums) + exact
    return np.asarray(own + through_half(value) if coarse else own)
