"""Dtypes as text: `float32`, `int8x4`, `bool`, `int32xvscalex4`, `handle`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_PATTERN = re.compile(r"(bool|handle|bfloat|float|uint|int)(\d*)((?:_[a-z0-9]+?)?)(?:x(vscalex)?(\d+))?")


@dataclass(frozen=True, slots=True)
class DType:
    """A parsed dtype: `base` is `bool`, `int`, `uint`, `float`, `bfloat` or `handle`, `suffix` as in `_e4m3fn`."""

    base: str
    bits: int
    suffix: str = ""
    lanes: int = 1
    scalable: bool = False

    @property
    def scalar(self) -> str:
        """The text of one lane."""
        return self.base if self.base in ("bool", "handle") else f"{self.base}{self.bits}{self.suffix}"

    def __str__(self) -> str:
        return with_lanes(self.scalar, self.lanes, self.scalable)

    @property
    def is_int(self) -> bool:
        return self.base in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.base in ("float", "bfloat")

    @property
    def is_bool(self) -> bool:
        return self.base == "bool"

    @property
    def low(self) -> int:
        """The least value of an integer dtype."""
        return -(1 << (self.bits - 1)) if self.base == "int" else 0

    @property
    def high(self) -> int:
        """The greatest value of an integer dtype."""
        return (1 << (self.bits - 1)) - 1 if self.base == "int" else (1 << self.bits) - 1


@lru_cache(maxsize=1024)
def parse(text: str) -> DType | None:
    """Parse a dtype's text; None for what is no number, bool or handle (`""`, `void`)."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    base, bits, suffix, vscale, lanes = match.groups()
    width = int(bits) if bits else {"bool": 1, "handle": 64}.get(base, 0)
    return DType(base, width, suffix, int(lanes) if lanes else 1, vscale is not None) if width else None


def with_lanes(scalar: str, lanes: int, scalable: bool = False) -> str:
    """The text of a vector dtype; one fixed lane is a scalar."""
    if scalable:
        return f"{scalar}xvscalex{lanes}"
    return scalar if lanes == 1 else f"{scalar}x{lanes}"


def clamp(number: int, dtype: DType) -> int:
    """The value of `dtype` nearest to `number`."""
    return min(max(number, dtype.low), dtype.high)
