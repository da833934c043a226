"""Programs of a campaign are enlarged, and timed with and without each optimization that changes them, in children."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.enlarge import enlarged
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.compare.speed import Function, Race
from tzerlike.oracles.examiner import Ask, Look, Made
from tzerlike.oracles.performance import HELD, judge_performance
from tzerlike.oracles.protocol import Environment
from tzerlike.passes.facts import Fact, facts_of
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_api, tvm_passes
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.optional import UNASKED
from tzerlike.systems.program_diff import program_diff
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.tir.allowlist import native
from tzerlike.tir.odd.repetition import overwrites
from tzerlike.tir.reducers.program import buffers_of
from tzerlike.tir.tree import Tree

ONE_IN = 32
"""Of how many programs that enter the corpus one is looked at."""

TIMED = "timed"
"""What comes of a look where a clock has been read: no word depends on what it said."""

_CONFIG = ContextConfig()

_SCOPES = ("", "global", "local")
"""Memory that a CPU has; what stands for any other costs time, whatever pass makes little of it."""


def wants(made: Made) -> bool:
    """A share of the new programs; a loop that is to be pipelined costs time on a CPU, whatever pass makes room."""
    new = made.inserted and (made.parent is None or made.mutation is not None)
    drawn = new and kind_of_target(made.case.target) == "llvm" and int(made.case.id[:8], 16) % ONE_IN == 0
    return drawn and Fact.SOFTWARE_PIPELINE not in facts_of(made.case.ir)


def look(ask: Ask, made: Made) -> Look:
    return _looked(ask, made.case, {"attempt": 0, "passes": UNASKED})


def look_again(ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
    """Look at a large program on the inputs of its seed, with the pass that is said to make it slow."""
    return _looked(ask, case, {"attempt": held[HELD]["attempt"], "passes": [held[HELD]["pass"]]})


def _looked(ask: Ask, case: Case, how: Mapping[str, Any]) -> Look:
    records, _ = ask({"ir": case.ir, "input_seed": case.input_seed, **how})
    if not records:
        return Look(word="died")
    last = records[-1]
    if "results" not in last:
        return Look(word=last["word"])
    results = Results.from_json(last["results"])
    large = Case(last["ir"], config=_CONFIG, input_seed=case.input_seed)
    finding = judge_performance(large, Observation(Exit.OK, Stage.DONE, results=results))
    if finding is None:
        return Look(word=TIMED)
    held = {HELD: {"pass": results.guilty, "attempt": results.attempts, "diff": last["diff"]}}
    return Look((finding,), TIMED, held=held, archive=evidence_for(large, results).archive)


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Lay down the word for what came of it, or the large program and the results of what looks slow.

    `item` has the program, a seed and which `attempt` at inputs from it to take: 0 for a program to be enlarged first.
    """
    channel.enter_stage(Stage.INTERPRET)
    signal.setitimer(signal.ITIMER_PROF, 10 * seconds)
    ir, seed, attempt = item["ir"], item["input_seed"], item["attempt"]
    if not attempt:
        large = enlarged(ir, seed)
        if large is None:
            channel.add_result({"word": "of one size"})
            return
        ir, attempt = large.ir, large.attempt
    channel.add_result({"word": "failed"})
    tree = Tree(tvm_api.entry_of(tvm_api.load_ir(ir)))
    if any(overwrites(tree, loop) for loop in tree.of_type(tvm_api.tirx.For)):
        # The faster build may be the one that leaves that out.
        channel.add_result({"word": "overwritten"})
        return
    if any(str(tvm_api.type_of(buffer).storage_scope) not in _SCOPES for buffer in buffers_of(tree)):
        channel.add_result({"word": "memory of a GPU"})
        return
    channel.enter_stage(Stage.BUILD)
    try:
        record = _compared(ir, seed, attempt, item["passes"], channel)
    except (CompilerRefused, native.NotAllowed):
        record = {"word": "refused"}
    channel.add_result(record)


def _compared(ir: str, seed: int, attempt: int, passes: list[str], channel: Channel) -> dict[str, Any]:
    module = load(ir)
    func = tvm_api.entry_of(module)
    trail = tvm_passes.PassTrail(lambda index, name: None)
    build = native.entry_point(module, Compilation("llvm", _CONFIG, instruments=[trail]).build(module))
    changing = [name for name in dict.fromkeys(turn.name for turn in trail.turns) if name in passes]
    race = Race(func, seed, attempt)
    channel.enter_stage(Stage.RUN)
    if not race.worth_timing(build):
        return {"word": TIMED}
    for name in changing:
        other = _without(module, name)
        if race.looks_slow(other, build):
            results = race.judged(other, build)
            if results.defined:
                results = replace(results, guilty=name, timing=race.timed(other, build))
            turn = next(turn for turn in trail.turns if turn.name == name)
            diff = program_diff(name, turn.before, turn.after)
            return {"ir": ir, "results": results.to_json(), "diff": diff}
    return {"word": TIMED}


def _without(module: Any, name: str) -> Function:
    config = replace(_CONFIG, disabled_passes=(name,))
    return native.entry_point(module, Compilation("llvm", config).build(module))
