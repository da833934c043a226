"""Operators that look up, place or sort elements."""

from __future__ import annotations

from tzerlike.graph.meaning import indexing as numpy_of
from tzerlike.graph.spec.axes import Axis
from tzerlike.graph.spec.domains import Between, Exactly, OneOf, Such
from tzerlike.graph.spec.language import (
    ALL_DTYPES,
    CLOSE,
    Port,
    Specification,
    Values,
    dtypes,
    tensor,
)
from tzerlike.graph.spec.shapes import BroadcastWith, Shapes
from tzerlike.graph.spec.terms import (
    INPUT_COUNT,
    OUT,
    Integer,
    Integers,
    changed,
    each,
    integers,
    least,
    made,
    shape,
    symbol,
)

DTYPE, INDEX_DTYPE, OUT_DTYPE = symbol("T"), symbol("I"), symbol("O")
S, R, Q = shape("S"), shape("R"), shape("Q")
axis, line, m, n, k, start, end = integers("axis line m n k start end")
ANY_DTYPE = dtypes(*ALL_DTYPES)
INDICES = ("int64", "int32")
REAL = dtypes("float32", "float64")
FLAG = OneOf(False, True)
DOWN, REDUCTION, ON, OFF = symbol("descending"), symbol("reduction"), symbol("on"), symbol("off")
MERGED = dtypes("float32", "float64", "int32", "int64")


def below(extent: Integer, *parts: Integer | Integers | int) -> Port:
    """An input of indices of an axis of this extent."""
    return Port(INDEX_DTYPE, parts, Values(0, extent - 1, must=INDICES))


