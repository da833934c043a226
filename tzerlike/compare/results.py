"""What a child does with a case that compiled: interpret the program, run both builds, compare.

The reference interpreter decides. A program that it does not call defined on these inputs is not run at all, since
running it could do anything; one that is over the step budget is run, and both builds are compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tzerlike import reference, tvm_api
from tzerlike.allowlist import native
from tzerlike.case import ContextConfig, PassSpec
from tzerlike.child.effort import THOROUGH_STEPS, Check, Effort
from tzerlike.child.refusal import CompilerRefused, ask_compiler
from tzerlike.child.stack import soil_stack
from tzerlike.compare.inputs import Inputs, inputs_for, unpack_inputs
from tzerlike.compare.memory import Memory
from tzerlike.compare.timing import looks_slow, take_timing
from tzerlike.coverage import sealed
from tzerlike.observation import Stage
from tzerlike.outcome import NOT_ALLOWED, Ending, Ran, Results
from tzerlike.passes.catalog import instantiate
from tzerlike.reference import Argument, Expected, Judgement, Verdict
from tzerlike.reference_build import REFERENCE_CONFIG, REFERENCE_TARGET

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


class Program(Protocol):
    """A program ready to be interpreted; tzerlike.reference.Program is one."""

    @property
    def cost(self) -> int | None: ...

    def run(self, arguments: Sequence[Argument], max_steps: int) -> Judgement: ...


class Notes(Protocol):
    """Told of each step before it is taken, so that a death can be attributed; `tzerlike.child.tray.Tray` is one."""

    def enter_stage(self, stage: Stage) -> None: ...

    def note_pass(self, name: str) -> None: ...

    def note_results(self, results: Results) -> None: ...


class NoNotes:
    """For callers that do not watch."""

    def enter_stage(self, stage: Stage) -> None:
        return None

    def note_pass(self, name: str) -> None:
        return None

    def note_results(self, results: Results) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Builds:
    """Two ways to a compiled function of one program; each may raise CompilerRefused or NotAllowed.

    `reference` is None where that build is known to be right on these inputs.
    """

    reference: Callable[[], Function] | None
    optimised: Callable[[], Function]


def compile_module(module: Any, target: str, config: ContextConfig, notes: Notes) -> Function:
    """Return the compiled `main` of `module`; CompilerRefused when TVM raises, NotAllowed where it may not run."""
    built = compile_executable(module, target, config, notes)
    return native.entry_point(module, built)


def compile_executable(
    module: Any, target: str, config: ContextConfig, notes: Notes, passes: Sequence[PassSpec] = ()
) -> tvm_api.Built:
    """Return what TVM makes of `module` after `passes`, before machine code; CompilerRefused when it raises."""
    chosen = ask_compiler(lambda: tvm_api.target_of(target))
    context = ask_compiler(lambda: tvm_api.pass_context(config, [tvm_api.PassWatch(notes.note_pass)]))
    with chosen, context:
        module = ask_compiler(lambda: tvm_api.bind_target(module, chosen))
        for spec in passes:
            module = ask_compiler(lambda spec=spec, module=module: instantiate(spec)(module))  # type: ignore[misc]
        built = ask_compiler(lambda: tvm_api.build(module, chosen, config.pipeline))
    notes.note_pass("")
    return built


def compile_reference(module: Any, notes: Notes) -> Function:
    """Return the compiled `main` without optimisation, neither TVM's nor LLVM's; CompilerRefused when TVM raises."""
    return compile_module(module, REFERENCE_TARGET, REFERENCE_CONFIG, notes)


def compare_builds(
    program: Any,
    reference: Any,
    optimised: Any,
    *,
    input_seed: int = 0,
    effort: Effort | None = None,
    target: str = "llvm",
    config: ContextConfig | None = None,
) -> Results:
    """Judge two modules that claim to be `program`: IRModules, each with the entry `main`.

    `reference` is built without optimisation, `optimised` for `target` under `config`. Call it in a child (run_apart):
    what is wrong with a module may kill the process.
    """
    notes = NoNotes()
    builds = Builds(
        lambda: compile_reference(reference, notes),
        lambda: compile_module(optimised, target, config or ContextConfig(), notes),
    )
    return judge_builds(tvm_api.entry_of(program), builds, input_seed, effort or Effort(), notes)


def judge_builds(
    func: Any,
    builds: Builds,
    input_seed: int,
    effort: Effort,
    notes: Notes,
    paced: Callable[[bool], None] = lambda limited: None,
    prepare: Callable[[Any], Program] = reference.prepare,
) -> Results:
    """Interpret `func` on inputs drawn from `input_seed`; run what `builds` gives on the same inputs, and compare.

    `paced` is told whether processor time is limited from now on: builds and runs are, the interpreter counts steps.
    """
    notes.enter_stage(Stage.INTERPRET)
    paced(False)
    inputs, judgement, results = interpret(func, input_seed, effort, prepare)
    paced(True)
    notes.note_results(results)
    if inputs is None or judgement is None:
        return results
    expected: dict[int, Expected] | None = dict(judgement.expected) if results.defined else None

    def built(build: Callable[[], Function], stage: Stage) -> Function | Ran:
        notes.enter_stage(stage)
        try:
            return build()
        except CompilerRefused as refusal:
            if refusal.exhausted:
                raise MemoryError(refusal.message) from refusal
            return Ran(Ending.REFUSED, refusal.message[:_MESSAGE])

    # Both before either runs: wrong code may leave a process behind in which compiling fails.
    try:
        first = built(builds.reference, Stage.BUILD_REFERENCE) if builds.reference is not None else Ran()
        second = built(builds.optimised, Stage.BUILD)
    except native.NotAllowed as refusal:
        results = replace(results, verdict=Verdict.UNKNOWN.value, rule=NOT_ALLOWED, where=f"not run: {refusal}")
        notes.note_results(results)
        return results
    functions: dict[Stage, tuple[Function, Memory]] = {}

    def ran(function: Function | Ran, stage: Stage) -> Ran:
        if isinstance(function, Ran):
            return function
        memory = Memory(inputs)
        notes.enter_stage(stage)
        try:
            ask_compiler(lambda: _called(function, memory, effort.layout))
        except CompilerRefused as refusal:
            return Ran(Ending.RAISED, refusal.message[:_MESSAGE])
        notes.enter_stage(Stage.COMPARE)
        functions[stage] = (function, memory)
        return memory.compared(expected)

    results = replace(results, reference=ran(first, Stage.RUN_REFERENCE))
    notes.note_results(results)
    if expected is None and Stage.RUN_REFERENCE in functions:
        expected = functions[Stage.RUN_REFERENCE][1].as_expected()
    results = replace(results, optimised=ran(second, Stage.RUN))
    if results.over_budget:
        results = replace(results, undecided=results.reference.ending.wrong or results.optimised.ending.wrong)
    if Check.SPEED in effort.checks and len(functions) == 2:
        return _timed(results, *functions.values())
    return results


def interpret(
    func: Any, input_seed: int, effort: Effort, prepare: Callable[[Any], Program] = reference.prepare
) -> tuple[Inputs | None, Judgement | None, Results]:
    """Interpret `func` under one scheme of inputs after another, until nothing exceptional arises.

    Inputs and judgement are None where there is nothing to run the builds on, or no reason to.
    """
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


def _called(function: Function, memory: Memory, layout: int) -> None:
    soil_stack(layout)
    with sealed():
        function(*memory.arguments)


def _timed(results: Results, first: tuple[Function, Memory], second: tuple[Function, Memory]) -> Results:
    """Time both builds where a first look says that the optimised one is slow; only a defined program counts."""

    def reset() -> None:
        first[1].reset()
        second[1].reset()

    def run_first() -> None:
        first[0](*first[1].arguments)

    def run_second() -> None:
        second[0](*second[1].arguments)

    with sealed():
        if not looks_slow(run_first, run_second, reset):
            return results
        if not results.defined:
            return replace(results, undecided=results.over_budget)
        return replace(results, timing=take_timing(run_first, run_second, reset))
