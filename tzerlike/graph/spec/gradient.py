"""Gradients that are operators of TVM, and marks for its gradient pass."""

from __future__ import annotations

from tzerlike.graph.meaning import gradient as numpy_of
from tzerlike.graph.spec.domains import Between, Choice, OneOf
from tzerlike.graph.spec.language import (
    CLOSE,
    NUMBER_DTYPES,
    Computation,
    Rounding,
    Specification,
    Values,
    dtypes,
    tensor,
)
from tzerlike.graph.spec.nn import Window
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import Term, integers, shape, symbol

DTYPE, S = symbol("T"), shape("S")
n, c, m, k = integers("n c m k")
y = integers("y0 y1")
REAL = dtypes("float32", "float64")
POOLED = Window(2)


def mark(name: str) -> Specification:
    return Specification(
        name=f"grad.{name}",
        inputs=(tensor(DTYPE, S),),
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes(*NUMBER_DTYPES)},
        meaning=numpy_of.same,
    )


def of_pooling(kind: str, meaning: Computation) -> Specification:
    """The positions of the window are given: the extents of the data follow, up to what a stride leaves over."""
    steps = {term: domain for term, domain in POOLED.reached(1, 0).items() if term not in POOLED.extents}
    extents: dict[Term, Choice] = {}
    for i, extent in enumerate(POOLED.extents):
        low = (y[i] - 1) * POOLED.strides[i] + POOLED.sizes[i]
        extents[extent] = Between(low, low + POOLED.strides[i] - 1)
    return Specification(
        name=f"grad.{kind}_pool2d_backward",
        inputs=(tensor(DTYPE, n, c, *y), tensor(DTYPE, n, c, *POOLED.extents)),
        attributes={
            "pool_size": tuple(POOLED.sizes), **POOLED.attributes, "ceil_mode": False, "count_include_pad": True,
            "layout": "NCHW",
        },
        outputs=(tensor(DTYPE, n, c, *POOLED.extents),),
        where={DTYPE: dtypes("float32"), **steps, **extents},
        meaning=meaning,
        rounding=Rounding(ulps=4, terms=POOLED.sizes[0] * POOLED.sizes[1]),
    )  # fmt: skip


ROWS = (
    *(mark(name) for name in ("no_grad", "start_checkpoint", "end_checkpoint")),
    of_pooling("max", numpy_of.max_pool),
    of_pooling("avg", numpy_of.average_pool),
    Specification(
        name="grad.take_backward",
        inputs=(
            tensor(DTYPE, k, S), tensor(DTYPE, m, S), tensor("int64", k, values=Values(0, m - 1, must=("int64",))),
        ),
        attributes={"axis": 0},
        outputs=(tensor(DTYPE, m, S),),
        where={DTYPE: REAL},
        meaning=numpy_of.take,
        rounding=Rounding(ulps=2, terms=k),
    ),
    Specification(
        name="grad.nll_loss_backward",
        inputs=(
            tensor(DTYPE), tensor(DTYPE, n, c, S), tensor("int64", n, S, values=Values(0, c - 1, must=("int64",))),
            tensor(DTYPE, c, values=Values(0.5, 2)),
        ),
        attributes={"reduction": symbol("reduction"), "ignore_index": -100},
        outputs=(tensor(DTYPE, n, c, S),),
        where={DTYPE: REAL, S: Shapes(0, 3), symbol("reduction"): OneOf("mean", "sum")},
        meaning=numpy_of.nll_loss,
        rounding=Rounding(ulps=8, terms=n * S.size),
    ),
    Specification(
        name="nn.dropout",
        inputs=(tensor(DTYPE, S),),
        attributes={"rate": symbol("rate")},
        outputs=(tensor(DTYPE, S), tensor(DTYPE, S)),
        where={DTYPE: dtypes("float32", "float64", "float16"), symbol("rate"): OneOf(0.5, 0.1)},
        meaning=numpy_of.dropout,
        rounding=CLOSE,
    ),
)  # fmt: skip
