"""A child's work on a case that compiled: interpret the program, run both builds, compare.

The interpreter decides. A program that it does not call defined on these inputs is not run at all, since
running it could do anything; one that is over the step budget is run, and both builds are compared with each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy

from tzerlike.core.effort import THOROUGH_STEPS, Effort
from tzerlike.core.observation import Stage
from tzerlike.core.results import NOT_ALLOWED, Ending, Ran, Results
from tzerlike.coverage import sealed
from tzerlike.execution.compare.inputs import Inputs, inputs_for, unpack_inputs
from tzerlike.execution.compare.memory import CallMemory
from tzerlike.passes.label import missing_support
from tzerlike.processes.stack import soil_stack
from tzerlike.systems import tvm_passes
from tzerlike.systems.baseline import REFERENCE_TARGET, baseline_config
from tzerlike.systems.compilation import Compilation, StepNotes
from tzerlike.systems.optional import LEVELS
from tzerlike.systems.refusal import CompilerRefused, ask_compiler, lacks_memory
from tzerlike.tir import interpreter
from tzerlike.tir.allowlist import native
from tzerlike.tir.interpreter import Argument, Expected, Judgement, Verdict
from tzerlike.tir.thread_memory import keeps_to_its_threads

Function = Callable[..., Any]

_OTHER_INPUTS_MAY_DO = frozenset(
    {
        "exceptional-value",
        "intrinsic-domain",
        "integer-overflow",
        "division-by-zero",
        "shift-range",
        "cast-range",
        "float-branch",
        "float-rounding",
    }
)
"""Rules that a program breaks for the values it is given."""

_WHERE_INTEGERS_STEER = frozenset({"out-of-bounds", "negative-extent", "assert", "assume", "race", "uninitialised"})
"""Rules that other inputs help against only where integers come in."""

_MESSAGE = 2048

STRAYED = Ran(Ending.DIED, "it wrote over memory of its process")
"""How a build ended behind which comparing fails."""


class Interpretable(Protocol):
    """A program ready to be interpreted; tzerlike.tir.interpreter.Program is one."""

    @property
    def cost(self) -> int | None: ...

    def run(self, arguments: Sequence[Argument], max_steps: int) -> Judgement: ...


@dataclass(frozen=True, slots=True)
class Builds:
    """Two ways to a compiled function of one program; each may raise CompilerRefused or NotAllowed.

    `baseline` is None where that build is known to be right on these inputs; a Ran in place of a function is how it
    ended without being run. With `spares_baseline` it is not made either where the interpreter knows the results, and
    neither is made there if `lowered_alike` says that the program computes the same once it is lowered.
    """

    baseline: Callable[[], Function | Ran] | None
    optimised: Callable[[], Function | Ran]
    spares_baseline: bool = False
    lowered_alike: Callable[[Inputs, Judgement], bool] = lambda inputs, judgement: False


def compile_baseline(module: Any, notes: StepNotes, baseline: str = "") -> Function | Ran:
    """Return the compiled `main` of the baseline build of `module`; `baseline` is its name.

    Where TVM raises on it, and not with all of its passes, the program is one that needs them: there is no such build.
    CompilerRefused when TVM raises all the same, NotAllowed where it may not run.
    """

    def compiled(name: str) -> Function:
        watch = tvm_passes.PassWatch(notes.note_pass)
        compilation = Compilation(REFERENCE_TARGET, baseline_config(name), instruments=[watch])
        return native.entry_point(module, compilation.build(module))

    try:
        return compiled(baseline)
    except CompilerRefused:
        compiled(LEVELS)
        return Ran()


def judge_builds(
    func: Any,
    builds: Builds,
    input_seed: int,
    effort: Effort,
    notes: StepNotes,
    paced: Callable[[bool], None] = lambda limited: None,
    prepare: Callable[[Any], Interpretable] = interpreter.prepare,
    computed: Callable[[str], object] = lambda digest: None,
) -> Results:
    """Interpret `func` on inputs drawn from `input_seed`; run what `builds` gives on the same inputs, and compare.

    `paced` is called with whether processor time is limited from now on: that of builds and runs is, the interpreter
    counts steps. `computed` is called with the digest of what a defined program computes (`meaning_digest`).
    """
    notes.enter_stage(Stage.INTERPRET)
    paced(False)
    inputs, judgement, results = interpret_seeded(func, input_seed, effort, prepare)
    if inputs is not None and judgement is not None and results.defined:
        computed(meaning_digest(inputs, judgement.expected))
        alike = builds.lowered_alike(inputs, judgement)
    else:
        alike = False
    paced(True)
    notes.note_results(results)
    if inputs is None or judgement is None or alike:
        return results
    expected = judgement.expected if results.defined else None

    def built(build: Callable[[], Function | Ran], stage: Stage) -> Function | Ran:
        notes.enter_stage(stage)
        try:
            return build()
        except CompilerRefused as refusal:
            if refusal.exhausted:
                raise MemoryError(refusal.message) from refusal
            return Ran(Ending.REFUSED, refusal.message[:_MESSAGE])

    # Both before either runs: wrong code may leave a process behind in which compiling fails.
    try:
        baseline = None if builds.spares_baseline and results.defined else builds.baseline
        first = built(baseline, Stage.BUILD_BASELINE) if baseline is not None else Ran()
        second = built(builds.optimised, Stage.BUILD)
    except native.NotAllowed as refusal:
        results = replace(results, verdict=Verdict.UNKNOWN.value, rule=NOT_ALLOWED, where=f"not run: {refusal}")
        notes.note_results(results)
        return results
    return _run_both(first, second, inputs, expected, results, effort, notes)


def meaning_digest(inputs: Inputs, expected: Mapping[int, Expected]) -> str:
    """Return what two programs have in common that are given the same arguments, of the same parameters but for their
    names, and compute the same values; the bounds of these may differ."""
    digest = hashlib.sha256()
    for position, (parameter, argument) in enumerate(zip(inputs.parameters, inputs.arguments, strict=True)):
        digest.update(repr(replace(parameter, name="")).encode())
        digest.update(numpy.asarray(argument).tobytes())
        if position in expected:
            digest.update(expected[position].values.tobytes())
    return digest.hexdigest()


def _run_both(
    first: Function | Ran,
    second: Function | Ran,
    inputs: Inputs,
    expected: Mapping[int, Expected] | None,
    results: Results,
    effort: Effort,
    notes: StepNotes,
) -> Results:
    """Run the baseline build and the other, each on its own memory."""
    built = {Stage.RUN_BASELINE: first, Stage.RUN: second}
    # All memory before either runs, too; and what is wrong with comparing shows before: later it is the run's doing.
    memories = {stage: CallMemory(inputs, expected) for stage, made in built.items() if not isinstance(made, Ran)}
    for memory in list(memories.values())[:1]:
        memory.compared()
        memory.as_expected()

    def look(stage: Stage) -> Ran:
        ended = memories[stage].compared()
        if expected is None and stage is Stage.RUN_BASELINE and Stage.RUN in memories:
            memories[Stage.RUN].expect(memories[stage].as_expected())
        return ended

    def ran(stage: Stage) -> Ran:
        function = built[stage]
        if isinstance(function, Ran):
            return function
        notes.enter_stage(stage)
        try:
            ask_compiler(lambda: _called(function, memories[stage], effort.layout))
        except CompilerRefused as refusal:
            return raised(refusal.message)
        # Not before all is compared: what kills the process now did so by writing where it may not.
        ended = _after_run(lambda: look(stage))
        notes.enter_stage(Stage.COMPARE)
        return ended

    results = replace(results, baseline=ran(Stage.RUN_BASELINE))
    notes.note_results(results)
    if results.baseline != STRAYED:
        results = replace(results, optimised=ran(Stage.RUN))
    if results.over_budget:
        results = replace(results, undecided=results.baseline.ending.wrong or results.optimised.ending.wrong)
    return results


def raised(message: str) -> Ran:
    """How a build ended whose function raised. For lack of memory no code is wrong."""
    excused = missing_support(message) or lacks_memory(message)
    return Ran(Ending.REFUSED if excused else Ending.RAISED, message[:_MESSAGE])


def _after_run(look: Callable[[], Ran]) -> Ran:
    """What `look` says of memory after compiled code has run; STRAYED where it raises."""
    try:
        return look()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - it has been tried before: this is what the run left of our own memory
        return STRAYED


def interpret_seeded(
    func: Any, input_seed: int, effort: Effort, prepare: Callable[[Any], Interpretable] = interpreter.prepare
) -> tuple[Inputs | None, Judgement | None, Results]:
    """Interpret `func` under one scheme of inputs after another, until nothing exceptional arises.

    Inputs and judgement are None where there is nothing to run the builds on, or no reason to.
    """
    if not keeps_to_its_threads(func):
        return None, None, Results(Verdict.UNKNOWN.value, "unsupported", "memory of a thread that others use")
    try:
        program = prepare(func)
        judged = None
        for attempt, inputs in enumerate(_inputs(func, input_seed, effort), 1):
            judgement = program.run(inputs.arguments, effort.steps)
            results = Results(
                judgement.verdict.value, judgement.rule, judgement.where, judgement.steps, inputs.scheme, attempt
            )
            judged = (inputs, judgement, results)
            if judgement.rule not in _OTHER_INPUTS_MAY_DO and not (
                judgement.rule in _WHERE_INTEGERS_STEER and _takes_integers(inputs)
            ):
                break
    except MemoryError:
        return None, None, Results(Verdict.UNKNOWN.value, "step-budget", "over the memory limit")
    if judged is None:
        return None, None, Results(Verdict.UNKNOWN.value, "unsupported", "no inputs can be made for a parameter")
    inputs, judgement, results = judged
    affordable = program.cost is not None and program.cost <= THOROUGH_STEPS
    if results.defined or (results.over_budget and affordable and effort.steps < THOROUGH_STEPS):
        return inputs, judgement, results
    return None, None, results


def _inputs(func: Any, input_seed: int, effort: Effort) -> Iterable[Inputs]:
    stored = unpack_inputs(Path(effort.inputs), func) if effort.inputs else None
    return inputs_for(func, input_seed) if stored is None else (stored,)


def _takes_integers(inputs: Inputs) -> bool:
    return any(not parameter.dtype.is_float for parameter in inputs.parameters)


def _called(function: Function, memory: CallMemory, layout: int) -> None:
    soil_stack(layout)
    with sealed():
        function(*memory.arguments)
