"""Does a program mean the same after a schedule? The child's side; nothing here writes files.

The interpreter runs both on the same inputs. Where their results differ beyond both bounds, or the scheduled
program is undefined, the primitive to blame is the first after which that is so, and the compiled program has to bear
it out: a finding is a build of the scheduled program that does not compute what the original says.
"""

from __future__ import annotations

import base64
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tzerlike.core.effort import Effort
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.inputs import Inputs, Parameter, pack_inputs, parameters_of
from tzerlike.execution.compare.memory import compare
from tzerlike.execution.compare.results import Builds, compile_baseline, interpret_seeded, judge_builds
from tzerlike.mutators import MutationEnv
from tzerlike.mutators.schedule import BLOCK_SCHEDULES, LOOP_SCHEDULES, Schedules
from tzerlike.oracles.metamorphic import DIFF, LIES, OTHER_VALUES, PADDING, SLIPPED, method_of
from tzerlike.oracles.schedule_trace import SCHEDULE
from tzerlike.oracles.schedules.documented import documented_use
from tzerlike.oracles.schedules.fitted import schedule_by
from tzerlike.oracles.schedules.poison import Reach, reach_of_poison
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.systems import tvm_api
from tzerlike.systems.optional import LEVELS, baseline_named
from tzerlike.systems.program_diff import program_diff
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import TVM_VERSION, array_items, s_tir, tvm
from tzerlike.tir import interpreter
from tzerlike.tir.honest import honest
from tzerlike.tir.interpreter import Argument, Expected, Judgement, Verdict
from tzerlike.tir.slips import UNSIGNED, slips_of

STEPS = 100_000
"""Scalar operations that the interpreter may take on the original, and four times that on the scheduled program."""

_TELLING = frozenset({"out-of-bounds", "uninitialised", "negative-extent", "block-domain", "alias"})
"""Rules that a schedule must not make a program break. Not among them: what another order of a sum may bring about in a
program that is well (an overflow, a comparison within bounds), and races, whose outcome is chance."""

_KEEP_THE_ORDER = frozenset(
    {
        "Split", "LoopPartition", "Fuse", "Parallel", "Vectorize", "Bind", "Unroll", "AddUnitLoop", "CacheRead",
        "CacheWrite", "CacheInplace", "CacheIndex", "ReIndex", "ComputeAt", "ReverseComputeAt", "ComputeInline",
        "ReverseComputeInline", "DecomposeReduction", "Blockize", "SetScope", "StorageAlign", "RollingBuffer",
        "DecomposePadding", "ReorderBlockIterVar", "GetSBlock", "GetLoops", "GetChildBlocks", "GetProducers",
        "GetConsumers", "GetOutputBlocks", "Annotate", "Unannotate",
    }
)  # fmt: skip
"""Instructions after which every float is still computed by the same operations in the same order."""

SAME = "same"
SUSPECT = "suspect"
JUDGED = "judged"
TO_SHOW = "shown"
"""Words of records, in this order for a suspect: the claim, what the compiled program says to it, what a reader is
shown."""

UNRUN = "unrun"
"""In an item that asks for what is shown without running what is compiled, which may kill the process."""


@dataclass(frozen=True, slots=True)
class Base:
    """The original, as text: defined on `inputs`, with what it computes.

    Text, because some primitives (loop_partition) change the very program that a schedule was made of.
    """

    ir: str
    inputs: Inputs
    judgement: Judgement

    def func(self) -> Any:
        """A copy of the program."""
        return tvm_api.entry_of(tvm_api.load_ir(self.ir))


