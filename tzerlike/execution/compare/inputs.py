"""Inputs of a program: arguments drawn from a seed, so that NaN and infinity do not arise.

The aim is NNSmith's (Liu et al., ASPLOS 2023, section 3.3): inputs on which a program computes ordinary numbers. A
scheme is a class of values; when the reference meets an exceptional value under one, the next is tried.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.core.archive import read_arrays
from tzerlike.core.dtypes import DType, clamp, parse
from tzerlike.core.errors import UserError
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.storage import representable, stores, strides_allowed
from tzerlike.systems.tvm_api import (
    array_items,
    is_buffer,
    is_variable,
    name_of,
    params_of,
    scalar_dtype,
    shape_arithmetic,
    type_of,
)
from tzerlike.tir.interpreter import Argument

MAX_ELEMENTS = 1 << 22
"""Elements of all buffers together at most; a program with larger ones is not run."""

_MOST_DIMENSIONS = 24
"""A buffer of more is not run: NumPy has a limit of 32."""

_SIZES = (1, 2, 3, 4, 4, 5, 7, 8, 8)
"""Values of shape variables: small, and not all of them powers of two."""

Draw = Callable[[numpy.random.Generator, tuple[int, ...]], NDArray[numpy.float64]]


@dataclass(frozen=True, slots=True)
class BufferParameter:
    """A buffer with its shape in numbers; `strides` is empty where the buffer is compact."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()

    @property
    def logical_shape(self) -> tuple[int, ...]:
        """The shape of its Argument: a vector dtype adds a dimension, the lanes."""
        return self.shape if self.dtype.lanes == 1 else (*self.shape, self.dtype.lanes)


@dataclass(frozen=True, slots=True)
class ScalarParameter:
    """A number that is passed by value; `size` is its value where a shape fixes it."""

    name: str
    dtype: DType
    size: int | None = None


Parameter = BufferParameter | ScalarParameter


@dataclass(frozen=True, slots=True)
class Scheme:
    """A class of values: integers between two numbers, and floats drawn by a function."""

    name: str
    least: int
    greatest: int
    floats: Draw


def _whole(least: int, greatest: int) -> Draw:
    """Whole numbers: sums and products of a few of them are exact in every float format of 16 bits and more."""
    return lambda generator, shape: generator.integers(least, greatest, shape, endpoint=True).astype(numpy.float64)


SCHEMES: Mapping[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("small", -4, 8, _whole(-4, 4)),
        Scheme("positive", 1, 6, _whole(1, 4)),
        Scheme("unit", 0, 1, lambda generator, shape: generator.integers(1, 7, shape, endpoint=True) / 8.0),
        Scheme("reals", -100, 100, lambda generator, shape: generator.uniform(-4.0, 4.0, shape)),
        Scheme("one", 1, 1, lambda generator, shape: numpy.ones(shape)),
        Scheme("zero", 0, 0, lambda generator, shape: numpy.full(shape, 0.5)),
    )
}
"""The classes of values by name."""

_FIRST = ("small",) * 9 + ("positive",) * 3 + ("reals",) * 3 + ("unit",)
"""What to try first, each as likely as the next: most cases compute exactly."""

_THEN = ("positive", "unit", "one", "zero")

_ATTEMPTS = 4
"""Schemes tried on one program at most."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The arguments of one run with the parameters they are for; `scheme` says how they were drawn."""

    scheme: str
    parameters: tuple[Parameter, ...]
    arguments: tuple[Argument, ...]


def inputs_for(func: Any, input_seed: int) -> Iterator[Inputs]:
    """Yield inputs for a PrimFunc by one scheme after another, the same for the same function and seed.

    Nothing is yielded for a function that cannot be called with numbers and CPU tensors: a parameter that is a bare
    handle, a dtype without storage, more than MAX_ELEMENTS, or a shape that no variables' values explain.
    """
    rng = rng_for(input_seed, "inputs")
    parameters = parameters_of(func, rng)
    if parameters is None:
        return
    names = list(dict.fromkeys((rng.choice(_FIRST), *_THEN)))
    for name in names[:_ATTEMPTS]:
        generator = numpy.random.Generator(numpy.random.PCG64(rng_for(input_seed, "inputs", name).getrandbits(64)))
        arguments = tuple(_argument(parameter, SCHEMES[name], generator) for parameter in parameters)
        yield Inputs(name, parameters, arguments)


def parameters_of(func: Any, rng: Random) -> tuple[Parameter, ...] | None:
    """Return the parameters of a PrimFunc with every shape variable given a value, or None; see inputs_for."""
    params = params_of(func)
    sizes: dict[Any, int] = {}
    for buffer in filter(is_buffer, params):
        for extent in array_items(type_of(buffer).shape):
            if is_variable(extent) and extent not in sizes:
                sizes[extent] = rng.choice(_SIZES)
    parameters = tuple(_buffer(p, sizes) if is_buffer(p) else _scalar(p, sizes) for p in params)
    if None in parameters:
        return None
    elements = sum(math.prod(p.logical_shape) for p in parameters if isinstance(p, BufferParameter))
    return tuple(p for p in parameters if p is not None) if elements <= MAX_ELEMENTS else None


