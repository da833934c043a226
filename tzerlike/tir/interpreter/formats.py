"""The number formats of TIR: ranges of integers, precision of floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Float = tuple[float, float]
"""A float in the interpreter: a value, and how far from it a correct build may be. (value, 0.0) is exact."""


class SignedZero(tuple[float, float]):
    """A zero whose sign is known: it came as it is, and nothing was computed from it since."""


def given(value: float) -> Float:
    """The Float of a value that was not computed: what an argument or given bits hold."""
    return SignedZero((value, 0.0)) if value == 0.0 else (value, 0.0)


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format.

    `precision` counts the bits of the significand, the hidden one included; `least` is the exponent of the smallest
    subnormal number, 2**least; `largest` the greatest finite value.
    """

    precision: int
    least: int
    largest: float

    @property
    def unit(self) -> float:
        """Relative error of one rounding, of ours (in float64) and of the build's together."""
        return 2.0**-self.precision + 2.0**-52 if self.precision < 53 else 2.0**-51

    @property
    def tiny(self) -> float:
        """Absolute error of one rounding among the subnormal numbers."""
        return 2.0 ** (self.least - 1) if self.least > -1074 else 5e-324

    def represents(self, value: float) -> bool:
        """Whether the format has exactly this finite value."""
        if value == 0.0:
            return True
        mantissa, exponent = math.frexp(value)
        bits = min(self.precision, exponent - self.least)
        return bits > 0 and abs(value) <= self.largest and math.ldexp(mantissa, bits).is_integer()


FLOATS: Mapping[str, FloatFormat] = {
    "float64": FloatFormat(53, -1074, 1.7976931348623157e308),
    "float32": FloatFormat(24, -149, 3.4028234663852886e38),
    "float16": FloatFormat(11, -24, 65504.0),
    "bfloat16": FloatFormat(8, -133, 3.3895313892515355e38),
}
"""The float dtypes that the interpreter computes in. The float8 kinds are left out: TVM decodes their zeros and
subnormal numbers wrongly, which every program with one would show."""