ROWS = (
    Specification(
        name="take",
        inputs=(tensor(DTYPE, S), below(S[axis], R)),
        attributes={"axis": axis, "mode": "fast"},
        outputs=(tensor(DTYPE, *changed(S, axis, R)),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), INDEX_DTYPE: dtypes(*INDICES), R: Shapes(0, 2)},
        meaning=numpy_of.take,
    ),
    *(
        Specification(
            name=f"take:{mode}",
            inputs=(tensor(DTYPE, S), tensor(INDEX_DTYPE, R, values=Values(-8, 8))),
            attributes={"axis": axis, "mode": mode},
            outputs=(tensor(DTYPE, *changed(S, axis, R)),),
            where={DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), INDEX_DTYPE: dtypes(*INDICES), R: Shapes(0, 2)},
            meaning=numpy_of.take,
        )
        for mode in ("clip", "wrap")
    ),
    Specification(
        name="take:flat",
        inputs=(tensor(DTYPE, m), below(m, R)),
        attributes={"axis": None, "mode": "fast"},
        outputs=(tensor(DTYPE, R),),
        where={DTYPE: ANY_DTYPE, INDEX_DTYPE: dtypes(*INDICES), R: Shapes(0, 2)},
        meaning=numpy_of.take,
    ),
    Specification(
        name="gather_elements",
        inputs=(tensor(DTYPE, S), below(S[axis], *changed(S, axis, n))),
        attributes={"axis": axis},
        outputs=(tensor(DTYPE, *changed(S, axis, n)),),
        where={DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), INDEX_DTYPE: dtypes("int64")},
        meaning=numpy_of.gather_elements,
    ),
    Specification(
        name="scatter_elements",
        inputs=(
            tensor(DTYPE, S),
            below(S[axis], made("replaced", S, axis, 1)),
            tensor(DTYPE, made("replaced", S, axis, 1)),
        ),
        attributes={"axis": axis, "reduction": REDUCTION},
        outputs=(tensor(DTYPE, S),),
        where={
            DTYPE: MERGED, S: Shapes(1), axis: Axis(S.rank), INDEX_DTYPE: dtypes("int64"),
            REDUCTION: OneOf("update", "add", "mul", "min", "max"),
        },
        meaning=numpy_of.scatter_elements,
        rounding=CLOSE,
    ),
    Specification(
        name="gather_nd",
        inputs=(tensor(DTYPE, m, S), below(m, R, 1)),
        attributes={"batch_dims": 0},
        outputs=(tensor(DTYPE, R, S),),
        where={DTYPE: ANY_DTYPE, S: Shapes(0, 3), R: Shapes(1, 2), INDEX_DTYPE: dtypes("int64")},
        meaning=numpy_of.gather_nd,
    ),
    Specification(
        name="gather_nd:pairs",
        inputs=(tensor(DTYPE, m, n, S), below(least(m, n), R, 2)),
        attributes={"batch_dims": 0},
        outputs=(tensor(DTYPE, R, S),),
        where={DTYPE: ANY_DTYPE, S: Shapes(0, 3), R: Shapes(1, 2), INDEX_DTYPE: dtypes("int64")},
        meaning=numpy_of.gather_nd,
    ),
    Specification(
        name="scatter_nd",
        inputs=(tensor(DTYPE, m, S), below(m, 1, 1), tensor(DTYPE, 1, S)),
        attributes={"reduction": REDUCTION},
        outputs=(tensor(DTYPE, m, S),),
        where={
            DTYPE: MERGED, INDEX_DTYPE: dtypes("int64"), REDUCTION: OneOf("update", "add", "mul", "min", "max"),
        },
        meaning=numpy_of.scatter_nd,
        rounding=CLOSE,
    ),
    Specification(
        name="index_tensor",
        inputs=(tensor(DTYPE, m, S), below(m, R)),
        outputs=(tensor(DTYPE, R, S),),
        where={DTYPE: ANY_DTYPE, INDEX_DTYPE: dtypes(*INDICES), R: Shapes(0, 2)},
        meaning=numpy_of.index_tensor,
    ),
    Specification(
        name="index_tensor:pairs",
        inputs=(tensor(DTYPE, m, n, S), below(m, R), below(n, Q)),
        outputs=(tensor(DTYPE, made("broadcast_shape", R, Q), S),),
        where={DTYPE: ANY_DTYPE, INDEX_DTYPE: dtypes(*INDICES), R: Shapes(0, 2), Q: BroadcastWith(R)},
        meaning=numpy_of.index_tensor,
    ),
    Specification(
        name="index_put",
        inputs=(tensor(DTYPE, m, n), below(m, 1), below(n, 1), tensor(DTYPE, 1)),
        attributes={"accumulate": symbol("accumulate")},
        outputs=(tensor(DTYPE, m, n),),
        where={DTYPE: MERGED, symbol("accumulate"): FLAG, INDEX_DTYPE: dtypes("int64")},
        meaning=numpy_of.index_put,
        rounding=CLOSE,
    ),
    Specification(
        name="one_hot",
        inputs=(below(k, S),),
        attributes={"on_value": ON, "off_value": OFF, "depth": k, "axis": axis},
        outputs=(tensor("float64", made("stacked", S, axis, k)),),
        where={
            INDEX_DTYPE: dtypes(*INDICES), ON: OneOf(1.0, 2.0), OFF: OneOf(0.0, -1.0), k: Between(1, 8),
            axis: Axis(S.rank + 1),
        },
        meaning=numpy_of.one_hot,
    ),
    Specification(
        name="reverse_sequence",
        inputs=(tensor(DTYPE, S), tensor(INDEX_DTYPE, S[line], values=Values(1, S[axis], must=INDICES))),
        attributes={"seq_axis": axis, "batch_axis": line},
        outputs=(tensor(DTYPE, S),),
        where={
            DTYPE: ANY_DTYPE, S: Shapes(2), line: Between(0, S.rank - 1),
            axis: Such(Between(0, S.rank - 1), axis, axis.differs(line)), INDEX_DTYPE: dtypes(*INDICES),
        },
        meaning=numpy_of.reverse_sequence,
    ),
    Specification(
        name="slice_scatter",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, made("replaced", S, axis, (end - start + k - 1) // k))),
        attributes={"start": start, "end": end, "step": k, "axis": axis},
        outputs=(tensor(DTYPE, S),),
        where={
            DTYPE: ANY_DTYPE, S: Shapes(1), axis: Axis(S.rank), start: Between(0, S[axis] - 1),
            end: Between(start + 1, S[axis]), k: Between(1, 3),
        },
        meaning=numpy_of.slice_scatter,
    ),
    Specification(
        name="sort",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": axis, "descending": DOWN},
        outputs=(tensor(DTYPE, S),),
        where={
            DTYPE: dtypes("float32", "float64", "int32", "int64"), S: Shapes(1), axis: Axis(S.rank), DOWN: FLAG,
        },
        meaning=numpy_of.sort,
    ),
    Specification(
        name="argsort",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": axis, "descending": DOWN, "dtype": OUT_DTYPE},
        outputs=(tensor(OUT_DTYPE, S),),
        where={DTYPE: REAL, S: Shapes(1), axis: Axis(S.rank), DOWN: FLAG, OUT_DTYPE: dtypes("int32", "int64")},
        meaning=numpy_of.argsort,
    ),
    Specification(
        name="topk",
        inputs=(tensor(DTYPE, S),),
        attributes={"k": k, "axis": axis, "ret_type": "both", "largest": DOWN, "dtype": OUT_DTYPE},
        outputs=(tensor(DTYPE, made("replaced", S, axis, k)), tensor(OUT_DTYPE, made("replaced", S, axis, k))),
        where={
            DTYPE: REAL, S: Shapes(1), axis: Axis(S.rank), k: Between(1, S[axis]), DOWN: FLAG,
            OUT_DTYPE: dtypes("int32", "int64"),
        },
        backward={
            axis: Axis(OUT.rank), k: Exactly(OUT[axis]), n: Between(OUT[axis], OUT[axis] * 2),
            S: Exactly(made("replaced", OUT, axis, n)),
        },
        meaning=numpy_of.topk,
    ),
    *(
        Specification(
            name=f"topk:{kind}",
            inputs=(tensor(DTYPE, S),),
            attributes={"k": k, "axis": axis, "ret_type": kind, "largest": DOWN, "dtype": "int64"},
            outputs=(tensor(DTYPE if kind == "values" else "int64", made("replaced", S, axis, k)),),
            where={DTYPE: REAL, S: Shapes(1), axis: Axis(S.rank), k: Between(1, S[axis]), DOWN: FLAG},
            meaning=numpy_of.topk_part,
        )
        for kind in ("values", "indices")
    ),
    Specification(
        name="bucketize",
        inputs=(tensor(DTYPE, S), tensor(DTYPE, 1)),
        attributes={"out_int32": True, "right": symbol("right")},
        outputs=(tensor("int32", S),),
        where={DTYPE: REAL, symbol("right"): FLAG},
        meaning=numpy_of.bucketize,
    ),
    Specification(
        name="meshgrid",
        inputs=(tensor(DTYPE, m),),
        repeated=tensor(DTYPE, n),
        arity=Between(1, 3),
        attributes={"indexing": "ij"},
        outputs=(tensor(DTYPE, m, each(n)),),
        copies=INPUT_COUNT,
        where={DTYPE: ANY_DTYPE},
        meaning=numpy_of.meshgrid,
    ),
)  # fmt: skip
