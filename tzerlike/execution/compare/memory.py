"""The arguments of a call in memory, and a build's results, compared element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.core.results import Difference, Ending, Ran
from tzerlike.execution.compare.inputs import BufferParameter, Inputs
from tzerlike.execution.compare.islands import Sealed
from tzerlike.execution.compare.storage import BufferCell
from tzerlike.tir.interpreter import Expected

_INACCURATE = 1e-3
_ALIKE = 1e-2


class CallMemory:
    """The arguments of one call, in memory of its own, and what is expected of it; `cells` are the buffers by position.

    What is expected is out of reach of the call.
    """

    def __init__(self, inputs: Inputs, expected: Mapping[int, Expected] | None = None) -> None:
        """MemoryError where there is no room for it."""
        self._inputs = inputs
        self.cells = {
            position: BufferCell(numpy.asarray(argument), parameter.dtype, parameter.shape, parameter.strides)
            for position, (parameter, argument) in enumerate(zip(inputs.parameters, inputs.arguments, strict=True))
            if isinstance(parameter, BufferParameter)
        }
        self.arguments = [
            self.cells[position].tensor if position in self.cells else argument
            for position, argument in enumerate(inputs.arguments)
        ]
        self.expect(expected)

    def expect(self, expected: Mapping[int, Expected] | None) -> None:
        """Compare with this from now on.

        Sealed are position, name and dtype of each buffer, with its first values and, if known, those expected and
        bounds.
        """
        notes, arrays = [], []
        for position in self.cells:
            parameter = self._inputs.parameters[position]
            notes.append((position, parameter.name, str(parameter.dtype), expected is not None))
            arrays.append(numpy.asarray(self._inputs.arguments[position]))
            if expected is not None:
                arrays += [expected[position].values, expected[position].bound]
        self._sealed = Sealed(notes, arrays)

    def reset(self) -> None:
        for cell in self.cells.values():
            cell.reset()

    def compared(self) -> Ran:
        """Compare with what is expected; where nothing is, only look whether something was written around a buffer."""
        notes, arrays = self._sealed.open()
        sealed = iter(arrays)
        for position, name, dtype, known in notes:
            cell, first, difference = self.cells[position], next(sealed), None
            expected = Expected(next(sealed), next(sealed)) if known else None
            if not cell.intact():
                difference = Difference(position, name, dtype, (), "", "", "", 1, first.size, "outside")
            elif expected is not None:
                difference = compare(position, name, dtype, cell.values(), expected, first)
            if difference is not None:
                return Ran(Ending.DIFFERS, difference=difference)
        return Ran(Ending.AGREES)

    def as_expected(self) -> dict[int, Expected]:
        """What lies here as a coarse expectation of another build: something to look at, not something to judge by."""
        return {position: _coarse(cell.values()) for position, cell in self.cells.items()}


def _coarse(values: NDArray[Any]) -> Expected:
    if values.dtype != numpy.float64:
        return Expected(values, numpy.zeros(values.shape))
    finite = numpy.isfinite(values)
    scale = float(numpy.abs(values[finite]).max(initial=1.0))
    return Expected(numpy.where(finite, values, 0.0), numpy.where(finite, _ALIKE * scale, numpy.inf))


def compare(
    position: int, name: str, dtype: str, got: NDArray[Any], expected: Expected, first: NDArray[Any]
) -> Difference | None:
    """Return the first element of a buffer that is not within its bound, or None.

    `first` are the values before the call. A NaN is within no bound but the infinite one of a coarse expectation.
    """
    values, bound = expected.values, expected.bound
    floating = got.dtype == numpy.float64
    if floating:
        with numpy.errstate(invalid="ignore"):
            wrong = ~(numpy.abs(got - values) <= bound) & ~numpy.isinf(bound)
    else:
        wrong = (got != values) & ~numpy.isinf(bound)
    count = int(numpy.count_nonzero(wrong))
    if not count:
        return None
    index = tuple(int(place) for place in numpy.argwhere(wrong)[0])
    is_, should, was = got[index].item(), values[index].item(), first[index].item()
    return Difference(
        position,
        name,
        dtype,
        index,
        repr(should),
        repr(float(bound[index])),
        repr(is_),
        count,
        int(got.size),
        _nature(is_, should, was, floating),
        int(numpy.count_nonzero(wrong & (got == first))),
    )


def _nature(is_: Any, should: Any, was: Any, floating: bool) -> str:
    if floating and is_ != is_:
        return "nan"
    if floating and abs(is_) == float("inf"):
        return "infinity"
    if is_ == was:
        return "unwritten"
    if floating and abs(is_ - should) <= _INACCURATE * abs(should):
        return "inaccurate"
    return "value"
