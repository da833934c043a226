"""How accurate the code is that TVM generates for the float intrinsics: the figures behind docs/tir-semantics.md.

    python scripts/measure_intrinsics.py [OUTPUT]

Builds every float intrinsic of the table of intrinsics for float16, bfloat16, float32 and float64, as a scalar
loop and over 4 and 8 lanes where it has vectors, at LLVM level 0 with opt_level 0 and at LLVM level 3 with
opt_level 4, runs it on all values of a 16-bit dtype and on dense samples of the wider ones, and compares with the
function's value in 80-bit arithmetic. Writes `OUTPUT` (tests/data/intrinsic_accuracy.json) and prints the same as
a Markdown table.

An entry {"ulp": u, "absolute": a} says that every error seen was at most u units in the last place of the exact
result, or at most a. `a` is other than zero only where cancellation or overflow inside of the generated code
leaves the relative error without a bound: `tanh` and `atanh` near zero, `sigmoid` where its exponential overflows.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy
from numpy.typing import NDArray

from tzerlike.core.rng import rng_for
from tzerlike.mutators.intrinsics import INTRINSICS, Intrinsic
from tzerlike.systems import tvm_api as api

Wide = NDArray[numpy.longdouble]
Exact = Callable[..., Wide]

SAMPLES = {"float16": 1 << 16, "bfloat16": 1 << 16, "float32": 1 << 19, "float64": 1 << 17}
LANES = (1, 4, 8)
LEVELS = (0, 3)
UNBOUNDED = ("tirx.tanh", "tirx.atanh", "tirx.sigmoid")
"""Their relative error has no bound; what is beyond TOLERABLE_ULP units of theirs is told as an absolute error."""
TOLERABLE_ULP = 16.0


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format: its NumPy dtype, bits of precision and exponent of the smallest normal."""

    dtype: numpy.dtype[numpy.generic]
    bits: numpy.dtype[numpy.unsignedinteger]
    precision: int
    least: int
    greatest: float


FORMATS = {
    "float16": Format(numpy.dtype("float16"), numpy.dtype("uint16"), 11, -14, 65504.0),
    "bfloat16": Format(numpy.dtype(ml_dtypes.bfloat16), numpy.dtype("uint16"), 8, -126, 3.3895313892515355e38),
    "float32": Format(numpy.dtype("float32"), numpy.dtype("uint32"), 24, -126, 3.4028234663852886e38),
    "float64": Format(numpy.dtype("float64"), numpy.dtype("uint64"), 53, -1022, 1.7976931348623157e308),
}


def erf(x: Wide) -> Wide:
    """The error function, by the series whose terms all have one sign; exact beyond 7 in every format here."""
    clipped = numpy.clip(x, -7, 7)
    term = total = clipped
    for n in range(1, 400):
        term = term * 2 * clipped * clipped / (2 * n + 1)
        total = total + term
    return 2 / numpy.sqrt(numpy.longdouble(PI)) * numpy.exp(-clipped * clipped) * total


PI = numpy.longdouble("3.14159265358979323846264338327950288")


def sigmoid(x: Wide) -> Wide:
    return 1 / (1 + numpy.exp(-x))


def rsqrt(x: Wide) -> Wide:
    return 1 / numpy.sqrt(x)


def exp10(x: Wide) -> Wide:
    return numpy.power(numpy.longdouble(10), x)


EXACT: dict[str, Exact] = {
    "tirx.sin": numpy.sin,
    "tirx.cos": numpy.cos,
    "tirx.tan": numpy.tan,
    "tirx.tanh": numpy.tanh,
    "tirx.sigmoid": sigmoid,
    "tirx.floor": numpy.floor,
    "prim.ceil": numpy.ceil,
    "tirx.trunc": numpy.trunc,
    "tirx.round": numpy.rint,
    "tirx.nearbyint": numpy.rint,
    "tirx.fabs": numpy.fabs,
    "tirx.exp": numpy.exp,
    "tirx.exp2": numpy.exp2,
    "tirx.exp10": exp10,
    "tirx.log": numpy.log,
    "prim.log2": numpy.log2,
    "tirx.log10": numpy.log10,
    "tirx.sqrt": numpy.sqrt,
    "tirx.rsqrt": rsqrt,
    "tirx.atanh": numpy.arctanh,
    "tirx.sinh": numpy.sinh,
    "tirx.cosh": numpy.cosh,
    "tirx.atan": numpy.arctan,
    "tirx.asinh": numpy.arcsinh,
    "tirx.erf": erf,
    "tirx.asin": numpy.arcsin,
    "tirx.acos": numpy.arccos,
    "tirx.acosh": numpy.arccosh,
    "tirx.log1p": numpy.log1p,
    "tirx.pow": numpy.power,
    "tirx.atan2": numpy.arctan2,
    "tirx.hypot": numpy.hypot,
    "tirx.copysign": numpy.copysign,
}
"""What each intrinsic means; `round` takes ties to even, as `nearbyint` does."""


BINARY = ("tirx.pow", "tirx.atan2", "tirx.hypot", "tirx.copysign")


def entry_of(op: str) -> Intrinsic:
    return next(entry for entry in INTRINSICS if entry.op == op)


