"""Compiled code that writes where it may not: what it is compared with stays, and what it breaks is its own doing."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import signal
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.puzzles.test_results import judged, parts, program, right, view
from tzerlike.core.effort import Effort
from tzerlike.core.results import Ending
from tzerlike.execution.compare.inputs import inputs_for
from tzerlike.execution.compare.islands import MOAT, Island, Sealed
from tzerlike.execution.compare.memory import CallMemory
from tzerlike.execution.compare.results import STRAYED
from tzerlike.execution.compare.storage import BufferCell
from tzerlike.processes.forked import in_child
from tzerlike.tir.interpreter import Expected

_HEADER = 24
"""Bytes of a tvm_ffi object in front of its DLTensor."""
_SHAPE = 24
"""Where in a DLTensor of a 64-bit machine the pointer to the shape stands: behind data, device, ndim and dtype."""


def shape_of(tensor: Any) -> ctypes.Array[ctypes.c_int64]:
    """The very numbers that compiled code takes for the shape of a tensor."""
    place = ctypes.c_uint64.from_address(tensor.__chandle__() + _HEADER + _SHAPE).value
    return (ctypes.c_int64 * len(tensor.shape)).from_address(place)


def death_of(work: Callable[[], object]) -> int:
    """The signal that a process dies of which does this."""

    def quietly() -> None:
        faulthandler.disable()
        work()

    return in_child(quietly)[1]


def test_a_shape_that_is_overwritten_says_nothing_about_the_result() -> None:
    def lies(a: Any, b: Any) -> None:
        right(a, b)
        sizes = shape_of(b)
        assert list(sizes) == [4, 8], "this is the shape"
        sizes[0], sizes[1] = 1 << 40, 3

    def lies_and_errs(a: Any, b: Any) -> None:
        right(a, b)
        view(b)[2, 3] += 1
        shape_of(b)[0] = 7

    assert parts(judged(lies)) is None
    assert parts(judged(lies_and_errs)) == ("optimised", "int", "value")
    assert judged(lies_and_errs).optimised.difference.size == 32  # type: ignore[union-attr]


def memory_of_example() -> tuple[CallMemory, dict[int, Expected]]:
    inputs = next(iter(inputs_for(program(), 3)))
    a, b = (numpy.array(argument) for argument in inputs.arguments)
    expected = {0: Expected(a, numpy.zeros(a.shape)), 1: Expected(b, numpy.zeros(b.shape))}
    return CallMemory(inputs, expected), expected


def test_what_is_expected_is_out_of_reach_once_it_is_laid_down() -> None:
    memory, expected = memory_of_example()
    for position in expected:
        expected[position].values[...] = 77  # type: ignore[index]
        expected[position].bound[...] = 1e9
    assert memory.compared().ending is Ending.AGREES
    memory.cells[1].body[0] += 1
    assert memory.compared().ending is Ending.DIFFERS


def test_sealed_values_come_back_and_cannot_be_written() -> None:
    arrays = [
        numpy.arange(6.0).reshape(2, 3),
        numpy.zeros((0, 4), numpy.int64),
        numpy.array(True),
        numpy.arange(9)[::2],
    ]
    sealed = Sealed(["notes", 1], arrays)
    notes, again = sealed.open()
    assert notes == ["notes", 1]
    for array, copy in zip(arrays, again, strict=True):
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
        assert numpy.array_equal(copy, array)
        assert not copy.flags.writeable
    place = again[0].ctypes.data
    assert death_of(lambda: ctypes.memset(place, 1, 1)) == signal.SIGSEGV


@pytest.mark.parametrize("distance", [64 << 10, -(64 << 10), MOAT - 1, -MOAT])
def test_a_store_far_beyond_a_buffer_is_the_end_of_the_run(distance: int) -> None:
    memory, _ = memory_of_example()
    body = memory.cells[0].body
    place = body.ctypes.data + distance
    assert death_of(lambda: ctypes.memset(place, 1, 1)) == signal.SIGSEGV
    assert death_of(lambda: ctypes.memset(body.ctypes.data, 1, body.nbytes)) == 0


def test_a_store_to_the_same_page_is_noticed_wherever_it_lands() -> None:
    for place in (0, 1, -1):
        memory, _ = memory_of_example()
        island: Island = memory.cells[1]._island
        island.bytes[place] ^= 1
        difference = memory.compared().difference
        assert difference is not None
        assert (difference.name, difference.nature) == ("B", "outside")


def test_a_buffer_is_aligned_to_what_is_promised_and_no_more() -> None:
    memory, _ = memory_of_example()
    assert {cell.body.ctypes.data % 128 for cell in memory.cells.values()} == {64}


def breaking(monkeypatch: pytest.MonkeyPatch, what: str) -> Callable[..., None]:
    """A function that computes what it should and leaves something behind in which a method of BufferCell raises."""

    def breaks(a: Any, b: Any) -> None:
        right(a, b)

        def broken(cell: BufferCell) -> None:
            raise ValueError("operands could not be broadcast together with shapes (4,8) (4,93824992)")

        monkeypatch.setattr(BufferCell, what, broken)

    return breaks


@pytest.mark.parametrize("what", ["intact", "values"])
def test_what_fails_behind_a_run_and_not_before_is_due_to_the_run(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def never(a: Any, b: Any) -> None:
        pytest.fail("nothing runs in a process that was written over")

    results = judged(breaking(monkeypatch, what))
    assert (results.baseline.ending, results.optimised) == (Ending.AGREES, STRAYED)
    assert parts(results) == ("optimised", "died", STRAYED.message)
    monkeypatch.undo()
    results = judged(never, breaking(monkeypatch, what))
    assert (results.baseline, results.optimised.ending) == (STRAYED, Ending.NOT_RUN)
    monkeypatch.undo()
    results = judged(never, breaking(monkeypatch, what), effort=Effort(steps=8))
    assert (results.undecided, parts(results)) == (True, None)


def test_what_fails_before_a_run_too_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    breaking(monkeypatch, "values")(*(memory_of_example()[0].arguments))
    with pytest.raises(ValueError, match="broadcast"):
        judged(right)


def test_there_being_no_room_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", full)
    with pytest.raises(MemoryError):
        Island(64)
