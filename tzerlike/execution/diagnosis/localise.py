"""The culprit pass of wrong or slow code, as a name that can be part of a signature.

Wrong code is judged on the way: the interpreter says after which pass the program means something else
(tzerlike.findings.bisect). Where it cannot say, and for slow code, the same program is built with fewer passes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.results import BASELINE, CODE_GENERATION, DEFAULT_PIPELINE, Ending, Ran
from tzerlike.core.targets import kind_of_target, target_options
from tzerlike.execution.compare.slowdown import slower
from tzerlike.execution.diagnosis.walk import Walk
from tzerlike.passes.naming import short_name
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.optional import SERIAL_LOOPS

LLVM_OPTIMISATION = "LLVM optimisation"
"""The code is right when LLVM does not optimise it: what TVM tells LLVM, or LLVM itself."""

OPTIONAL = (
    "tirx.StorageRewrite",
    "s_tir.CompactBufferAllocation",
    "s_tir.PlanAndUpdateBufferAllocationLocation",
    "tirx.CommonSubexprElim",
    "s_tir.LoopPartition",
    "tirx.StmtSimplify",
    "s_tir.StmtSimplify",
    "tirx.RemoveNoOp",
    "s_tir.HoistIfThenElse",
    "tirx.UnrollLoop",
    "tirx.NarrowDataType",
    "s_tir.RenormalizeSplitPattern",
    "s_tir.RewriteUnsafeSelect",
    "s_tir.InjectSoftwarePipeline",
    "s_tir.InjectDoubleBuffer",
    "s_tir.InjectVirtualThread",
    "s_tir.InjectPermutedLayout",
    "s_tir.ManifestSharedMemoryLocalStage",
    "s_tir.LowerCrossThreadReduction",
    "s_tir.CanonicalizeLoop",
    "s_tir.AnnotateIrregularLoop",
)
"""Passes of the default pipeline that most programs compile without, the most frequent culprits first."""

_SWITCHES = {"tirx.VectorizeLoop": SERIAL_LOOPS}
"""Passes without which there is no code, and the option under which they leave loops as they are."""

_OVERLOOKED = 4.0
"""A difference of fewer bounds may be no difference to the walk."""

_Run = Callable[[Case], Observation]
TakeWalk = Callable[[Case], Walk | None]
"""Walks along the passes of a case (tzerlike.execution.diagnosis.ask); None where that gave nothing."""

Test = Callable[[Case], bool]


def localised(case: Case, seen: Observation, run: _Run, take_walk: TakeWalk, baseline: str = "") -> Observation:
    """Return `seen` with `results.guilty`, and `deed`, set where a build is to blame; `run` runs a case once.

    Wrong code of the baseline build, or of both, is looked for in the passes of the baseline build. The answer
    is a function of the case, so that it can be part of a signature.
    """
    results = seen.results
    if results is None or not (results.blame or _slow(seen)):
        return seen
    if results.blame:
        at_fault = to_blame(case, results.blame, baseline)
        walk = take_walk(at_fault)
        # Between the passes that make threads of loops and those that place barriers, little is known.
        if kind_of_target(at_fault.target) != "llvm" and (walk is None or len(walk.suspects) != 1):
            walk = None
        results = replace(results, guilty=_of_wrong_code(at_fault, run, walk, _marginal(results.blamed)))
        if walk is not None:
            deed = walk.deed if len(walk.suspects) == 1 else ()
            results = replace(results, deed=deed, misused=walk.misused, misled=walk.misled)
            if walk.breaks:
                results = replace(results, verdict="undefined", rule=walk.breaks, where=walk.detail)
        return replace(seen, results=results)

    def faulty(other: Case) -> bool:
        return _slow(run(other))

    def cured(other: Case) -> bool:
        again = run(other)
        return _right(again) and not _slow(again)

    return replace(seen, results=replace(results, guilty=_guilty(case, faulty, cured)))


def to_blame(case: Case, blame: str, baseline: str = "") -> Case:
    """Return the case whose build is the one to blame: the baseline build of `case`, or `case` itself."""
    return baseline_case(case, baseline) if blame in (BASELINE, "both") else case


def _marginal(ran: Ran) -> bool:
    """Whether the walk may overlook it: there the errors of both computations count, here of one alone."""
    found = ran.difference
    if found is None or found.nature == "outside" or not found.dtype.startswith(("float", "bfloat")):
        return False
    return abs(float(found.got) - float(found.expected)) <= _OVERLOOKED * float(found.bound)


def _of_wrong_code(case: Case, run: _Run, walk: Walk | None, marginal: bool) -> str:
    def faulty(other: Case) -> bool:
        again = run(other).results
        return again is not None and again.defined and again.optimised.ending.wrong

    def cured(other: Case) -> bool:
        return _right(run(other))

    if walk is None:
        return _guilty(case, faulty, cured)
    suspects = walk.suspects or walk.unjudged
    if len(walk.suspects) == 1:
        return short_name(walk.suspects[0])
    if not walk.suspects:
        if not _at_level_zero(case) and cured(_without_llvm(case)):
            return LLVM_OPTIMISATION
        if not suspects:
            found = (name for name in OPTIONAL if marginal and cured(_disabled(case, name)))
            return next(map(short_name, found), CODE_GENERATION)
    only = next((name for name in suspects if cured(_without(case, name))), None)
    return _either(suspects) if only is None else short_name(only)


def _right(seen: Observation) -> bool:
    return seen.results is not None and seen.results.optimised.ending is Ending.AGREES


def _slow(seen: Observation) -> bool:
    timing = None if seen.results is None else seen.results.timing
    return seen.exit is Exit.OK and timing is not None and slower(timing)


def _guilty(case: Case, faulty: Test, cured: Test) -> str:
    """Build with fewer passes: a prefix is cut at the first that brings the fault about; of a pipeline of its own, the
    passes that the default one lacks are left out in turn; of the default pipeline, those that it can do without."""
    plain = replace(case, passes=(), config=replace(case.config, pipeline="default"))
    if (case.config.pipeline == "default" and not case.passes) or faulty(plain):
        if kind_of_target(case.target) == "llvm" and cured(_without_llvm(plain)):
            return LLVM_OPTIMISATION
        return next((short_name(name) for name in OPTIONAL if cured(_disabled(plain, name))), DEFAULT_PIPELINE)
    if case.config.pipeline == "default":
        return short_name(first_fault(case, faulty).name)
    return _first_needed(case, cured)


def _at_level_zero(case: Case) -> bool:
    return target_options(case.target).get("opt-level") == 0


def _without_llvm(case: Case) -> Case:
    return replace(case, target=json.dumps({**target_options(case.target), "opt-level": 0}))


def _without(case: Case, name: str) -> Case:
    """The case without a pass, be it one of its own or one of the default pipeline."""
    return _disabled(replace(case, passes=tuple(spec for spec in case.passes if spec.name != name)), name)


def _disabled(case: Case, name: str) -> Case:
    if (option := _SWITCHES.get(name)) is not None:
        return replace(case, config=replace(case.config, options=(*case.config.options, option)))
    disabled = (*case.config.disabled_passes, name)
    return replace(case, config=replace(case.config, disabled_passes=disabled))


def first_fault(case: Case, faulty: Test) -> PassSpec:
    """The pass of a prefix at which a fault occurs, by bisection of the prefix.

    The fault is not there without passes, and there with all.
    """
    good, bad = 0, len(case.passes)
    while bad - good > 1:
        middle = (good + bad) // 2
        if faulty(replace(case, passes=case.passes[:middle])):
            bad = middle
        else:
            good = middle
    return case.passes[bad - 1]


def _first_needed(case: Case, cured: Test) -> str:
    """The first pass that the default pipeline lacks and without which all is well; "" if there is none."""
    usual = Counter(default_pipeline(case.target, ContextConfig(options=case.config.options)).passes)
    for index, spec in enumerate(case.passes):
        if usual[spec]:
            usual[spec] -= 1
        elif cured(replace(case, passes=case.passes[:index] + case.passes[index + 1 :])):
            return short_name(spec.name)
    return ""


def _either(names: Sequence[str]) -> str:
    """A name for passes that cannot be distinguished: the first and the last."""
    first, last = short_name(names[0]), short_name(names[-1])
    return first if first == last else f"{first} to {last}"
