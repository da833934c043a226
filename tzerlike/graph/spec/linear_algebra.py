"""Products of matrices."""

from __future__ import annotations

import numpy as np

from tzerlike.graph.spec.domains import BroadcastWith
from tzerlike.graph.spec.language import Port, Rounding, Specification, dtypes, tensor
from tzerlike.graph.spec.terms import Integer, Integers, integers, made, shape, symbol

DTYPE, S, R = symbol("DTYPE"), shape("S"), shape("R")
m, k, n = integers("m k n")
TYPES = dtypes("float32", "float64", "float16", "int32", "int8", "int64")


def matmul(form: str, one: Port, other: Port, *output: Integer | Integers) -> Specification:
    return Specification(
        name=f"matmul{form}",
        inputs=(one, other),
        outputs=(tensor(DTYPE, *output),),
        where={DTYPE: TYPES} | ({} if form else {R: BroadcastWith(S)}),
        meaning=np.matmul,
        rounding=Rounding(ulps=1, terms=k + 1),
    )


ROWS = (
    matmul("", tensor(DTYPE, S, m, k), tensor(DTYPE, R, k, n), made("broadcast_shape", S, R), m, n),
    matmul(":vectors", tensor(DTYPE, k), tensor(DTYPE, k)),
    matmul(":vector first", tensor(DTYPE, k), tensor(DTYPE, S, k, n), S, n),
    matmul(":vector second", tensor(DTYPE, S, m, k), tensor(DTYPE, k), S, m),
    Specification(
        name="outer",
        inputs=(tensor(DTYPE, m), tensor(DTYPE, n)),
        outputs=(tensor(DTYPE, m, n),),
        where={DTYPE: TYPES},
        meaning=np.outer,
        rounding=Rounding(ulps=2),
    ),
)
