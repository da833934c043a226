"""Two builds of one program side by side: which is slower, and do both compute what the program means?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from tzerlike.core.effort import THOROUGH_STEPS
from tzerlike.core.results import Results, Timing
from tzerlike.coverage import sealed
from tzerlike.execution.compare.inputs import Inputs, inputs_for
from tzerlike.execution.compare.memory import CallMemory
from tzerlike.execution.compare.timing import looks_slow, take_timing, worth_timing
from tzerlike.processes.stack import soil_stack
from tzerlike.systems.refusal import ask_compiler
from tzerlike.tir import interpreter

Function = Callable[..., Any]


class Race:
    """A program on one of the inputs that a seed gives; each build runs on the same memory, after a reset.

    What a function raises is the compiler's: CompilerRefused.
    """

    def __init__(self, func: Any, input_seed: int, attempt: int) -> None:
        """ValueError where there are no such inputs, MemoryError where there is no room for them."""
        inputs: Inputs | None = next(islice(inputs_for(func, input_seed), attempt - 1, None), None)
        if inputs is None:
            raise ValueError(f"no inputs {attempt}")
        self._func, self._inputs, self._attempt = func, inputs, attempt
        self._memory = CallMemory(inputs)

    def worth_timing(self, build: Function) -> bool:
        with sealed():
            return ask_compiler(lambda: worth_timing(self._run(build), self._memory.reset))

    def looks_slow(self, reference: Function, build: Function) -> bool:
        """Whether a few runs suggest that `build` is slower than `reference`."""
        with sealed():
            runs = self._run(reference), self._run(build)
            return ask_compiler(lambda: looks_slow(*runs, self._memory.reset))

    def timed(self, reference: Function, build: Function) -> Timing:
        with sealed():
            runs = self._run(reference), self._run(build)
            return ask_compiler(lambda: take_timing(*runs, self._memory.reset))

    def judged(self, reference: Function, build: Function) -> Results:
        """Interpret the program to its end, and compare what each build computes with that."""
        judgement = interpreter.prepare(self._func).run(self._inputs.arguments, THOROUGH_STEPS)
        results = Results(
            judgement.verdict.value,
            judgement.rule,
            judgement.where,
            judgement.steps,
            self._inputs.scheme,
            self._attempt,
        )
        if not results.defined:
            return results
        self._memory.expect(judgement.expected)
        endings = []
        for function in (reference, build):
            self._memory.reset()
            soil_stack(0)
            with sealed():
                ask_compiler(self._run(function))
            endings.append(self._memory.compared())
        return replace(results, baseline=endings[0], optimised=endings[1])

    def _run(self, build: Function) -> Callable[[], None]:
        return partial(build, *self._memory.arguments)
