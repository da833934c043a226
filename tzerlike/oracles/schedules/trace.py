"""A schedule's trace in JSON, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.systems.tvm_api import tvm, tvm_ffi

LOOKS = "Get"
"""What the names of the instructions begin with that leave a schedule as it is."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """An instruction as TVM writes it into JSON; results go by their names, in `inputs` of later ones too."""

    kind: str
    inputs: Any
    attributes: Any
    outputs: tuple[str, ...]

    @property
    def only_looks(self) -> bool:
        return self.kind.startswith(LOOKS)

    def to_json(self) -> list[Any]:
        return [self.kind, self.inputs, self.attributes, list(self.outputs)]


def steps_in(trace: Any) -> list[TraceStep]:
    """Return the steps of a trace in JSON."""
    return [TraceStep(str(kind), given, attributes, tuple(outputs)) for kind, given, attributes, outputs in trace]


def trace_text(steps: Sequence[TraceStep]) -> str:
    """Return the text of a trace without decisions, as TVM writes it."""
    return str(tvm.ir.save_json(tvm_ffi.convert([[step.to_json() for step in steps], []])))


def items_of(value: Any) -> list[Any] | None:
    """The items of a list in a step, which TVM may hold; None of what is no list."""
    lists = isinstance(value, Sequence | tvm_ffi.Array) and not isinstance(value, str)
    return list(value) if lists else None


def strings_in(value: Any) -> Iterator[str]:
    """The strings in an input: results of earlier steps among them."""
    if isinstance(value, str):
        yield str(value)
    for item in items_of(value) or ():
        yield from strings_in(item)
