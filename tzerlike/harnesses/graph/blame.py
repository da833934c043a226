"""The culprit of wrong results of a model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec

from tzerlike.core.observation import Stage
from tzerlike.core.results import DEFAULT_PIPELINE, GRADIENT_OF, IMPORT_OF, Ending, Ran, Results
from tzerlike.graph.importers import importer_in
from tzerlike.graph.loss import losses_of_calls
from tzerlike.graph.model import Model
from tzerlike.graph.reference import beyond, wrong_calls
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, leading
from tzerlike.graph.stored import WITHOUT_PLANNING
from tzerlike.harnesses.graph.building import LOWERED_ONLY, Building, Run, expected_results, expected_runs, ran
from tzerlike.harnesses.graph.importing import calls_by_themselves, written
from tzerlike.harnesses.graph.written import Unimportable, WrittenModel
from tzerlike.systems.refusal import CompilerRefused, ask_compiler


def with_blame(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Say who is wrong: an operator in the baseline build already, or the first pass with which the results are.

    Nobody is where TVM refuses one of the builds that it takes to say.
    """
    building.channel.note_results(results)
    building.channel.enter_stage(Stage.BUILD_BASELINE)
    first, importer = leading(building.case.passes), importer_in(building.case.passes)
    try:
        built, _ = building.build(building.module(model), first, pipeline=LOWERED_ONLY)
    except CompilerRefused as refusal:
        return replace(results, baseline=Ran(Ending.REFUSED, refusal.message))
    baseline = ran(building, built, runs)
    results = replace(results, baseline=baseline)
    if baseline.ending is Ending.DIFFERS:
        with suppress(CompilerRefused):
            judge = _of_import if importer else _of_gradients if first else _of_operator
            return judge(building, model, runs, results)
    if baseline.ending is not Ending.AGREES:
        return results
    for count in range(len(first), len(building.case.passes) + 1):
        try:
            built, _ = building.build(building.module(model), building.case.passes[:count])
        except CompilerRefused:
            continue
        if ran(building, built, runs).ending.wrong:
            passes = building.case.passes[len(first) : count]
            return replace(results, guilty=passes[-1].name if passes else DEFAULT_PIPELINE)
    return results


def _of_gradients(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge the model without its gradients, then the gradients of each call by itself."""
    bare = Building(replace(building.case, passes=()), building.channel, building.effort)
    built, _ = bare.build(bare.module(model), (), pipeline=LOWERED_ONLY)
    outputs = expected_runs(bare, model)
    if ran(bare, built, outputs).ending.wrong:
        return _of_operator(bare, model, outputs, results)
    (run,) = runs
    for vertex, alone, values in losses_of_calls(model, ROWS, run.sources):
        built, _ = building.build(building.module(alone, values), (GRADIENT,), pipeline=LOWERED_ONLY)
        if ran(building, built, [Run(alone, values, expected_results((GRADIENT,), alone, values))]).ending.wrong:
            return replace(results, guilty=f"{GRADIENT_OF}{vertex.operator}")
    return _unless_errors_grow(results, GRADIENT.name)


def _of_import(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge the model as it is without an import, then the import of each call by itself.

    Nothing is judged that its package computes otherwise, too.
    """
    (run,), step, importer = runs, building.case.passes[0], importer_in(building.case.passes)
    assert importer is not None, "the sequence begins with an import"
    if _otherwise(written(model, run.sources, step), run):
        return Results("unknown", "no-meaning")
    bare = Building(replace(building.case, passes=()), building.channel, building.effort)
    built, _ = bare.build(bare.module(model), (), pipeline=LOWERED_ONLY)
    if ran(bare, built, runs).ending.wrong:
        return _of_operator(bare, model, runs, results)
    for alone, values in calls_by_themselves(model, run.sources):
        with suppress(CompilerRefused, Unimportable):
            call, one = written(alone, values, step), Run(alone, values, expected_results((), alone, values))
            built, _ = building.build(ask_compiler(call.importer()), (), pipeline=LOWERED_ONLY)
            if ran(building, built, [one]).ending.wrong and not _otherwise(call, one):
                return replace(results, guilty=f"{IMPORT_OF}{call.operators()}")
    return _unless_errors_grow(results, importer.name)


def _otherwise(model: WrittenModel, run: Run) -> bool:
    """Whether the package that a model is written with does not compute what we expect, or does not compute it."""
    inputs = [value for value, one in zip(run.sources, run.model.sources, strict=True) if one.kind == "input"]
    try:
        found = model.computed(inputs)
    except Unimportable:
        return True
    return found is not None and any(
        want.counts and beyond(want.values, want.bound, got).any()
        for want, got in zip(run.expected, found, strict=True)
    )


def _unless_errors_grow(results: Results, guilty: str) -> Results:
    """Blame what is wrong as a whole and right call by call, unless it is by so little that roundings have added up."""
    found = results.baseline.difference
    if found is not None and found.nature == "inaccurate":
        return Results("unknown", "errors-grow")
    return replace(results, guilty=guilty)


def _of_operator(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge each call on what a build gave it. Where none is wrong by itself, errors have grown, and nobody is."""
    first = len(model.sources)
    # Not all that is computed in a function comes out of it, and a closure takes a pass of its own.
    calls = tuple(msgspec.structs.replace(one, within=()) for one in model.vertices)
    bare = msgspec.structs.replace(model, vertices=calls, outputs=tuple(range(first, len(model.types()))))
    built, _ = building.build(building.module(bare), (), pipeline=LOWERED_ONLY)
    for run in runs:
        found = wrong_calls(run.model, ROWS, run.sources, building.outputs(bare, built, run.sources))
        if found:
            return replace(results, guilty=found[0][0].operator)
    return _of_planning(building, model, runs, results)


def _of_planning(building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge a model whose calls are right one by one: with memory of its own for each tensor, errors alone can grow."""
    apart = Building(replace(building.case, config=WITHOUT_PLANNING), building.channel, building.effort)
    built, _ = apart.build(apart.module(model), ())
    if ran(apart, built, runs).ending.wrong:
        return Results("unknown", "errors-grow")
    return replace(results, guilty="StaticPlanBlockMemory")
