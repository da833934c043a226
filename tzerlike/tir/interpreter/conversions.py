"""Casts between dtypes, and the same bits read as another dtype."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from tzerlike.core.dtypes import DType
from tzerlike.tir.interpreter import floats, integers
from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.formats import FLOATS, Float, FloatFormat, SignedZero, given


def conversion(source: DType, target: DType) -> Callable[[Any], Any] | None:
    """The function of a cast between scalar dtypes; None when one of them is not modelled."""
    if source.is_float and source.scalar not in FLOATS:
        return None
    if target.is_float:
        form = FLOATS.get(target.scalar)
        if form is None:
            return None
        if source.is_float:
            return lambda x: floats.converted_float(x[0], x[1], form)
        return lambda x: _from_integer(int(x), form)
    if target.is_bool:
        if source.is_float:
            return lambda x: floats.not_equal(x, (0.0, 0.0))
        return lambda x: x != 0
    if not target.is_int:
        return None
    low, high = target.low, target.high
    if source.is_float:
        return lambda x: _to_integer(x, low, high)
    return integers.fitting(low, high)


def _from_integer(value: int, form: FloatFormat) -> Float:
    number = float(value)
    return floats.converted_float(number, abs(float(value - int(number))), form)


def _to_integer(x: Float, low: int, high: int) -> int:
    value, bound = x
    if value - value != 0.0:
        raise BrokenRule("cast-range", f"{value}")
    result = math.trunc(value)
    if bound and not (math.trunc(value - bound) == result == math.trunc(value + bound)):
        raise BrokenRule("float-rounding", f"{value:g} +- {bound:g}")
    if not low <= result <= high:
        raise BrokenRule("cast-range", f"{value:g}")
    return result


_CODES = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


_UPPER_HALF = "bfloat16"


def reinterpretation(source: DType, target: DType) -> Callable[[Any], Any] | None:
    """Return what takes a value of one dtype to the value with the same bits of another; None where it is not modelled.

    A bfloat16 is the upper half of a float32.
    """
    codes = {**_CODES, _UPPER_HALF: _CODES["float32"]}
    if source.scalar not in codes or target.scalar not in codes:
        return None
    read, write = struct.Struct("<" + codes[source.scalar]), struct.Struct("<" + codes[target.scalar])

    def run(value: Any) -> Any:
        if source.is_float:
            if value[1]:
                raise BrokenRule("float-rounding", "the bits of an inexact value")
            if value[0] == 0.0 and not isinstance(value, SignedZero):
                raise BrokenRule("float-branch", "the sign of zero")
            value = value[0]
        bits = read.pack(value)
        if source.scalar == _UPPER_HALF:
            if any(bits[:2]):
                raise BrokenRule("float-rounding", "the bits of a value that is yet to be rounded")
            bits = bits[2:]
        if target.scalar == _UPPER_HALF:
            bits = bytes(2) + bits
        (result,) = write.unpack(bits)
        if not target.is_float:
            return result
        if result - result != 0.0:
            raise BrokenRule("exceptional-value", "reinterpreted bits")
        return given(result)

    return run
