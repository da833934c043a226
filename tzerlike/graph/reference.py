"""The results of a model, and how far a correct build may be from them.

Each call is computed on the rounded results of those before it. How errors grow on the way is tried out: the same
is computed again with each result off by some of its bounds. Where that changes much, little is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tzerlike.core.dtypes import parse
from tzerlike.graph.answer import answers, through_half
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, TensorType, Vertex
from tzerlike.graph.solve import recognise
from tzerlike.graph.spec.language import Specification
from tzerlike.graph.valid import valid_values
from tzerlike.graph.values import drawn_values, numpy_dtype

_TRIALS = (4.0, -4.0, 0.0, 0.0)
"""By how many bounds each result of a trial is off; 0 draws it for each element, up to 4."""

GROWTH = 8.0
"""How many times as far off as the trials a build may be."""


@dataclass(frozen=True)
class ExpectedOutput:
    """An output: its values in float64 or its whole dtype, how far off each element may be, and which count.

    `source` is the number of the input that it is the gradient by, where it is one.
    """

    values: Array
    bound: Array
    counts: bool
    source: int | None = None


def source_values(model: Model, rows: Mapping[str, Specification], seed: int) -> list[Array]:
    if model.searched:
        return valid_values(model, rows, seed).values
    return [drawn_values(origin, seed) for origin in model.sources]


def expected_outputs(
    model: Model, rows: Mapping[str, Specification], sources: Sequence[Array], least: float = 0.0
) -> list[ExpectedOutput]:
    """Return what comes out. An output does not count that depends on a result with no meaning, such as an overflow.

    Roundings are as coarse as `least` at least (tzerlike.graph.answer).
    """
    first, *trials = tried(model, rows, sources, least)
    found = []
    for number in model.outputs:
        value, bound, sound = first[number]
        if not sound:
            found.append(ExpectedOutput(value, bound, False))
        elif value.dtype.kind == "f":
            spread = np.max([np.abs(trial[number][0] - value) for trial in trials], axis=0)
            found.append(ExpectedOutput(value, bound + GROWTH * spread, bool(np.all(np.isfinite(spread)))))
        else:
            steady = all(np.array_equal(trial[number][0], value) for trial in trials)
            found.append(ExpectedOutput(value, bound, steady))
    return found


Computed = list[tuple[Array, Array, bool]]
"""Each tensor in float64 or its whole dtype, its own bound, and whether it, and what it is made of, means something."""


def tried(
    model: Model, rows: Mapping[str, Specification], sources: Sequence[Array], least: float = 0.0
) -> list[Computed]:
    """Return what a model computes, and what it does with each result off by some of its bounds, in several ways."""
    rng = np.random.default_rng(0)
    ways: list[_Off] = [lambda bound: None, *(_off_by(share, rng) for share in _TRIALS)]
    with np.errstate(all="ignore"):
        return [_run(model, rows, sources, off, least) for off in ways]


def wrong_calls(
    model: Model, rows: Mapping[str, Specification], sources: Sequence[Array], results: Sequence[Array]
) -> list[tuple[Vertex, int]]:
    """Return the calls, each with the number of its output, that are off by more than their own bounds, judged on what
    a build gave them; `results` are those of all calls, in their order."""
    tensors = [*sources, *results]
    kinds = model.types()
    found = []
    with np.errstate(all="ignore"):
        for first, vertex in model.first_outputs():
            inputs = [tensors[one] for one in vertex.inputs]
            for index, (value, bound) in enumerate(_answers(rows, vertex, inputs, kinds)):
                finite = all(map(_finite, (*inputs, bound))) and _meaningful(rows, vertex, inputs, kinds, index, value)
                if finite and beyond(value, bound, tensors[first + index]).any():
                    found.append((vertex, first + index))
    return found


def beyond(value: Array, bound: Array, built: Array) -> Array:
    """Which elements a build has beyond their bounds; all where the shape is another."""
    if value.shape != built.shape:
        return np.ones(value.shape or (1,), bool)
    if value.dtype.kind != "f":
        return np.asarray(value != built)
    wide = built.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(~(np.abs(wide - value) <= bound) & ~(wide == value))


_Off = Callable[[Array], Array | None]


def _off_by(share: float, rng: np.random.Generator) -> _Off:
    return lambda bound: bound * (share or rng.uniform(-4, 4, bound.shape))


def _run(
    model: Model, rows: Mapping[str, Specification], sources: Sequence[Array], off: _Off, least: float
) -> Computed:
    kinds = model.types()
    tensors = list(sources)
    wide = (one.astype(np.float64) if _is_float(kind) else one for one, kind in zip(sources, kinds, strict=False))
    found: Computed = [(one, np.zeros(one.shape), True) for one in wide]
    if least:
        found = [(one, through_half(one) if one.dtype.kind == "f" else none, good) for one, none, good in found]
        steps = [off(bound) if one.dtype.kind == "f" else None for one, bound, _ in found]
        tensors = [
            one if step is None else (one + step).astype(one.dtype) for one, step in zip(tensors, steps, strict=True)
        ]
        found = [(one, bound, good and _finite(bound)) for one, bound, good in found]
    for _, vertex in model.first_outputs():
        inputs = [tensors[one] for one in vertex.inputs]
        sound = all(found[one][2] for one in vertex.inputs)
        for index, (value, bound) in enumerate(_answers(rows, vertex, inputs, kinds, least)):
            good = sound and _meaningful(rows, vertex, inputs, kinds, index, value) and _finite(bound)
            step = off(bound) if value.dtype.kind == "f" else None
            value = value if step is None else value + step
            found.append((value, bound, good))
            tensors.append(value.astype(numpy_dtype(vertex.outputs[index].dtype)))
    return found


def _answers(
    rows: Mapping[str, Specification],
    vertex: Vertex,
    inputs: Sequence[Array],
    kinds: Sequence[TensorType],
    least: float = 0.0,
) -> list[tuple[Array, Array]]:
    row = rows[vertex.row]
    known = recognise(row, [kinds[one] for one in vertex.inputs], vertex.attributes)
    assert known is not None
    return answers(row, known, inputs, vertex.attributes, vertex.outputs, least)


def _meaningful(
    rows: Mapping[str, Specification],
    vertex: Vertex,
    inputs: Sequence[Array],
    kinds: Sequence[TensorType],
    index: int,
    value: Array,
) -> bool:
    """Whether a result is finite, or a whole number that does not overflow: computed in float64, it is the same."""
    kind = parse(vertex.outputs[index].dtype)
    if value.dtype.kind == "f":
        return _finite(value)
    if vertex.outputs[index].dtype == "bool" or kind is None:
        return True
    try:
        wide: Any = rows[vertex.row].meaning(*[one.astype(np.float64) for one in inputs], **vertex.attributes)
    except (TypeError, IndexError, ValueError):
        # What takes whole numbers alone does not calculate with them, or is made for its inputs.
        return True
    one = np.asarray(wide[index] if isinstance(wide, tuple) else wide)
    return one.dtype.kind != "f" or bool(np.all((one >= kind.low) & (one <= kind.high)))


def _is_float(kind: TensorType) -> bool:
    return "float" in kind.dtype


def _finite(value: Array) -> bool:
    return value.dtype.kind in "iub" or bool(np.all(np.isfinite(value.astype(np.float64))))
