"""Schedules of a campaign examined: the worker's side."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.core.rng import rng_for
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.inputs import parameters_of
from tzerlike.mutators.schedule import product_intrinsic
from tzerlike.oracles.examiner import Ask, Look, Made, Pieces
from tzerlike.oracles.metamorphic import DIFF, HELD, LIES, OTHER_VALUES, judge_metamorphic
from tzerlike.oracles.protocol import Environment
from tzerlike.oracles.schedules.alone import lay_last_alone
from tzerlike.oracles.schedules.judge import (
    JUDGED,
    MAKERS,
    SAME,
    SUSPECT,
    TO_SHOW,
    UNRUN,
    due_to_schedule,
    judge_mutation,
    judge_trace,
)
from tzerlike.oracles.schedules.smaller import smaller_traces
from tzerlike.oracles.schedules.stray import stray_source
from tzerlike.processes.channel import Channel
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.optional import LEVELS
from tzerlike.systems.tvm_api import entry_of, load_ir, s_tir, tvm


def wants(made: Made) -> bool:
    by_schedule = made.parent is not None and made.mutation is not None and made.mutation.mutator in MAKERS
    return by_schedule and kind_of_target(made.case.target) == "llvm"


def look(ask: Ask, made: Made) -> Look:
    """Look at a mutation by schedule primitives."""
    assert made.parent is not None and made.mutation is not None
    if made.alike:
        return Look(word=SAME)
    case = baseline_case(made.parent, LEVELS)
    coordinates = {**made.mutation.to_json(), "target": kind_of_target(made.case.target)}
    return _looked(ask, case, {"child": made.case.ir, "coordinates": coordinates})


def look_again(ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
    """Look at a schedule given by its trace, on the inputs of an archive or on those of the case's seed."""
    case = baseline_case(case, LEVELS)
    return _looked(ask, case, {"trace": held[HELD]["trace"], "inputs": inputs, "layout": layout})


def smaller(held: Environment) -> Iterator[Environment]:
    """The schedule with fewer or smaller steps, but with the last, which is the one that goes wrong."""
    return ({HELD: {**held[HELD], "trace": trace}} for trace in smaller_traces(held[HELD]["trace"]))


def last_alone(ask: Ask, case: Case, held: Environment) -> tuple[Case, Environment] | None:
    """The program that the last step is given, and what a bundle of that would hold; None where there is no such."""
    records, death = ask({**_item(case), "trace": held[HELD]["trace"], "last": True})
    if death is not None or not records:
        return None
    (found,) = records
    return replace(case, ir=found["ir"]), {HELD: {**held[HELD], "trace": found["trace"]}}


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Judge a schedule: of a mutation, or by its trace; or take its last step alone."""
    if "last" in item:
        lay_last_alone(item, channel)
    else:
        (judge_trace if "trace" in item else judge_mutation)(item, channel, seconds)


def _item(case: Case) -> dict[str, Any]:
    return {"parent": case.ir, "input_seed": case.input_seed}


def _looked(ask: Ask, case: Case, schedule: Mapping[str, Any]) -> Look:
    item = {**_item(case), **schedule}
    records, death = ask(item)
    if not records:
        return Look(word="died")
    first, laid = records[0], _by_word(records)
    if first["word"] != SUSPECT:
        return Look(word=first["word"])
    if JUDGED in laid:
        results = Results.from_json(laid[JUDGED]["results"])
    elif death is not None and death.results is not None:
        results = due_to_schedule(death.results)
        # What was compiled killed the process before anything was shown.
        laid |= _by_word(ask({**item, UNRUN: True})[0])
    else:
        return Look(word="died")
    shown = laid.get(TO_SHOW, {})
    seen = Observation(
        Exit.OK,
        Stage.MUTATE,
        message=str(shown.get("claim") or first["claim"]),
        pass_name=first["primitive"],
        results=replace(results, guilty=first["primitive"]),
    )
    # What a primitive does to what a block reads and to what it writes are two things.
    marks = tuple(re.findall(r'\("(read|write)"', first["calls"][-1]))
    finding = judge_metamorphic(case, seen, marks, tuple(first["slips"]))
    if finding is None:
        return Look(word=f"not borne out: {first['primitive']} {first['claim'].partition(':')[0]}")
    scheduled = {"trace": first["trace"], "calls": first["calls"]}
    held = {HELD: scheduled | ({DIFF: shown[DIFF]} if DIFF in shown else {})}
    archive = base64.b64decode(first["archive"])
    return Look((finding,), "wrong", held=held, archive=archive, repro=partial(_repro, finding, **scheduled))


def _by_word(records: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {record["word"]: record for record in records}


_BEHAVIOUR = """\
Applies a schedule to a program, builds the outcome at LLVM level 0, runs it on the inputs in inputs.npz, next to
this file, and exits non-zero while a result differs from what the program computes without the schedule; inputs.npz has
that too, with the floating-point error that both orders of computation may make (bound). By the interpreter:
"""

_STEPS = """
{intrinsics}# The schedule, in words:
{calls}
schedule = s_tir.Schedule(module, debug_mask=0)
trace = tvm.ir.load_json({trace})
s_tir.schedule.Trace.apply_json_to_schedule(trace, schedule)
module = schedule.mod
print(module.script())
"""


_CHANCE = """
What that does is chance: it may take more than one run, or another machine, to see it in the results.
"""

UNSAID = "without declaring it"
"""In what is said of a block that accesses a buffer which it does not declare at all."""

UNDECLARED = """\
def undeclared(block):
    known, accessed, bounds = [region.source for region in (*block.reads, *block.writes)], [], []

    def own(inner):
        known.extend([*inner.alloc_buffers, *(match.buffer for match in inner.match_buffers)])

    def nested(inner):
        own(inner)
        for region in (*inner.reads, *inner.writes):
            tvm_ffi.structural_walk(region, (tvm.ir.TensorLoad, bounds.append))

    own(block)
    for kind, note in (
        (s_tir.SBlock, nested),
        (tirx.AllocBuffer, lambda node: known.append(node.buffer)),
        (tirx.DeclBuffer, lambda node: known.append(node.buffer)),
        (tvm.ir.TensorLoad, lambda node: accessed.append((node, node.source))),
        (tirx.BufferStore, lambda node: accessed.append((node, node.buffer))),
    ):
        for part in (block.body, block.init):
            if part is not None:
                tvm_ffi.structural_walk(part, (kind, note))
    for bound in bounds:  # a load there is no access, but the same node may be one elsewhere
        accessed.pop(next(i for i, (node, _) in enumerate(accessed) if node.same_as(bound)))
    return [buffer for _, buffer in accessed if not any(buffer.same_as(other) for other in known)]