@dataclass(frozen=True, slots=True)
class ScheduleClaim:
    """How a scheduled program compares with the original.

    `word` is SAME, SUSPECT, or why nothing can be said. For a suspect, `what` says what is wrong by the interpreter:
    the rule that the program breaks, or OTHER_VALUES; `detail` is the place.
    """

    word: str
    what: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A schedule that looks wrong, cut behind the instruction that is to blame; `before` is the program that this was
    given, `child` what it made of it, `slips` are words for what it did, and `said` the first of them in a sentence."""

    primitive: str
    claim: ScheduleClaim
    trace: Any
    before: Any
    child: Any
    slips: tuple[str, ...]
    said: str

    def told(self, detail: str) -> str:
        """What is wrong, with the place as `detail` has it."""
        return f"{self.claim.what}: {'; '.join(filter(None, (detail, self.said)))}"


def base_of(ir: str, input_seed: int, effort: Effort) -> Base | str:
    """Interpret the original; why it says nothing, where TVM does not load it or it is not defined."""
    try:
        func = ask_compiler(lambda: tvm_api.entry_of(tvm_api.load_ir(ir)))
    except CompilerRefused:
        return "does not load"
    inputs, judgement, results = interpret_seeded(func, input_seed, effort)
    if inputs is None or judgement is None or not results.defined:
        return f"{results.verdict} before"
    return Base(ir, inputs, judgement)


def claim_of(base: Base, child: Any) -> ScheduleClaim:
    """Interpret a scheduled program on the inputs of the original and compare."""
    if _kinds(child) != _kinds(base.func()):
        return ScheduleClaim("other parameters")
    judgement = interpreter.prepare(child).run(base.inputs.arguments, 4 * STEPS)
    same = ScheduleClaim(SAME)
    if judgement.rule == LIES:
        # What it computes tells causes apart better than that its regions lie.
        same = ScheduleClaim(SUSPECT, LIES, judgement.where)
        judgement = interpreter.prepare(child, regions=False).run(base.inputs.arguments, 4 * STEPS)
    if judgement.rule == "uninitialised":
        reach = reach_of_poison(base.func(), child, base.inputs.arguments, base.judgement.expected, max_steps=4 * STEPS)
        if reach is Reach.NOWHERE:
            return same
        if reach is not Reach.BESIDE:
            return ScheduleClaim(SUSPECT, PADDING if reach is Reach.PADDING else judgement.rule, judgement.where)
        judgement = interpreter.prepare(child, regions=False, fill=0).run(base.inputs.arguments, 4 * STEPS)
    if judgement.verdict is Verdict.UNDEFINED and judgement.rule in _TELLING:
        return ScheduleClaim(SUSPECT, judgement.rule, judgement.where)
    if judgement.verdict is not Verdict.DEFINED:
        return ScheduleClaim(f"{judgement.verdict.value} after") if same.word == SAME else same
    for position, expected in _widened(base.judgement, judgement).items():
        parameter = base.inputs.parameters[position]
        first: Any = base.inputs.arguments[position]
        got = judgement.expected[position].values
        difference = compare(position, parameter.name, str(parameter.dtype), got, expected, first)
        if difference is not None:
            return ScheduleClaim(SUSPECT, OTHER_VALUES, str(difference))
    return same


def _kinds(func: Any) -> list[tuple[Any, ...]]:
    """What a caller sees of the parameters."""
    params = parameters_of(func, rng_for(0, "kinds"))
    return [] if params is None else [_kind(parameter) for parameter in params]


def _kind(parameter: Parameter) -> tuple[Any, ...]:
    return str(parameter.dtype), getattr(parameter, "shape", None), getattr(parameter, "strides", None)


def _widened(original: Judgement, scheduled: Judgement) -> dict[int, Expected]:
    """The original's results, with bounds that hold for both orders of computation.

    Both bounds hold the value in real numbers, which a schedule does not change: each is off by its own at most.
    """
    return {
        position: Expected(expected.values, expected.bound + scheduled.expected[position].bound)
        for position, expected in original.expected.items()
    }


@dataclass(frozen=True, slots=True)
class Contract:
    """A program that is interpreted as the original, with the bounds of a scheduled one added where it is defined."""

    original: Any
    scheduled: Any

    @property
    def cost(self) -> int | None:
        cost: int | None = self.original.cost
        return cost

    def run(self, arguments: Sequence[Argument], max_steps: int) -> Judgement:
        judgement: Judgement = self.original.run(arguments, max_steps)
        if judgement.verdict is not Verdict.DEFINED:
            return judgement
        other = self.scheduled.run(arguments, 4 * STEPS)
        if other.verdict is not Verdict.DEFINED:
            return judgement
        return replace(judgement, expected=_widened(judgement, other))


def first_wrong(base: Base, schedule: Any) -> Suspect | None:
    """Find the first instruction of a schedule after which the program means something else.

    None where nothing is wrong after all, where a parameter is another now, where a primitive was given what its
    documentation excludes, or where floats of an undefined program have no bound to be held to. CompilerRefused where
    TVM does not apply a trace that it has recorded itself.
    """
    trace = schedule.trace
    order_kept = True
    for count, instruction in enumerate(array_items(trace.insts), 1):
        name = str(instruction.kind.name)
        order_kept = order_kept and name in _KEEP_THE_ORDER
        if name.startswith("Get"):
            continue
        before, prefix = (s_tir.schedule.Trace(array_items(trace.insts)[:length], {}) for length in (count - 1, count))
        if not documented_use(instruction, before, lambda trace: _applied(base.func(), trace)):
            return None
        func = base.func()
        child = _applied(func, prefix)
        if not all(after.same_as(before) for before, after in zip(func.params, child.params, strict=True)):
            # transform_layout gives a parameter another layout: the caller has to know.
            return None
        claim = claim_of(base, child)
        if claim.word != SUSPECT:
            continue
        inexact = any(expected.bound.any() for expected in base.judgement.expected.values())
        if claim.what not in (OTHER_VALUES, LIES) and inexact and not order_kept:
            return None
        given = _applied(base.func(), before)
        slips = () if claim.what == LIES else slips_of(given, child)
        # What goes wrong first is the cause of what is seen; the rest may be its consequence.
        said = next((SLIPPED[word].format(where) for word, where in slips), "")
        signed = tuple(word for word, _ in slips if word != UNSIGNED)
        return Suspect(name, claim, prefix, given, child, signed[:1], said)
    return None


def _as_printed(base: Base, suspect: Suspect) -> dict[str, str]:
    """What a reader is shown of a suspect: what the primitive changes, and the place as it is called there.

    Names are not unique in a program, and those that TVM prints are.
    """
    claim = suspect.claim
    before, after = (tvm_api.module_of(func) for func in (suspect.before, suspect.child))
    shown = {DIFF: program_diff(f"Schedule.{method_of(suspect.primitive)}", before, after)}
    with suppress(CompilerRefused):
        printed = ask_compiler(lambda: tvm_api.entry_of(tvm_api.parse_script(tvm_api.script_of(after))))
        again = claim_of(base, printed)
        if again.what == claim.what:
            shown["claim"] = suspect.told(again.detail)
    return shown


def _applied(func: Any, trace: Any) -> Any:
    schedule = tvm_api.scheduling(tvm_api.module_of(func))
    ask_compiler(lambda: trace.apply_to_schedule(schedule, remove_postproc=False))
    return tvm_api.entry_of(schedule.mod)


MAKERS: Mapping[str, Schedules] = {"schedule-loops": LOOP_SCHEDULES, "schedule-blocks": BLOCK_SCHEDULES}
"""The mutators that schedule, by name."""


def schedule_again(coordinates: Mapping[str, Any], func: Any) -> Any | None:
    """Repeat a mutation of a campaign, given with the kind of its target."""
    mutation = Mutation.from_json(coordinates)
    try:
        return MAKERS[mutation.mutator].schedule(func, mutation.rng, MutationEnv(target=coordinates["target"]))
    except CompilerRefused:
        return None
    except Exception as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        return None


def judge_mutation(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Judge a mutation: `parent` and `child` are their programs, `coordinates` say how the one came of the other."""
    paced = _pace(seconds)
    channel.enter_stage(Stage.INTERPRET)
    child = tvm_api.entry_of(tvm_api.load_ir(item["child"]))
    effort = Effort(steps=STEPS)
    base = base_of(item["parent"], item["input_seed"], effort)
    claim = ScheduleClaim(base) if isinstance(base, str) else claim_of(base, child)
    if isinstance(base, str) or claim.word != SUSPECT:
        channel.add_result({"word": claim.word})
        return
    if not honest(base.func(), base.inputs.arguments, 4 * STEPS):
        channel.add_result({"word": "dishonest before"})
        return
    paced(True)
    schedule = schedule_again(item["coordinates"], base.func())
    if schedule is None or not tvm_api.structural_equal(tvm_api.entry_of(schedule.mod).body, child.body):
        channel.add_result({"word": "not repeated"})
        return
    _bear_out(base, schedule, item, effort, channel, paced)


