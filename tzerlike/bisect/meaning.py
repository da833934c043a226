"""Whether a program still means what it meant: the interpreter's answer on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from tzerlike import reference, tvm_api
from tzerlike.bisect.search import State
from tzerlike.bisect.walk import Change
from tzerlike.inputs import Inputs
from tzerlike.outcome import Difference
from tzerlike.reference import Expected, Judgement, Verdict
from tzerlike.results import compare

_MORE_STEPS = 20
"""How many times the steps of the original a program may take once passes have been at it."""

_SOME_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a program came to; `change`, `detail` and `difference` say what is wrong with a WRONG one."""

    state: State
    change: Change = Change.NONE
    detail: str = ""
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """A defined program with its inputs and what it computes on them."""

    func: Any
    inputs: Inputs
    judgement: Judgement

    def look(self, module: Any) -> Look:
        """Compare what the `main` of `module` means with this.

        UNKNOWN where the interpreter cannot tell: other parameters, something that it does not model, or a result that
        hangs on rounding. An infinity or NaN where there was none is WRONG.
        """
        func = tvm_api.entry_of(module)
        if _parameters(func) != _parameters(self.func):
            return Look(State.UNKNOWN)
        limit = _MORE_STEPS * self.judgement.steps + _SOME_STEPS
        try:
            seen = reference.prepare(func).run(self.inputs.arguments, limit)
        except (MemoryError, RecursionError):
            return Look(State.UNKNOWN)
        if seen.verdict is Verdict.UNDEFINED or seen.rule == "exceptional-value":
            return Look(State.WRONG, Change.UNDEFINED, f"{seen.rule}: {seen.where}")
        if seen.verdict is not Verdict.DEFINED:
            return Look(State.UNKNOWN)
        for position, expected in self.judgement.expected.items():
            difference = self._difference(position, expected, seen.expected[position])
            if difference is not None:
                return Look(State.WRONG, Change.RESULT, str(difference), difference)
        return Look(State.RIGHT)

    def _difference(self, position: int, expected: Expected, got: Expected) -> Difference | None:
        """The first element that no build of the one program and of the other can agree on."""
        parameter = self.inputs.parameters[position]
        first = numpy.asarray(self.inputs.arguments[position])
        both = Expected(expected.values, expected.bound + got.bound)
        return compare(position, parameter.name, str(parameter.dtype), numpy.asarray(got.values), both, first)


def _parameters(func: Any) -> list[tuple[str, int]]:
    """The dtype and the number of dimensions of each parameter; -1 for what is no buffer."""
    found = []
    for param in tvm_api.array_items(func.params):
        if tvm_api.is_buffer(param):
            found.append((str(param.ty.dtype.dtype), len(param.ty.shape)))
        else:
            found.append((str(param.ty), -1))
    return found
