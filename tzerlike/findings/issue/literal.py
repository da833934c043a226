"""Arrays as source text."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy
from numpy.typing import NDArray

_WIDTH = 96


def array_source(values: NDArray[Any], dtype: str) -> str:
    """Return an expression that makes `values` with `np` in scope; `dtype` is the source of NumPy's type."""
    shape = ", ".join(map(str, values.shape))
    flat = values.reshape(-1)
    exact = "float64" in dtype
    if flat.size and _all_alike(flat):
        return f"np.full({_shape(values.shape)}, {number_source(flat[0], exact)}, {dtype})"
    numbers = textwrap.fill(", ".join(_numbers(flat, exact)), _WIDTH, break_long_words=False)
    if "\n" in numbers:
        numbers = "\n" + textwrap.indent(numbers, "    ") + "\n"
    return f"np.array([{numbers}], {dtype})" + ("" if values.ndim == 1 else f".reshape({shape or '()'})")


def _numbers(flat: NDArray[Any], exact: bool) -> list[str]:
    """The literals of an array's numbers, whole ones without a point: the array's dtype is given."""
    texts = [number_source(value, exact) for value in flat]
    if all(text.endswith(".0") and text != "-0.0" for text in texts):
        return [text[:-2] for text in texts]
    return texts


def weight(values: NDArray[Any]) -> int:
    """How many numbers the source of an array lists."""
    return 1 if values.size and _all_alike(values.reshape(-1)) else int(values.size)


def number_source(value: Any, exact: bool = True) -> str:
    """Return the literal of one number; unless `exact`, the shortest that gives it back as a float32."""
    if isinstance(value, bool | numpy.bool_):
        return str(bool(value))
    if isinstance(value, int | numpy.integer):
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        return f'float("{number}")'
    if number.is_integer() and abs(number) < 1e15:
        return f"{number:.1f}"
    single = numpy.float32(number)
    return repr(number) if exact or float(single) != number else str(single)


def _all_alike(flat: NDArray[Any]) -> bool:
    """Whether there is one number only; compared by their texts, so that -0.0 is not 0.0."""
    return len(set(map(number_source, flat))) == 1


def _shape(shape: tuple[int, ...]) -> str:
    """What `np.full` takes: a number, or a tuple."""
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def python_source(value: Any) -> str:
    """Return the literal of a value of JSON, with double quotes as TVM's style has them."""
    if isinstance(value, str):
        text = repr(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python_source(k)}: {python_source(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(python_source, value)) + "]"
    return repr(value)