def operands(op: str, dtype: str) -> list[NDArray[numpy.generic]]:
    """Operands for `op`: all bit patterns of the first 16-bit one, else half bit patterns and half usual values."""
    form, count = FORMATS[dtype], SAMPLES[dtype]
    found = []
    for position in range(2 if op in BINARY else 1):
        random = numpy.random.default_rng(rng_for(0, op, dtype, position).getrandbits(64))
        if count == 1 << 16 and position == 0:
            raw = numpy.arange(count, dtype=form.bits)
        else:
            raw = random.integers(0, 1 << (8 * form.bits.itemsize), count, dtype=form.bits)
        values = raw.view(form.dtype).copy()
        if count != 1 << 16 or position == 1:
            half = count // 2
            scale = numpy.exp(random.uniform(-12, 5, half)) * random.choice([-1.0, 1.0], half)
            values[:half] = scale.astype(form.dtype)
        found.append(values)
    return found


def program(op: str, dtype: str, count: int, lanes: int, arity: int) -> str:
    """TVMScript that applies `op` to the elements of its first `arity` buffers."""
    names = "AB"[:arity]
    params = ", ".join(f'{name}: T.Buffer(({count},), "{dtype}")' for name in [*names, "R"])
    index = "i" if lanes == 1 else f"i * {lanes} + j"
    inner = "" if lanes == 1 else f"        for j in T.vectorized({lanes}):\n    "
    loads = ", ".join(f"{name}[{index}]" for name in names)
    return (
        f"@T.prim_func\ndef main({params}):\n    for i in range({count // lanes}):\n{inner}"
        f'        R[{index}] = T.call_intrin("{dtype}", "{op}", {loads})\n'
    )


def compiled_results(op: str, dtype: str, inputs: list[NDArray[numpy.generic]]) -> Iterator[NDArray[numpy.generic]]:
    """Run the code for `op` on `inputs`, with each number of lanes that it has and each level."""
    tvm = api.tvm
    for lanes, level in product(LANES if entry_of(op).lanes != "1" else (1,), LEVELS):
        module = api.module_of(api.parse_script(program(op, dtype, len(inputs[0]), lanes, len(inputs))))
        target = tvm.target.Target({"kind": "llvm", "opt-level": level})
        with tvm.transform.PassContext(opt_level=0 if level == 0 else 4, config={"tirx.disable_assert": True}):
            main = tvm.compile(module, target)["main"]
        out = tvm.runtime.tensor(numpy.zeros_like(inputs[0]))
        main(*[tvm.runtime.tensor(value) for value in inputs], out)
        yield out.numpy()


def unit(exact: Wide, form: Format) -> Wide:
    """One unit in the last place of `exact` in the format; among subnormals, their distance."""
    _, exponent = numpy.frexp(numpy.fabs(exact))
    return numpy.ldexp(numpy.longdouble(1), numpy.maximum(exponent, form.least + 1) - form.precision)


def accuracy(op: str, dtype: str) -> dict[str, float]:
    """The largest errors of `op`, over operands whose exact result is finite in the format."""
    form = FORMATS[dtype]
    inputs = operands(op, dtype)
    ulp = absolute = 0.0
    with numpy.errstate(all="ignore"):
        wide = [value.astype(numpy.longdouble) for value in inputs]
        exact = EXACT[op](*wide)
        usable = numpy.isfinite(exact) & (numpy.fabs(exact) <= form.greatest)
        for value in wide:
            usable &= numpy.isfinite(value)
        one = unit(exact, form)
        for result in compiled_results(op, dtype, inputs):
            error = numpy.fabs(result.astype(numpy.longdouble) - exact)[usable]
            units = error / one[usable]
            if not numpy.isfinite(error).all():
                worst = [str(value[usable][~numpy.isfinite(error)][0]) for value in wide]
                print(f"{op} {dtype}: not finite at {worst}", file=sys.stderr)
            told = (units <= TOLERABLE_ULP) | (op not in UNBOUNDED)
            ulp = max(ulp, float(units[told].max()))
            absolute = max(absolute, float(error[~told].max(initial=0)))
    return {"ulp": ulp, "absolute": absolute}


def rounded_up(value: float) -> float:
    """`value` with three digits, never smaller."""
    if value == 0 or not math.isfinite(value):
        return value
    return float(Decimal(value).normalize(Context(prec=3, rounding=ROUND_CEILING)))


def markdown(table: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The table as the document shows it."""
    lines = ["| intrinsic | " + " | ".join(FORMATS) + " |", "|---" * (len(FORMATS) + 1) + "|"]
    for op, row in table.items():
        cells = []
        for dtype in FORMATS:
            entry = row.get(dtype)
            text = "" if entry is None else f"{entry['ulp']:g}"
            cells.append(text + (f" or {entry['absolute']:.2g}" if entry and entry["absolute"] else ""))
        lines.append(f"| `{op}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    default = Path(__file__).parent.parent / "tests" / "data" / "intrinsic_accuracy.json"
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    table: dict[str, dict[str, dict[str, float]]] = {}
    for op in EXACT:
        table[op] = {
            dtype: {name: rounded_up(value) for name, value in accuracy(op, dtype).items()}
            for dtype in entry_of(op).dtypes
        }
    output.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(markdown(table))


if __name__ == "__main__":
    main()
