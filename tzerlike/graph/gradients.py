"""The gradients of a model's only output, a scalar, by differences in NumPy, and how far off a correct build may be.

Backwards from what comes out, the gradient of what a call takes is that of what it gives times slopes of the call by
itself. A slope has two sides, a step up and a step down. How far those are apart is how far off it may be: little
where the function is smooth, and as much as the slope itself where an edge or a jump is near. Of a large value a step
is large: where a shorter one gives another slope, as of a sine, it may be off by that too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType, Vertex, varied
from tzerlike.graph.reference import GROWTH, Computed, ExpectedOutput, tried
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.wish import BY_ELEMENT

_STEP = 1e-5
"""The least step, as a share of the value it is taken from, or of 1."""

_SHORT, _SPACINGS = 2.0**-16, 16
"""The step that is short for values of any size, which is so many of the spacings of floats there at least. As powers
of two they are added to the value without an error."""

_NOISE = 16 * float(np.finfo(np.float64).eps)
"""How far off NumPy itself may be."""

_BEYOND = 4.0
"""How many times as long a step is as that value may be off."""

_ROUNDINGS = 16.0
"""Roundings of the terms of a gradient in each call, and of what comes into it; there is one more for each term."""

_SMALLEST, _LARGEST = 1e-15, 1e15
"""Sizes of numbers, but for 0, whose squares all dtypes hold: gradients have those on the way."""

_TRIALS = (1, 3)
"""Trials on whose tensors the gradients are computed as well."""


@dataclass(frozen=True, slots=True)
class _Gradient:
    """A gradient, and how far off each of its elements may be."""

    values: Array
    bound: Array

    def __add__(self, other: _Gradient) -> _Gradient:
        return _Gradient(self.values + other.values, self.bound + other.bound)


def expected_gradients(
    model: Model, rows: Mapping[str, Specification], sources: Sequence[Array]
) -> list[ExpectedOutput]:
    """Return the gradients by all inputs, in their order.

    None counts where results may be other whole numbers by rounding alone, or are too large or too small, or where TVM
    documents that it makes none; and one does not that has an element for which there is no slope.
    """
    first, *trials = tried(model, rows, sources)
    inputs = [number for number, one in enumerate(model.sources) if one.kind == "input"]
    if not _smooth(first, trials) or _beyond_documents(model, first):
        nothing = [np.zeros(model.sources[number].type.shape) for number in inputs]
        return [ExpectedOutput(one, one, False, number) for number, one in zip(inputs, nothing, strict=True)]
    with np.errstate(all="ignore"):
        off = [_off(value, [one[number][0] for one in trials]) for number, (value, _, _) in enumerate(first)]
        runs = (first, *(trials[at] for at in _TRIALS))
        here, *others = (_backward(model, rows, [value for value, _, _ in run], off) for run in runs)
        found = [(n, here[n], [one[n] for one in others]) for n in inputs]
        return [_expected(model.sources[n].type, n, one, trials_of_it) for n, one, trials_of_it in found]


def _smooth(first: Computed, trials: Sequence[Computed]) -> bool:
    for number, (value, _, good) in enumerate(first):
        if value.dtype.kind == "f":
            sizes = np.abs(value[value != 0])
            if not good or np.any((sizes < _SMALLEST) | (sizes > _LARGEST)):
                return False
        elif not all(np.array_equal(one[number][0], value) for one in trials):
            return False
    return True


def _beyond_documents(model: Model, first: Computed) -> bool:
    """Whether a power has an exponent that varies, and a base that is not above 0."""
    varying = varied(model)
    powers = (one.inputs for one in model.vertices if one.row == "power")
    return any(exponent in varying and bool(np.any(first[base][0] <= 0)) for base, exponent in powers)


def _expected(kind: TensorType, number: int, here: _Gradient, others: Sequence[_Gradient]) -> ExpectedOutput:
    limits = np.finfo(kind.dtype)
    spread = np.max([np.abs(one.values - here.values) for one in others], axis=0)
    bound = here.bound + GROWTH * spread + float(limits.eps) * np.abs(here.values) + float(limits.tiny)
    # Of what is not known to half of itself, nothing is known: between two steps there may be many waves.
    vague = np.isfinite(bound) & (bound > np.maximum(np.abs(here.values), 1) / 2)
    bound = np.where(vague, float(limits.max), bound)
    counts = bool(np.all(np.isfinite(bound)) and np.all(np.abs(here.values) < float(limits.max)))
    return ExpectedOutput(here.values.astype(kind.dtype).astype(np.float64), bound, counts, number)


def _backward(
    model: Model, rows: Mapping[str, Specification], tensors: Sequence[Array], off: Sequence[Array]
) -> list[_Gradient]:
    """The gradient by each tensor; `off` is how far off each element of the tensors may be."""
    kinds = model.types()
    found = [_Gradient(np.zeros(kind.shape), np.zeros(kind.shape)) for kind in kinds]
    (out,) = model.outputs
    found[out] = _Gradient(np.ones(()), np.zeros(()))
    varying = varied(model)
    for first, vertex in reversed(list(model.first_outputs())):
        places = range(first, first + len(vertex.outputs))
        given = [found[number] for number in places if "float" in kinds[number].dtype]
        if not any(np.any(one.values) or np.any(one.bound) for one in given):
            continue
        above = _Gradient(_row([one.values for one in given]), _row([one.bound for one in given]))
        unit = max(float(np.finfo(kinds[n].dtype).eps) for n in (*vertex.inputs, *places) if "float" in kinds[n].dtype)
        inputs = [tensors[number] for number in vertex.inputs]
        for place, number in enumerate(vertex.inputs):
            if number in varying and "float" in kinds[number].dtype:
                step = np.maximum(_STEP * np.maximum(1, np.abs(inputs[place])), _BEYOND * off[number])
                found[number] += _pulled(rows[vertex.row], vertex, inputs, place, step, above, unit)
    return found


def _pulled(
    row: Specification,
    vertex: Vertex,
    inputs: Sequence[Array],
    place: int,
    step: Array,
    above: _Gradient,
    unit: float,
) -> _Gradient:
    """What a call makes of the gradient of what it gives, for one of its inputs."""
    one = inputs[place]

    def meaning(moved: Array) -> Array:
        made = row.meaning(*inputs[:place], moved, *inputs[place + 1 :], **vertex.attributes)
        parts = made if isinstance(made, tuple) else (made,)
        floats = (one for one, kind in zip(parts, vertex.outputs, strict=True) if "float" in kind.dtype)
        return _row([np.asarray(one, np.float64) for one in floats])

    def times(slope: Array, apart: Array, size: Array) -> tuple[Array, Array]:
        """Terms of the gradient, and how far off they may be; `size` is that of what comes in."""
        rounded = unit * (_ROUNDINGS + len(above.values)) * (np.abs(slope) + 1)
        return slope * above.values, np.abs(slope) * above.bound + (apart + rounded) * size

    here, size = meaning(one), np.abs(above.values)
    if row.name in BY_ELEMENT:
        (shape,) = (kind.shape for kind in vertex.outputs)
        short = np.maximum(_SHORT, _SPACINGS * np.spacing(np.abs(one, dtype=np.float64)))

        def by(step: Array) -> tuple[Array, Array]:
            return _slope(meaning(one + step), here, meaning(one - step), np.broadcast_to(step, shape).ravel())

        terms = times(*_agreed(by(step), by(short)), size)
        values, bound = (_gathered(term.reshape(shape), one.shape) for term in terms)
    else:
        values, bound = np.zeros(one.shape), np.zeros(one.shape)
        for index in np.ndindex(one.shape):
            up, down = np.array(one), np.array(one)
            up[index] += step[index]
            down[index] -= step[index]
            terms = times(*_slope(meaning(up), here, meaning(down), step[index]), size)
            values[index], bound[index] = (np.sum(term) for term in terms)
    known = np.isfinite(values) & np.isfinite(bound)
    return _Gradient(np.where(known, values, 0), np.where(known, bound, np.inf))


def _slope(up: Array, here: Array, down: Array, step: Array) -> tuple[Array, Array]:
    """A slope, and how far its sides are apart, be it by roundings of theirs."""
    slope = (up - down) / (2 * step)
    rounded = _NOISE * (np.abs(up) + np.abs(down)) / step + _NOISE / _STEP * np.abs(slope)
    return slope, np.abs(up - 2 * here + down) / step + rounded


def _agreed(long: tuple[Array, Array], short: tuple[Array, Array]) -> tuple[Array, Array]:
    """The slope of a long step, which may be off by what that of a short one is known to differ from it."""
    (slope, apart), (other, unsure) = long, short
    differ = np.abs(slope - other)
    return slope, apart + np.where(differ > unsure, differ + unsure, 0)


def _gathered(terms: Array, shape: tuple[int, ...]) -> Array:
    """The sums for the elements that broadcasting repeats."""
    lead = terms.ndim - len(shape)
    axes = (*range(lead), *(lead + axis for axis, extent in enumerate(shape) if extent == 1))
    return np.asarray(terms.sum(axis=axes, keepdims=True)).reshape(shape)


def _row(parts: Sequence[Array]) -> Array:
    return np.concatenate([part.ravel() for part in parts])


def _off(value: Array, trials: Sequence[Array]) -> Array:
    wide = value.astype(np.float64)
    return np.asarray(np.max([np.abs(one.astype(np.float64) - wide) for one in trials], axis=0))
