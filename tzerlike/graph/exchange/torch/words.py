"""What the forms of calls in PyTorch are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

from tzerlike.graph.exchange.writing import WrittenCall, of_dtypes

Form = Callable[..., str | None]
"""It is given the call to write and its attributes. It returns the source of an expression: the output, or a sequence
of them where there are several; None where PyTorch has no words for this call."""

TORCH_DTYPES = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool")
"""Those that nearly all operators have, and that arrays of NumPy have too."""

TORCH_FLOATS = ("float32", "float64", "float16")

NN = "torch.nn.functional."


def torch_dtype(name: str) -> str:
    return f"torch.{name}"


def plain(function: str, *more: object) -> Form:
    """A function of the inputs, and of what is always the same."""

    def form(call: WrittenCall, **_: object) -> str:
        return applied(function, *call.names, *more)

    return form


def method(name: str) -> Form:
    return lambda call, **_: f"{call.names[0]}.{name}()"


def between(operator: str) -> Form:
    return lambda call, **_: f"{call.names[0]} {operator} {call.names[1]}"


def text(template: str) -> Form:
    """An expression with inputs by number, such as "{0} * {1}"."""
    return lambda call, **_: template.format(*call.names)


def of_floats(form: Form) -> Form:
    return of_dtypes(form, *TORCH_FLOATS)


def of_ranks(form: Form, *ranks: int) -> Form:
    def only(call: WrittenCall, **attributes: object) -> str | None:
        return form(call, **attributes) if tuple(len(one.shape) for one in call.kinds) == ranks else None

    return only


def applied(function: str, *arguments: object, **named: object) -> str:
    """Source of a call."""
    given = [*map(_source, arguments), *(f"{name}={_source(value)}" for name, value in named.items())]
    return f"{function}({', '.join(given)})"


def _source(value: object) -> str:
    """Source of an argument; a string is that already."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return value if isinstance(value, str) else repr(value)


def of_sequence(call: WrittenCall, source: str) -> str:
    """The outputs of what gives a sequence, of one output too."""
    return source if len(call.outputs) > 1 else f"{source}[0]"


def at(call: WrittenCall, name: str, axis: int, index: str) -> str:
    """What is at an index along an axis, or in a slice of it."""
    return f"{name}[{':, ' * (axis % len(call.shape))}{index}]"