def judge_trace(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Judge a schedule of `parent` that is given as `trace`, on the archive of `inputs` where there is one."""
    paced = _pace(seconds)
    channel.enter_stage(Stage.INTERPRET)
    effort = Effort(steps=STEPS, inputs=item["inputs"], layout=item["layout"])
    stir(effort.layout)
    base = base_of(item["parent"], item["input_seed"], effort)
    if isinstance(base, str):
        channel.add_result({"word": base})
        return
    if not honest(base.func(), base.inputs.arguments, 4 * STEPS):
        channel.add_result({"word": "dishonest before"})
        return
    paced(True)
    try:
        schedule = schedule_by(item["trace"], base.func)
    except CompilerRefused as refusal:
        channel.add_result({"word": "refused", "message": refusal.message})
        return
    _bear_out(base, schedule, item, effort, channel, paced)


def calls_in(trace: Any) -> list[str]:
    """Return the calls of a trace as TVM writes them; their names alone where it cannot write one but the last."""
    for written in (trace.as_python, partial(_all_but_the_last, trace)):
        with suppress(CompilerRefused):
            return [str(line) for line in ask_compiler(written)]
    return [str(instruction.kind.name) for instruction in tvm_api.array_items(trace.insts)]


def _all_but_the_last(trace: Any) -> list[str]:
    """The calls of a trace, the last one by its JSON: TVM has the wrong types for the text of `decompose_padding`.

    Raises ValueError, a refusal, where that one has attributes, whose names are in no JSON.
    """
    *_, (kind, inputs, attributes, outputs) = array_items(trace.as_json()[0])
    if array_items(attributes):
        raise ValueError(f"no text for {kind} with attributes")
    lines = s_tir.schedule.Trace(array_items(trace.insts)[:-1], {}).as_python()
    call = f"{SCHEDULE}.{method_of(str(kind))}({', '.join(map(str, array_items(inputs)))})"
    made = ", ".join(map(str, array_items(outputs)))
    return [*map(str, lines), f"{made} = {call}" if made else call]


def _pace(seconds: float) -> Callable[[bool], None]:
    def paced(limited: bool) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds if limited else 0)

    return paced


def due_to_schedule(results: Results) -> Results:
    """Results of a build alone, right where one without optimisations is: what else it does wrong is due to these."""
    ran = results.baseline if results.baseline.ending in (Ending.AGREES, Ending.DIED) else results.optimised
    return replace(results, baseline=Ran(), optimised=ran)


def _bear_out(
    base: Base,
    schedule: Any,
    item: Mapping[str, Any],
    effort: Effort,
    channel: Channel,
    paced: Callable[[bool], None],
) -> None:
    """Find what is wrong with a schedule, and lay down that and what the compiled program says to it."""
    paced(False)
    try:
        suspect = first_wrong(base, schedule)
    except CompilerRefused as refusal:
        channel.add_result({"word": "refused", "message": refusal.message})
        return
    if suspect is None:
        channel.add_result({"word": "nothing to claim"})
        return
    original = base.func()
    contract = Contract(interpreter.prepare(original), interpreter.prepare(suspect.child))
    judgement = contract.run(base.inputs.arguments, effort.steps)
    arrays: dict[str, Any] = {}
    for position, expected in judgement.expected.items():
        arrays |= {f"expected{position}": expected.values, f"bound{position}": expected.bound}
    record = {
        "word": SUSPECT,
        "primitive": suspect.primitive,
        "claim": suspect.told(suspect.claim.detail),
        "slips": suspect.slips,
        "trace": str(tvm.ir.save_json(suspect.trace.as_json())),
        "calls": calls_in(suspect.trace),
        "archive": base64.b64encode(pack_inputs(base.inputs, arrays)).decode(),
    }
    channel.add_result(record)
    if not item.get(UNRUN):
        module = tvm_api.module_of(suspect.child)
        plain, built = (
            partial(compile_baseline, module, channel, name) for name in (baseline_named(TVM_VERSION), LEVELS)
        )
        builds = Builds(None if suspect.claim.what == LIES else plain, built)
        results = judge_builds(original, builds, item["input_seed"], effort, channel, paced, lambda func: contract)
        channel.add_result({"word": JUDGED, "results": due_to_schedule(results).to_json()})
    # Last, since printing may kill the process, which is confined and can have no child to do that in.
    channel.add_result({"word": TO_SHOW, **_as_printed(base, suspect)})
