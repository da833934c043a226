"""Functions of tensor IR that a model calls by `call_tir`, in forms that no operator of Relax is lowered to.

Passes that fuse such functions tell by the look of one whether it works element by element, moves elements, or reduces
(src/relax/analysis/tir_op_pattern_kind.cc). So each of these is close to something that they know, and is not that, or
is that in other words. `tzerlike.graph.kernels` has the functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import KERNEL
from tzerlike.graph.spec.axes import Axis, Order
from tzerlike.graph.spec.domains import Between, OneOf
from tzerlike.graph.spec.language import ALL_DTYPES, CLOSE, EXACT, Rounding, Specification, dtypes, tensor
from tzerlike.graph.spec.shapes import Factors, Shapes
from tzerlike.graph.spec.terms import integers, made, shape, spliced, symbol

DTYPE, S, R, LOOP_ORDER, COLUMNS = symbol("T"), shape("S"), shape("R"), shape("order"), symbol("columns")
axis, step, m, n, k = integers("axis step m n k")

_ANY = dtypes(*ALL_DTYPES)
_NUMBERS = dtypes("float32", "float64", "int32", "int64", "int8", "uint8")


def _mirrored_sum(x: Array, axis: int) -> Array:
    return np.asarray(x + np.flip(x, axis))


def _neighbours(x: Array, axis: int) -> Array:
    first = np.take(x, [0], axis)
    return np.asarray(x + np.take(np.concatenate([first, x], axis), range(x.shape[axis]), axis))


def _strided(x: Array, step: int) -> Array:
    return np.asarray(x[np.arange(x.shape[0]) * step % x.shape[0]])


def _halves(x: Array, y: Array) -> Array:
    return np.concatenate([x[: len(x) // 2], y[len(x) // 2 :]])


def _reshaped(x: Array, shape: tuple[int, ...], columns: bool) -> Array:
    return np.ravel(x, "F" if columns else "C").reshape(shape)


def _counted(shape: tuple[int, ...], dtype: str, step: int) -> Array:
    """Along the first axis 0, step, 2 * step, ..."""
    along = np.arange(shape[0]) * step
    return np.broadcast_to(along.reshape(-1, *(1 for _ in shape[1:])), shape)


def _sum_and_difference(x: Array, y: Array) -> tuple[Array, Array]:
    return x + y, x - y


def _row(x: Array, y: Array) -> Array:
    return np.asarray(x * y - y[0])


def _off_the_row(step: float, x: Array, y: Array) -> Array:
    """Off by roundings of what cancels out."""
    return np.asarray(2 * step * (np.abs(x * y) + np.abs(y[0])))


def _first(x: Array) -> Array:
    return np.broadcast_to(x[:1], x.shape)


def _twice(x: Array, order: tuple[int, ...]) -> Array:
    return x + x


_SUM = Rounding(ulps=2, terms=S.size)


def _kernel(name: str, meaning: Any, rounding: Rounding = EXACT, **parts: Any) -> Specification:
    """One that takes a tensor of one axis at least, and gives one of its type, but for what is said."""
    given = {"inputs": (tensor(DTYPE, S),), "outputs": (tensor(DTYPE, S),), **parts}
    where = {DTYPE: _NUMBERS, S: Shapes(1), **parts.get("where", {})}
    return Specification(name=f"{KERNEL}:{name}", meaning=meaning, rounding=rounding, **{**given, "where": where})


_PAIR = (tensor(DTYPE, S), tensor(DTYPE, S))
_ALONG: dict[str, Any] = {"attributes": {"axis": axis}, "where": {axis: Axis(S.rank)}}
_REDUCED: dict[str, Any] = {**_ALONG, "outputs": (tensor(DTYPE, made("without_axes", S, spliced(axis))),)}

ROWS: tuple[Specification, ...] = (
    _kernel("reordered", _twice, CLOSE, attributes={"order": LOOP_ORDER}, where={LOOP_ORDER: Order(S.rank)}),
    _kernel("mirrored_sum", _mirrored_sum, CLOSE, **_ALONG),
    _kernel("neighbours", _neighbours, CLOSE, **_ALONG),
    _kernel("running_sum", lambda x: np.cumsum(x, 0, x.dtype), _SUM),
    _kernel("stored_transposed", np.transpose, where={DTYPE: _ANY}, outputs=(tensor(DTYPE, made("reversed_list", S)),)),
    _kernel("two_pass_sum", np.sum, _SUM, **_REDUCED),
    _kernel("outermost_max", np.max, **_REDUCED),
    _kernel("sum_and_difference", _sum_and_difference, CLOSE, inputs=_PAIR, outputs=_PAIR),
    _kernel("strided", _strided, attributes={"step": step}, where={DTYPE: _ANY, step: Between(1, 7)}),
    _kernel("row", _row, replace(CLOSE, deviation=_off_the_row), inputs=(tensor(DTYPE, S), tensor(DTYPE, S[-1]))),
    _kernel("staged", lambda x: np.flip(x + x, 0), CLOSE),
    _kernel("halves", _halves, inputs=_PAIR, where={DTYPE: _ANY}),
    _kernel("scattered", lambda x: np.flip(x, 0), where={DTYPE: _ANY}),
    _kernel("tiled", lambda x: x + x, CLOSE),
    _kernel("loops_inside", lambda x: x + x, CLOSE),
    _kernel("first", _first, where={DTYPE: _ANY}),
    _kernel(
        "reshaped",
        _reshaped,
        attributes={"shape": R, "columns": COLUMNS},
        where={DTYPE: _ANY, R: Factors(S.size), COLUMNS: OneOf(False, True)},
        outputs=(tensor(DTYPE, R),),
    ),
    _kernel(
        "counted",
        _counted,
        inputs=(),
        attributes={"shape": S, "dtype": DTYPE, "step": step},
        where={step: Between(1, 7)},
    ),
    Specification(
        name=f"{KERNEL}:rows_product",
        meaning=lambda x, y: x @ y.T,
        rounding=Rounding(ulps=2, terms=k),
        where={DTYPE: _NUMBERS},
        inputs=(tensor(DTYPE, m, k), tensor(DTYPE, n, k)),
        outputs=(tensor(DTYPE, m, n),),
    ),
)
