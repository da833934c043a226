"""The C representation of one lane of each dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.core.dtypes import DType
from tzerlike.tir.witness.graph import NotCovered


@dataclass(frozen=True, slots=True)
class CScalar:
    """`c` is the type of a value, `stem` ends the names of helpers, `stored` is NumPy's type of an element.

    float16 and bfloat16 are computed in C's float and stored as integers.
    """

    c: str
    stem: str
    stored: str

    @property
    def memory(self) -> str:
        """The C type of an element in memory."""
        return {"f16": "uint16_t", "bf16": "uint16_t"}.get(self.stem, self.c)


_SCALARS: Mapping[str, CScalar] = {
    "bool": CScalar("uint8_t", "b1", "uint8"),
    "float16": CScalar("float", "f16", "uint16"),
    "bfloat16": CScalar("float", "bf16", "uint16"),
    "float32": CScalar("float", "f32", "float32"),
    "float64": CScalar("double", "f64", "float64"),
    **{f"int{n}": CScalar(f"int{n}_t", f"i{n}", f"int{n}") for n in (8, 16, 32, 64)},
    **{f"int{n}": CScalar("int8_t", f"i{n}", "int8") for n in (1, 4)},
    **{f"uint{n}": CScalar("uint8_t", f"u{n}", "uint8") for n in (1, 4)},
    **{f"uint{n}": CScalar(f"uint{n}_t", f"u{n}", f"uint{n}") for n in (8, 16, 32, 64)},
}


def scalar_of(dtype: DType) -> CScalar:
    """Return what stands for a lane; NotCovered where the contract leaves the dtype open or C has nothing like it."""
    found = _SCALARS.get(dtype.scalar)
    if found is None:
        raise NotCovered(f"dtype {dtype.scalar}")
    return found


def elements_of(values: NDArray[Any], scalar: CScalar) -> NDArray[Any]:
    """Return logical values, which the dtype represents, as they lie in memory."""
    if scalar.stem == "bf16":
        return (values.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
    if scalar.stem == "f16":
        return values.astype(numpy.float16).view(numpy.uint16)
    return values.astype(scalar.stored)


def values_of(elements: NDArray[Any], scalar: CScalar) -> NDArray[Any]:
    """Return what lies in memory as logical values: float64, integers, or bool."""
    if scalar.stem == "bf16":
        return (elements.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    if scalar.stem == "f16":
        return elements.view(numpy.float16).astype(numpy.float64)
    if scalar.stem == "b1":
        return numpy.asarray(elements != 0)
    return elements.astype(numpy.float64) if elements.dtype.kind == "f" else elements
