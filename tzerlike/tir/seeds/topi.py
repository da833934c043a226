"""Seeds from TOPI: operators of `tvm.topi`, each with its own shapes and types, as one PrimFunc.

Shapes are tiny and mostly odd, so that compiling and running take milliseconds and tails, strides and
predicates appear in the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tzerlike.systems.tvm_api import part
from tzerlike.tir.seeds import topi_data, topi_math, topi_nn
from tzerlike.tir.seeds.generate import Recipe
from tzerlike.tir.seeds.operators import Operator, prim_func_of

FAMILIES: tuple[Callable[[Any], Iterator[Operator]], ...] = (
    topi_math.elementwise,
    topi_math.broadcasts,
    topi_math.reductions,
    topi_math.matrices,
    topi_nn.convolutions,
    topi_nn.pooling,
    topi_nn.normalisation,
    topi_data.transforms,
    topi_data.ordering,
)


def topi_operators() -> Iterator[Operator]:
    """Yield every operator of this source in a fixed order."""
    for family in FAMILIES:
        yield from family(part("topi"))


def recipes() -> Iterator[Recipe]:
    """Yield the recipe of every operator."""
    for operator in topi_operators():
        yield Recipe(operator.name, partial(_function, operator))


def _function(operator: Operator) -> dict[str, Any]:
    return {"": prim_func_of(operator)}
