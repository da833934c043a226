"""Loads and stores of elements, one or several lanes at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tzerlike.tir.interpreter.fault import BrokenRule
from tzerlike.tir.interpreter.memory import BufferView
from tzerlike.tir.interpreter.state import State

Thunk = Callable[[], Any]

AccessStep = Callable[[BufferView, int, Any], Any]
"""The access of one element: view, position in memory, and the value to store or None."""


def load_step(state: State, tracked: bool) -> AccessStep:
    def load(view: BufferView, position: int, value: Any) -> Any:
        memory = view.memory
        if tracked:
            memory.note_read(position, state.path)
        found = memory.values[position]
        if found is None:
            raise BrokenRule("uninitialised")
        return found

    return load


def store_step(state: State, tracked: bool) -> AccessStep:
    def store(view: BufferView, position: int, value: Any) -> None:
        memory = view.memory
        if tracked:
            memory.note_write(position, state.path)
        memory.values[position] = value

    return store


def scalar_access(
    frame: list[Any], slot: int, places: list[Thunk], value: Thunk | None, step: AccessStep, check: Thunk | None
) -> Thunk:
    def run() -> Any:
        stored = value() if value is not None else None
        indices = tuple([place() for place in places])
        if check is not None:
            check()
        view = frame[slot]
        if view is None:
            raise BrokenRule("unsupported", "a buffer before it has memory")
        return step(view, view.locate(indices), stored)

    return run


def vector_access(
    frame: list[Any],
    slot: int,
    places: list[Thunk],
    widths: list[int],
    value: Thunk | None,
    step: AccessStep,
    check: Thunk | None,
) -> Thunk:
    """Several lanes: of the index, of the buffer's elements, or both."""
    lanes = max(widths, default=1)

    def run() -> Any:
        stored = value() if value is not None else None
        columns = [place() if width > 1 else [place()] * lanes for place, width in zip(places, widths, strict=True)]
        if check is not None:
            check()
        view: BufferView | None = frame[slot]
        if view is None:
            raise BrokenRule("unsupported", "a buffer before it has memory")
        positions = [
            view.locate(indices) + lane
            for indices in (zip(*columns, strict=True) if columns else [()])
            for lane in range(view.lanes)
        ]
        if stored is None:
            return [step(view, position, None) for position in positions]
        if len(set(positions)) < len(positions):
            raise BrokenRule("race", "two lanes of a store write one element")
        for position, element in zip(positions, stored, strict=True):
            step(view, position, element)
        return None

    return run
