"""The crash oracle: the compiler died, did not terminate, or used up all memory.

A signature holds the kind, the stage, the pass and the top frames, and never an address: a crash inside
a pass has one signature whether the pass ran from a case's sequence or from the default pipeline. Its probe is for
mutations that killed their process, in code of the compiler that makes programs.
"""

from __future__ import annotations

import re
import signal
from collections import Counter

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.oracles.protocol import Account, Environment, Probe
from tzerlike.passes.facts import facts_of
from tzerlike.passes.naming import short_name
from tzerlike.passes.preconditions import left_for_code, out_of_place
from tzerlike.systems import under_test

TOP_FRAMES = 3

SANITIZER = "AddressSanitizer: "
"""How the message of a death begins that AddressSanitizer brought about; its first line names the error."""

_NOT_THE_COMPILER = (
    Stage.COMPILE_DEVICE,
    Stage.INTERPRET,
    Stage.RUN_BASELINE,
    Stage.RUN,
    Stage.COMPARE,
    Stage.DONE,
)
"""Stages in which another compiler than TVM or the program itself runs: what happens there is not for this oracle."""


def judge_crash(case: Case, observation: Observation) -> Finding | None:
    """Return the finding of an observation that ended in a crash, a time-out or out of memory of the compiler.

    Code generation may crash on what a lowering of the case's own leaves: no pipeline would give it that.
    """
    if observation.stage in _NOT_THE_COMPILER or out_of_place(observation.pass_name):
        return None
    generating = observation.exit is Exit.CRASH and observation.stage is Stage.BUILD and not observation.culprit
    if generating and case.config.pipeline == "none" and left_for_code(case.passes, facts_of(case.ir)):
        return None
    where = _place(observation)
    if observation.exit is Exit.CRASH:
        signal_, *frames = manner_of_death(observation)
        died, visiting = (*where, signal_, *frames), _visiting(observation)
        return Finding("crash", died, case, observation, place=(*where, signal_, *visiting) if visiting else ())
    if observation.exit is Exit.TIMEOUT:
        return Finding("hang", where, case, observation)
    if observation.exit is Exit.OOM:
        return Finding("oom", where, case, observation)
    return None


def manner_of_death(observation: Observation) -> tuple[str, ...]:
    """Return what distinguishes crashes at the same place: the signal and the top frames."""
    if observation.stack_overflow:
        return ("stack overflow", *_cycle(observation.backtrace))
    name = signal.Signals(observation.signal).name if observation.signal else "exit"
    if observation.message.startswith(SANITIZER):
        name = observation.message.partition("\n")[0]
    return (name, *_top(observation.backtrace))


def _place(observation: Observation) -> tuple[str, ...]:
    """The stage and the pass; a pass of the default pipeline counts as PASSES like one of the sequence."""
    if observation.culprit and observation.stage in (Stage.PASSES, Stage.BUILD, Stage.BUILD_BASELINE):
        return (Stage.PASSES.value, short_name(observation.culprit))
    return (observation.stage.value,)


def _own(frames: tuple[Frame, ...]) -> list[Frame]:
    code = under_test().code
    return code.telling(filter(code.owns, frames))


def _top(frames: tuple[Frame, ...]) -> tuple[str, ...]:
    return tuple(frame.function for frame in _own(frames)[:TOP_FRAMES])


def _visiting(observation: Observation) -> tuple[str, ...]:
    """The functions that were at work on a node, and what kind of node that was; empty where that does not show.

    How deep the visitor was in the program says nothing of the cause.
    """
    frames, visit = observation.backtrace, under_test().code.visit
    nodes = (re.search(visit, frame.function) for frame in frames)
    at, node = next(((at, node) for at, node in enumerate(nodes) if node), (0, None))
    inside = tuple(frame.function for frame in _own(frames[:at]))
    return (*inside, node[1]) if node and inside and not observation.stack_overflow else ()


def _cycle(frames: tuple[Frame, ...]) -> tuple[str, ...]:
    """The functions of the recursion, sorted: which of them was on top when the stack ended is chance."""
    counts = Counter(frame.function for frame in _own(frames))
    repeated = sorted(name for name, count in counts.items() if count > 1)
    return tuple(repeated[:TOP_FRAMES])


def _owns(finding: Signed, seen: Observation, environment: Environment) -> bool:
    return seen.stage is Stage.MUTATE and seen.exit is Exit.CRASH and "schedule" not in environment


def _account(finding: Signed, seen: Observation, environment: Environment) -> Account:
    return Account(
        expected="The schedule primitive works or raises an exception; it does not crash.",
        place="".join(finding.parts[1:2]),
    )


def _check(environment: Environment) -> None:
    Mutation.from_json(environment.get("mutation", {}))


PROBE = Probe(
    "mutation",
    "tzerlike.oracles.mutation",
    _owns,
    _account,
    _check,
)
