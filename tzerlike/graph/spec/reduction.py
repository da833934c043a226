"""Operators that remove axes, or work along one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tzerlike.graph.meaning import deviation as off
from tzerlike.graph.meaning import reduction as numpy_of
from tzerlike.graph.spec.axes import AnyAxes, Axis, NewAxes
from tzerlike.graph.spec.domains import Each, Exactly, NewExtent, OneOf
from tzerlike.graph.spec.language import (
    CLOSE,
    EXACT,
    FLOAT_DTYPES,
    NUMBER_DTYPES,
    USUAL,
    Computation,
    Rounding,
    Specification,
    Values,
    dtypes,
    tensor,
)
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import OUT, either, integers, made, shape, spliced, symbol

DTYPE, S, AXES, KEEP = symbol("T"), shape("S"), shape("axes"), symbol("keepdims")
SIZES = shape("sizes")
axis, index, extent = integers("axis index extent")
ONE = spliced(axis)
FLAG = OneOf(False, True)
FEW = ("float32", "float64", "int32", "int64", "float16", "int8", "uint8")
NEAR_ONE = Values(-1.5, 1.5)


def over_axes(
    name: str, meaning: Computation, kinds: tuple[str, ...], values: Values = USUAL, rounding: Rounding = EXACT
) -> tuple[Specification, Specification]:
    """A reduction over some axes, and over all of them."""
    some = Specification(
        name=name,
        inputs=(tensor(DTYPE, S, values=values),),
        attributes={"axis": AXES, "keepdims": KEEP},
        outputs=(tensor(DTYPE, either(KEEP, made("ones_at", S, AXES), made("without_axes", S, AXES))),),
        where={DTYPE: dtypes(*kinds), S: Shapes(1), AXES: AnyAxes(S.rank), KEEP: FLAG},
        backward={
            KEEP: OneOf(False),
            AXES: NewAxes(OUT.rank),
            SIZES: Each(AXES.rank, index, NewExtent(OUT)),
            S: Exactly(made("with_axes", OUT, AXES, SIZES)),
        },
        meaning=meaning,
        rounding=rounding,
    )
    everything = Specification(
        name=f"{name}:all",
        inputs=(tensor(DTYPE, S, values=values),),
        attributes={"axis": None, "keepdims": KEEP},
        outputs=(tensor(DTYPE, either(KEEP, made("repeated_tuple", 1, S.rank), spliced())),),
        where={DTYPE: dtypes(*kinds), KEEP: FLAG},
        meaning=meaning,
        rounding=rounding,
    )
    return some, everything


def over_axis(name: str, meaning: Computation) -> tuple[Specification, Specification]:
    """The place of an extreme along an axis, and among all elements."""
    one = Specification(
        name=name,
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": axis, "keepdims": KEEP},
        outputs=(tensor("int64", either(KEEP, made("ones_at", S, ONE), made("without_axes", S, ONE))),),
        where={DTYPE: dtypes(*FEW), S: Shapes(1), axis: Axis(S.rank), KEEP: FLAG},
        backward={
            KEEP: OneOf(False),
            axis: Axis(OUT.rank + 1),
            extent: NewExtent(OUT),
            S: Exactly(made("stacked", OUT, axis, extent)),
        },
        meaning=meaning,
    )
    everything = Specification(
        name=f"{name}:all",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": None, "keepdims": KEEP},
        outputs=(tensor("int64", either(KEEP, made("repeated_tuple", 1, S.rank), spliced())),),
        where={DTYPE: dtypes(*FEW), S: Shapes(1), KEEP: FLAG},
        meaning=meaning,
    )
    return one, everything


def scan_row(name: str, meaning: Computation, rounding: Rounding, values: Values) -> Specification:
    return Specification(
        name=name,
        inputs=(tensor(DTYPE, S, values=values),),
        attributes={"axis": axis, "exclusive": symbol("exclusive")},
        outputs=(tensor(DTYPE, S),),
        where={DTYPE: dtypes(*FEW), S: Shapes(1), axis: Axis(S.rank), symbol("exclusive"): FLAG},
        meaning=meaning,
        rounding=rounding,
    )


SUM = Rounding(ulps=2, terms=S.size)

ROWS = (
    *over_axes("sum", np.sum, FEW, rounding=SUM),
    *over_axes("mean", np.mean, FLOAT_DTYPES, rounding=replace(SUM, deviation=off.mean)),
    *over_axes("prod", np.prod, FEW, NEAR_ONE, rounding=replace(SUM, deviation=off.product)),
    *over_axes("max", np.max, NUMBER_DTYPES),
    *over_axes("min", np.min, NUMBER_DTYPES),
    *over_axes("variance", np.var, ("float32", "float64"), rounding=Rounding(deviation=off.variance)),
    *over_axes("std", np.std, ("float32", "float64"), rounding=Rounding(ulps=2, deviation=off.std)),
    Specification(
        name="median",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": axis, "keepdims": KEEP},
        outputs=(
            tensor(DTYPE, either(KEEP, made("ones_at", S, ONE), made("without_axes", S, ONE))),
            tensor("int64", either(KEEP, made("ones_at", S, ONE), made("without_axes", S, ONE))),
        ),
        where={DTYPE: dtypes("float32", "float64"), S: Shapes(1), axis: Axis(S.rank), KEEP: FLAG},
        meaning=numpy_of.median,
    ),
    Specification(
        name="median:all",
        inputs=(tensor(DTYPE, S),),
        attributes={"axis": None, "keepdims": False},
        outputs=(tensor(DTYPE),),
        where={DTYPE: dtypes("float32", "float64"), S: Shapes(1)},
        meaning=numpy_of.median_of_all,
    ),
    *over_axis("argmax", numpy_of.argmax),
    *over_axis("argmin", numpy_of.argmin),
    scan_row("cumsum", numpy_of.cumsum, SUM, USUAL),
    scan_row("cumprod", numpy_of.cumprod, replace(SUM, deviation=off.scanned_product), NEAR_ONE),
    *(
        Specification(
            name=f"nn.{name}",
            inputs=(tensor(DTYPE, S),),
            attributes={"axis": axis},
            outputs=(tensor(DTYPE, S),),
            where={DTYPE: dtypes(*FLOAT_DTYPES), S: Shapes(1), axis: Axis(S.rank)},
            meaning=meaning,
            rounding=Rounding(16, S[axis] + 8, deviation=off.log_softmax) if name == "log_softmax" else CLOSE,
        )
        for name, meaning in (("softmax", numpy_of.softmax), ("log_softmax", numpy_of.log_softmax))
    ),
)
