"""Products of matrices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.spec.domains import Choice, Exactly
from tzerlike.graph.spec.language import Port, Rounding, Specification, dtypes, tensor
from tzerlike.graph.spec.shapes import BroadcastWith
from tzerlike.graph.spec.terms import OUT, Integer, Integers, Term, integers, made, shape, symbol

DTYPE, S, R = symbol("T"), shape("S"), shape("R")
m, k, n = integers("m k n")
TYPES = dtypes("float32", "float64", "float16", "int32", "int8", "int64")

_STACKS: Mapping[Term, Choice] = {
    S: Exactly(OUT.sliced(0, -2)),
    m: Exactly(OUT[-2]),
    n: Exactly(OUT[-1]),
    R: BroadcastWith(OUT.sliced(0, -2), into=True),
}
LETTERS = {letter: integers(letter)[0] for letter in "bijk"}


def einsum(*operands: Array, subscripts: str) -> Array:
    return np.asarray(np.einsum(subscripts, *operands))


def matmul(form: str, one: Port, other: Port, *output: Integer | Integers) -> Specification:
    return Specification(
        name=f"matmul{form}",
        inputs=(one, other),
        outputs=(tensor(DTYPE, *output),),
        where={DTYPE: TYPES} | ({} if form else {R: BroadcastWith(S)}),
        backward={} if form else _STACKS,
        meaning=np.matmul,
        rounding=Rounding(ulps=1, terms=k + 1),
    )


ROWS = (
    matmul("", tensor(DTYPE, S, m, k), tensor(DTYPE, R, k, n), made("broadcast_shape", S, R), m, n),
    matmul(":vectors", tensor(DTYPE, k), tensor(DTYPE, k)),
    matmul(":vector first", tensor(DTYPE, k), tensor(DTYPE, S, k, n), S, n),
    matmul(":vector second", tensor(DTYPE, S, m, k), tensor(DTYPE, k), S, m),
    *(
        Specification(
            name=f"einsum:{subscripts}",
            inputs=tuple(tensor(DTYPE, *(LETTERS[letter] for letter in word)) for word in words.split(",")),
            attributes={"subscripts": subscripts},
            outputs=(tensor(DTYPE, *(LETTERS[letter] for letter in output)),),
            where={DTYPE: TYPES},
            meaning=einsum,
            rounding=Rounding(ulps=1, terms=64),
        )
        for subscripts in ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "ij->ji", "ij->j", "i,i->", "bij,bik->bjk")
        for words, output in [subscripts.split("->")]
    ),
    Specification(
        name="outer",
        inputs=(tensor(DTYPE, m), tensor(DTYPE, n)),
        outputs=(tensor(DTYPE, m, n),),
        where={DTYPE: TYPES},
        meaning=np.outer,
        rounding=Rounding(ulps=2),
    ),
)