"""
"""The definition of a function that returns the buffers which a block accesses and does not declare."""

_LIES = '''\
"""{title}

Applies a schedule to a program whose blocks declare what they access, and exits non-zero while one of the outcome,
other than the root, accesses a buffer that it does not declare.
"""

import sys

import tvm
import tvm_ffi
from tvm import s_tir, tirx

{program}
{steps}

{undeclared}

blocks = []
tvm_ffi.structural_walk(module["main"].body.block.body, (s_tir.SBlock, blocks.append))
wrong = {{f"{{block.name_hint}} does not declare {{buffer.name}}" for block in blocks for buffer in undeclared(block)}}
print(*sorted(wrong), sep="\\n")
print("the bug shows" if wrong else "all is declared: the bug does not show")
sys.exit(1 if wrong else 0)
'''


_STRAYS = '''\
"""{title}

Applies a schedule to a program, and exits non-zero while the outcome accesses memory out of bounds or that nobody has
written, or executes a block outside its domain{more},
as the original does not. What it computes is undefined.
"""

import sys

import tvm
from tvm import s_tir

{program}
{steps}

{stray}

found = stray(module)
print(found or "the bug does not show")
sys.exit(1 if found else 0)
'''


_BEYOND = ", or has a block access what it does not declare"


def _repro(finding: Finding, pieces: Pieces, *, trace: str, calls: Sequence[str]) -> str:
    case = finding.case
    parameters = parameters_of(entry_of(load_ir(case.ir)), rng_for(case.input_seed, "inputs")) or ()
    steps = _STEPS.format(
        calls="\n".join(f"# {line}" for line in "\n".join(calls).splitlines()),
        trace=json.dumps(trace),
        intrinsics=intrinsics_in(trace),
    )
    message = finding.observation.message
    rule, texts = message.partition(":")[0], {"title": pieces.title, "program": pieces.program, "steps": steps}
    if rule == LIES and UNSAID in message:
        return _LIES.format(**texts, undeclared=UNDECLARED)
    stray = stray_source(rule == LIES)
    if stray in pieces.test:
        return _STRAYS.format(**texts, stray=stray, more=_BEYOND * (rule == LIES))
    behaviour = _BEHAVIOUR + message
    return pieces.run(behaviour + _CHANCE * (rule not in (OTHER_VALUES, LIES)), steps, parameters, "[module]")


def intrinsics_in(trace: str) -> str:
    """Return the statements that register the tensor intrinsics of ours that a trace names."""
    return "".join(_intrinsic(name) for name in map(product_intrinsic, (False, True)) if json.dumps(name) in trace)


def _intrinsic(name: str) -> str:
    """The statement that registers a tensor intrinsic of ours, which a trace knows by name."""
    found = s_tir.TensorIntrin.get(name)
    parts = (f"tvm.ir.load_json({json.dumps(str(tvm.ir.save_json(part)))})" for part in (found.desc, found.impl))
    return f"s_tir.TensorIntrin.register({name!r}, {', '.join(parts)})\n"