def _buffer(param: Any, sizes: Mapping[Any, int]) -> BufferParameter | None:
    """None where the buffer's memory is not what an Argument describes."""
    dtype = parse(str(type_of(param).dtype.dtype))
    shape = [shape_arithmetic(extent, sizes) for extent in array_items(type_of(param).shape)]
    if dtype is None or dtype.scalable or not stores(dtype) or len(shape) > _MOST_DIMENSIONS:
        return None
    if any(extent is None or not 0 <= extent <= MAX_ELEMENTS for extent in shape):
        return None
    extents = tuple(extent for extent in shape if extent is not None)
    offset = type_of(param).elem_offset
    if not is_variable(offset) and shape_arithmetic(offset, sizes) != 0:
        return None
    strides = compact = _row_major(extents)
    declared = array_items(type_of(param).strides)
    if declared and len(declared) != len(extents):
        return None
    if declared:
        values = [
            plain if is_variable(stride) and stride not in sizes else shape_arithmetic(stride, sizes)
            for stride, plain in zip(declared, compact, strict=True)
        ]
        if any(value is None or value < 1 for value in values):
            return None
        strides = tuple(value for value in values if value is not None)
        span = sum(extent * stride for extent, stride in zip(extents, strides, strict=True))
        if strides != compact and (not strides_allowed(dtype) or span > MAX_ELEMENTS):
            return None
    return BufferParameter(str(name_of(param)), dtype, extents, () if strides == compact else strides)


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def _scalar(param: Any, sizes: Mapping[Any, int]) -> ScalarParameter | None:
    dtype = parse(scalar_dtype(param))
    if dtype is None or dtype.lanes != 1 or dtype.base == "handle" or not stores(dtype):
        return None
    return ScalarParameter(str(name_of(param)), dtype, sizes.get(param))


def _argument(parameter: Parameter, scheme: Scheme, generator: numpy.random.Generator) -> Argument:
    dtype = parameter.dtype
    shape = parameter.logical_shape if isinstance(parameter, BufferParameter) else ()
    values: NDArray[Any]
    if dtype.is_bool:
        values = generator.integers(0, 1, shape, endpoint=True).astype(numpy.bool_)
    elif dtype.is_float:
        values = representable(scheme.floats(generator, shape), dtype)
    else:
        least, greatest = clamp(scheme.least, dtype), clamp(scheme.greatest, dtype)
        kind = numpy.int64 if dtype.base == "int" else numpy.uint64
        values = numpy.asarray(generator.integers(least, greatest, shape, numpy.int64, endpoint=True)).astype(kind)
    if isinstance(parameter, BufferParameter):
        return numpy.asarray(values)
    if parameter.size is not None:
        return parameter.size
    return _number(numpy.asarray(values), dtype)


def _number(value: NDArray[Any], dtype: DType) -> Argument:
    return bool(value) if dtype.is_bool else float(value) if dtype.is_float else int(value)


def pack_inputs(inputs: Inputs, extra: Mapping[str, NDArray[Any]] | None = None) -> bytes:
    """Return the npz archive of inputs: `argument0`, ... in order and `scheme`; plain arrays, no objects."""
    arrays: dict[str, Any] = {f"argument{i}": numpy.asarray(value) for i, value in enumerate(inputs.arguments)}
    buffer = io.BytesIO()
    arrays |= {"scheme": numpy.array(inputs.scheme), **(extra or {})}
    numpy.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _holds(array: NDArray[Any], dtype: DType) -> bool:
    """Whether the values of a stored array are of a dtype."""
    if dtype.is_bool or dtype.is_float:
        return array.dtype.kind == ("b" if dtype.is_bool else "f")
    if array.dtype.kind not in "iu":
        return False
    return not array.size or all(clamp(int(end), dtype) == int(end) for end in (array.min(), array.max()))


def unpack_inputs(path: Path, func: Any) -> Inputs | None:
    """Read what `pack_inputs` wrote, for the function it was written for; None where the archive has no arguments.

    UserError when the archive does not fit the function. Shape variables take their values from the arrays.
    """
    archive = read_arrays(path)
    if "scheme" not in archive:
        return None
    scheme = str(archive["scheme"])
    params = params_of(func)
    try:
        arrays = [archive[f"argument{index}"] for index in range(len(params))]
    except KeyError as error:
        raise UserError(f"{path}: no {error.args[0]}, for a function of {len(params)} parameters") from error
    sizes: dict[Any, int] = {}
    for param, array in zip(params, arrays, strict=True):
        if is_buffer(param):
            for extent, size in zip(array_items(type_of(param).shape), array.shape, strict=False):
                if is_variable(extent):
                    sizes.setdefault(extent, int(size))
    parameters: list[Parameter] = []
    arguments: list[Argument] = []
    for index, (param, array) in enumerate(zip(params, arrays, strict=True)):
        parameter = _buffer(param, sizes) if is_buffer(param) else _scalar(param, sizes)
        wanted = parameter.logical_shape if isinstance(parameter, BufferParameter) else ()
        if parameter is None or array.shape != wanted or not _holds(array, parameter.dtype):
            raise UserError(f"{path}: argument{index} does not fit the parameter {name_of(param)}")
        parameters.append(parameter)
        arguments.append(array if isinstance(parameter, BufferParameter) else _number(array, parameter.dtype))
    return Inputs(scheme, tuple(parameters), tuple(arguments))
