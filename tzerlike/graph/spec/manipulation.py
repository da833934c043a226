"""Operators that only move elements."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.meaning import manipulation as numpy_of
from tzerlike.graph.spec.axes import Axes, Axis, Cuts, NewAxes, Order
from tzerlike.graph.spec.domains import Between, Divisors, Each, Exactly, Such
from tzerlike.graph.spec.language import ALL_DTYPES, NUMBER_DTYPES, Rounding, Specification, dtypes, tensor
from tzerlike.graph.spec.shapes import BroadcastWith, Factors, Shapes, Wider
from tzerlike.graph.spec.terms import INDEX, INPUT_COUNT, OUT, changed, computed, each, integers, made, shape, symbol

DTYPE, S, R, AXES, AXIS_ORDER = symbol("T"), shape("S"), shape("R"), shape("axes"), shape("order")
axis, extent, index, k, m, n = integers("axis extent index k m n")
TIMES = shape("times")
ANY_DTYPE = dtypes(*ALL_DTYPES)

ROWS = (
    Specification(
        name="reshape",
        inputs=(tensor(DTYPE, S),),
        attributes={"shape": R},
        outputs=(tensor(DTYPE, R),),
        where={DTYPE: ANY_DTYPE, R: Factors(S.size)},
        backward={R: Exactly(OUT), S: Factors(OUT.size)},
        meaning=np.reshape,
    ),
    Specification(
        name="flatten",
        inputs=(tensor(DTYPE, S),),
        outputs=(tensor(DTYPE, S.size),),
        where={DTYPE: ANY_DTYPE},
        backward={S: Factors(OUT.size)},
        meaning=np.ravel,
    ),
    Specification(
        name="permute_dims",
        inputs=(tensor(DTYPE, S),),
        attributes={"axes": AXIS_ORDER},
        outputs=(tensor(DTYPE, made("permuted", S, AXIS_ORDER)),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), AXIS_ORDER: Order(S.rank)},
        backward={AXIS_ORDER: Order(OUT.rank), S: Exactly(made("unpermuted", OUT, AXIS_ORDER))},
        meaning=np.transpose,
    ),
    Specification(
        name="permute_dims:reverse",
        inputs=(tensor(DTYPE, S),),
        attributes={"axes": None},
        outputs=(tensor(DTYPE, made("reversed_list", S)),),
        where={DTYPE: ANY_DTYPE},
        backward={S: Exactly(made("reversed_list", OUT))},
        meaning=np.transpose,
    ),
    Specification(
        name="expand_dims",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": AXES},
        outputs=(tensor(DTYPE, made("inserted", S, AXES)),),
        where={DTYPE: ANY_DTYPE, AXES: NewAxes(S.rank)},
        meaning=np.expand_dims,
    ),
    Specification(
        name="squeeze",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": AXES},
        outputs=(tensor(DTYPE, made("without_axes", S, AXES)),),
        where={DTYPE: ANY_DTYPE, AXES: Such(Axes(S.rank, 0), AXES, made("extents_at", S, AXES).size.equals(1))},
        backward={AXES: NewAxes(OUT.rank), S: Exactly(made("inserted", OUT, AXES))},
        meaning=numpy_of.squeeze,
    ),
    Specification(
        name="squeeze:all",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": None},
        outputs=(tensor(DTYPE, made("without_ones", S)),),
        where={DTYPE: ANY_DTYPE},
        meaning=numpy_of.squeeze,
    ),
    Specification(
        name="broadcast_to",
        inputs=(tensor(DTYPE, S),),
        attributes={"shape": R},
        outputs=(tensor(DTYPE, R),),
        where={DTYPE: ANY_DTYPE, R: Wider(S)},
        backward={S: BroadcastWith(OUT, into=True), R: Exactly(OUT)},
        meaning=np.broadcast_to,
    ),
    Specification(
        name="collapse_sum_to",
        inputs=(tensor(DTYPE, S),),
        attributes={"shape": R},
        outputs=(tensor(DTYPE, R),),
        where={DTYPE: dtypes("float32", "float64", "int32"), R: BroadcastWith(S, into=True)},
        backward={R: Exactly(OUT), S: Wider(OUT)},
        meaning=numpy_of.collapse_sum_to,
        rounding=Rounding(ulps=2, terms=S.size),
    ),
    Specification(
        name="collapse_sum_like",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, R)),
        outputs=(tensor(DTYPE, R),),
        where={DTYPE: dtypes("float32", "float64", "int32"), R: BroadcastWith(S, into=True)},
        backward={R: Exactly(OUT), S: Wider(OUT)},
        meaning=numpy_of.collapse_sum_like,
        rounding=Rounding(ulps=2, terms=S.size),
    ),
    Specification(
        name="concat",
        inputs=(tensor(DTYPE, S),),
        repeated=tensor(DTYPE, *changed(S, axis, extent)),
        arity=Between(1, 4),
        attributes={"axis": axis},
        outputs=(tensor(DTYPE, made("replaced", S, axis, S[axis] + each(extent).total)),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank)},
        meaning=numpy_of.concat,
    ),
    Specification(
        name="stack",
        inputs=(tensor(DTYPE, S),),
        repeated=tensor(DTYPE, S),
        arity=Between(1, 4),
        attributes={"axis": axis},
        outputs=(tensor(DTYPE, made("stacked", S, axis, INPUT_COUNT)),),
        where={DTYPE: ANY_DTYPE, axis: Axis(S.rank + 1)},
        meaning=numpy_of.stack,
    ),
    Specification(
        name="split",
        inputs=(tensor(DTYPE, S),),
        attributes={"indices_or_sections": k, "axis": axis},
        outputs=(tensor(DTYPE, made("replaced", S, axis, S[axis] // k)),),
        copies=k,
        where={DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), k: Divisors(S[axis])},
        backward={axis: Axis(OUT.rank), k: Between(1, 3), S: Exactly(made("replaced", OUT, axis, OUT[axis] * k))},
        meaning=numpy_of.split,
    ),
    Specification(
        name="split:at",
        inputs=(tensor(DTYPE, S),),
        attributes={"indices_or_sections": R, "axis": axis},
        outputs=(tensor(DTYPE, made("replaced", S, axis, computed("gap", R, INDEX, S[axis]))),),
        copies=R.rank + 1,
        where={
            DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), R: Cuts(S[axis]),
        },
        meaning=numpy_of.split,
    ),
    Specification(
        name="concat:flat",
        inputs=(tensor(DTYPE, m),),
        repeated=tensor(DTYPE, n),
        arity=Between(1, 4),
        attributes={"axis": None},
        outputs=(tensor(DTYPE, m + each(n).total),),
        where={DTYPE: ANY_DTYPE},
        meaning=numpy_of.concat,
    ),
    Specification(
        name="reshape:inferred",
        inputs=(tensor(DTYPE, S),),
        attributes={"shape": (k, -1)},
        outputs=(tensor(DTYPE, k, S.size // k),),
        where={DTYPE: ANY_DTYPE, k: Divisors(S.size)},
        meaning=np.reshape,
    ),
    Specification(
        name="strided_slice:backwards",
        inputs=(tensor(DTYPE, S),),
        attributes={"axes": (axis,), "begin": (n,), "end": (m,), "strides": (k,)},
        outputs=(tensor(DTYPE, made("replaced", S, axis, (n - k) // (-k))),),
        where={
            DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), n: Between(0, S[axis] - 1),
            k: Between(-3, -1), m: Exactly(-1 - S[axis]),
        },
        meaning=numpy_of.strided_slice,
    ),
    Specification(
        name="tile",
        inputs=(tensor(DTYPE, S),),
        attributes={"repeats": TIMES},
        outputs=(tensor(DTYPE, made("products", S, TIMES)),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), TIMES: Each(S.rank, index, Between(1, 2))},
        backward={
            TIMES: Each(OUT.rank, index, Such(Between(1, 2), k, (OUT[index] % k).equals(0))),
            S: Exactly(made("quotients", OUT, TIMES)),
        },
        meaning=numpy_of.tile,
    ),
    Specification(
        name="repeat",
        inputs=(tensor(DTYPE, S),),
        attributes={"repeats": k, "axis": axis},
        outputs=(tensor(DTYPE, made("replaced", S, axis, S[axis] * k)),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), k: Between(1, 4), axis: Axis(S.rank)},
        backward={
            axis: Axis(OUT.rank), k: Such(Between(1, 4), k, (OUT[axis] % k).equals(0)),
            S: Exactly(made("replaced", OUT, axis, OUT[axis] // k)),
        },
        meaning=np.repeat,
    ),
    Specification(
        name="repeat:flat",
        inputs=(tensor(DTYPE, S),),
        attributes={"repeats": k, "axis": None},
        outputs=(tensor(DTYPE, S.size * k),),
        where={DTYPE: ANY_DTYPE, k: Between(1, 4)},
        meaning=np.repeat,
    ),
    Specification(
        name="flip",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": axis},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank)},
        meaning=np.flip,
    ),
    Specification(
        name="strided_slice",
        inputs=(tensor(DTYPE, S),),
        attributes={"axes": (axis,), "begin": (n,), "end": (m,), "strides": (k,)},
        outputs=(tensor(DTYPE, made("replaced", S, axis, (m - n + k - 1) // k)),),
        where={
            DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), n: Between(0, S[axis] - 1), m: Between(n + 1, S[axis]),
            k: Between(1, 3),
        },
        backward={
            axis: Axis(OUT.rank), n: Between(0, 2), k: Between(1, 3), m: Exactly(n + (OUT[axis] - 1) * k + 1),
            S: Exactly(made("replaced", OUT, axis, m)),
        },
        meaning=numpy_of.strided_slice,
    ),
    Specification(
        name="tril",
        inputs=(tensor(DTYPE, S, m, n),),
        attributes={"k": k},
        outputs=(tensor(DTYPE, S, m, n),),
        where={DTYPE: dtypes(*NUMBER_DTYPES), k: Between(-2, 2)},
        meaning=np.tril,
    ),
    Specification(
        name="triu",
        inputs=(tensor(DTYPE, S, m, n),),
        attributes={"k": k},
        outputs=(tensor(DTYPE, S, m, n),),
        where={DTYPE: dtypes(*NUMBER_DTYPES), k: Between(-2, 2)},
        meaning=np.triu,
    ),
)  # fmt: skip
