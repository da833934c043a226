"""Which pass wrong or slow code is due to, found by building the same program with fewer passes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tzerlike.case import Case, ContextConfig, PassSpec
from tzerlike.observation import Exit, Observation
from tzerlike.oracles.performance import slower
from tzerlike.outcome import Ending
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.results import REFERENCE_CONFIG, REFERENCE_TARGET

DEFAULT_PIPELINE = "default pipeline"
CODE_GENERATION = "code generation"
"""The default pipeline's code is right when LLVM does not optimise it: what TVM tells LLVM, or LLVM itself."""

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
"""Passes of the default pipeline that most programs compile without, those that are guilty most often first."""

Run = Callable[[Case], Observation]
Test = Callable[[Case], bool]


def localised(case: Case, seen: Observation, run: Run) -> Observation:
    """Return `seen` with `results.guilty` set where a build is to blame; `run` runs a case once.

    A prefix is cut at the first pass that brings the fault about. Of a pipeline of its own, the passes that the default
    one lacks are left out in turn. Of the default pipeline, the passes that it can do without. The answer is a
    function of the case, so that it can be part of a signature.
    """
    results = seen.results
    if results is None or not (results.blame or _slow(seen)):
        return seen
    if results.blame in ("reference", "both"):
        case = replace(case, passes=(), config=REFERENCE_CONFIG, target=REFERENCE_TARGET)
    speed = not results.blame

    def faulty(other: Case) -> bool:
        again = run(other)
        return _slow(again) if speed else _wrong(again)

    def cured(other: Case) -> bool:
        again = run(other)
        right = again.results is not None and again.results.optimised.ending is Ending.AGREES
        return right and not (speed and _slow(again))

    return replace(seen, results=replace(results, guilty=_guilty(case, faulty, cured)))


def _wrong(seen: Observation) -> bool:
    return seen.results is not None and seen.results.defined and seen.results.optimised.ending.wrong


def _slow(seen: Observation) -> bool:
    timing = None if seen.results is None else seen.results.timing
    return seen.exit is Exit.OK and timing is not None and slower(timing)


def _guilty(case: Case, faulty: Test, cured: Test) -> str:
    plain = replace(case, passes=(), config=replace(case.config, pipeline="default"))
    if (case.config.pipeline == "default" and not case.passes) or faulty(plain):
        if cured(_without_llvm(plain)):
            return CODE_GENERATION
        return next((_short(name) for name in OPTIONAL if cured(_without(plain, name))), DEFAULT_PIPELINE)
    if case.config.pipeline == "default":
        return _short(_first_fault(case, faulty).name)
    return _first_needed(case, cured)


def _without_llvm(case: Case) -> Case:
    target = json.loads(case.target) if case.target.startswith("{") else {"kind": case.target}
    return replace(case, target=json.dumps({**target, "opt-level": 0}))


def _without(case: Case, name: str) -> Case:
    disabled = (*case.config.disabled_passes, name)
    return replace(case, config=replace(case.config, disabled_passes=disabled))


def _first_fault(case: Case, faulty: Test) -> PassSpec:
    """The pass at which the fault comes about, by bisection; it is not there without passes, and there with all."""
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
            return _short(spec.name)
    return ""


def _short(name: str) -> str:
    return name.rpartition(".")[2]
