"""Whether a program still means the same: the interpreter's answer on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from tzerlike.core.dtypes import parse
from tzerlike.core.results import Difference
from tzerlike.execution.compare.inputs import Inputs
from tzerlike.execution.compare.memory import compare
from tzerlike.execution.compare.storage import element_type
from tzerlike.execution.diagnosis.search import Correctness
from tzerlike.execution.diagnosis.unpack import unpacked
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.systems import tvm_api
from tzerlike.tir import interpreter
from tzerlike.tir.interpreter import Argument, Expected, Judgement, Verdict

_MORE_STEPS = 20
"""How many times the steps of the original a program may take once passes have been at it."""

_SOME_STEPS = 100_000

KERNEL_STEPS = 1_200_000
"""Steps that a kernel may take beyond those: schedules fill tiles and blocks of threads, however small the program."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a look at a program came to; `change`, `detail` and `difference` say what is wrong with a WRONG one."""

    state: Correctness
    change: Change = Change.NONE
    detail: str = ""
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """A defined program with its inputs and what it computes on them.

    With `once`, code evaluates the bounds of a loop before the first iteration and never again, as LLVM's does. `spare`
    are steps that what it is compared with may take beyond a multiple of its own.
    """

    func: Any
    inputs: Inputs
    judgement: Judgement
    once: bool = False
    spare: int = _SOME_STEPS

    def look(self, module: Any) -> Inspection:
        """Compare what the `main` of `module` means with this.

        UNKNOWN where the interpreter cannot tell: other parameters, something that it does not model, or a result that
        depends on rounding. An infinity or NaN where there was none is WRONG.
        """
        func = tvm_api.entry_of(module)
        if tvm_api.packed(func):
            func = unpacked(func, self.func)
        arguments = None if func is None else self._arguments(func)
        if arguments is None:
            return Inspection(Correctness.UNKNOWN)
        limit = _MORE_STEPS * self.judgement.steps + self.spare
        try:
            seen = interpreter.prepare(func).run(arguments, limit, once=self.once)
        except (MemoryError, RecursionError):
            return Inspection(Correctness.UNKNOWN)
        if seen.verdict is Verdict.UNDEFINED or seen.rule == "exceptional-value":
            return Inspection(Correctness.WRONG, Change.UNDEFINED, f"{seen.rule}: {seen.where}")
        if seen.verdict is not Verdict.DEFINED:
            return Inspection(Correctness.UNKNOWN)
        for position, expected in self.judgement.expected.items():
            difference = self._difference(position, expected, seen.expected[position])
            if difference is not None:
                return Inspection(Correctness.WRONG, Change.RESULT, str(difference), difference)
        return Inspection(Correctness.RIGHT)

    def _arguments(self, func: Any) -> list[Argument] | None:
        """The arguments as `func` takes them: small floats may have become the integers with their bits."""
        was, now = _parameters(self.func), _parameters(func)
        if len(was) != len(now):
            return None
        arguments: list[Argument] = []
        for argument, before, after in zip(self.inputs.arguments, was, now, strict=True):
            if before == after:
                arguments.append(argument)
            elif after == (_stored_as(before[0]), before[1]):
                kind = _element_of(before[0])
                arguments.append(numpy.asarray(argument).astype(kind).view(f"u{kind.itemsize}").astype(numpy.uint64))
            else:
                return None
        return arguments

    def _difference(self, position: int, expected: Expected, got: Expected) -> Difference | None:
        """The first element that no build of the one program and of the other can agree on."""
        parameter = self.inputs.parameters[position]
        dtype = str(parameter.dtype)
        first = numpy.asarray(self.inputs.arguments[position])
        values = numpy.asarray(got.values)
        if expected.values.dtype == numpy.float64 and values.dtype != numpy.float64:
            kind = _element_of(dtype)
            values = values.astype(f"u{kind.itemsize}").view(kind).astype(numpy.float64)
        both = Expected(expected.values, expected.bound + got.bound)
        return compare(position, parameter.name, dtype, values, both, first)


def _parameters(func: Any) -> list[tuple[str, int]]:
    """The dtype and the number of dimensions of each parameter; -1 for what is no buffer."""
    return [
        (str(tvm_api.type_of(param).dtype.dtype), len(tvm_api.type_of(param).shape))
        if tvm_api.is_buffer(param)
        else (str(tvm_api.type_of(param)), -1)
        for param in tvm_api.params_of(func)
    ]


def _stored_as(text: str) -> str:
    """The dtype that the legalisation of storage puts in place of one; "" where it leaves it."""
    dtype = parse(text)
    if dtype is None or not dtype.is_float or not text.startswith(("bfloat16", "float8")):
        return ""
    return f"uint{dtype.bits}" + (f"x{dtype.lanes}" if dtype.lanes > 1 else "")


def _element_of(text: str) -> numpy.dtype[Any]:
    """NumPy's type of an element of a small float dtype, whose bits an integer may hold."""
    dtype = parse(text)
    kind = None if dtype is None else element_type(dtype)
    assert kind is not None
    return kind
