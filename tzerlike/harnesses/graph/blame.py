"""The culprit of wrong results of a model, in a child of its own.

A wrong kernel may write anywhere, and what becomes of the process that ran it is chance: it may die of something else,
or find something else wrong. So a child that has run nothing yet asks who is guilty, and another one goes on where it
dies.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.observation import Stage
from tzerlike.core.results import DEFAULT_PIPELINE, GRADIENT_OF, IMPORT_OF, Ending, Ran, Results
from tzerlike.graph.importers import importer_in
from tzerlike.graph.loss import losses_of_calls
from tzerlike.graph.model import Model
from tzerlike.graph.reference import beyond, wrong_calls
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, leading
from tzerlike.graph.stored import WITHOUT_PLANNING, model_of
from tzerlike.harnesses.graph.asking import Asking
from tzerlike.harnesses.graph.building import (
    LOWERED_ONLY,
    Building,
    Run,
    expected_results,
    expected_runs,
)
from tzerlike.harnesses.graph.gradients import gradients_of, wrong_shape
from tzerlike.harnesses.graph.importing import calls_by_themselves, written
from tzerlike.harnesses.graph.written import Unimportable, WrittenModel
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import stir
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

BLAME = "blame-model"
"""What the job is called."""

_SHAPE = "shape"
"""The nature of results that are wrong whatever their values are."""


def blame_model(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Lay down the Results of a case with who is guilty; the item is that of tzerlike.execution.diagnosis.ask_blame."""
    case, effort = Case.from_json(item["case"]), Effort.from_json(item["effort"])
    stir(effort.layout)
    channel.enter_stage(Stage.BUILD_BASELINE)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    found = with_blame(Building(case, channel, effort), Results.from_json(item["results"]), item["known"])
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result({"results": found.to_json()})


def with_blame(building: Building, results: Results, known: Mapping[str, Any]) -> Results:
    """Say who is wrong: an operator in the baseline build already, or the first pass with which the results are.

    Nobody is where TVM refuses one of the builds that it takes to say.
    """
    asking, model, passes = Asking(building.channel, known), model_of(building.case.ir), building.case.passes
    first, importer = leading(passes), importer_in(passes)
    runs = _of_what_is_wrong(expected_runs(building, model), results)
    try:
        baseline = asking.ran("baseline", building, runs, partial(building.built, model, first, LOWERED_ONLY))
    except CompilerRefused as refusal:
        return replace(results, baseline=Ran(Ending.REFUSED, refusal.message))
    results = replace(results, baseline=baseline)
    if baseline.ending in (Ending.DIFFERS, Ending.DIED):
        with suppress(CompilerRefused):
            judge = _of_import if importer else _of_gradients if first else _of_operator
            return judge(asking, building, model, runs, results)
    if baseline.ending is not Ending.AGREES:
        return results
    for count in range(len(first), len(passes) + 1):
        with suppress(CompilerRefused):
            build = partial(building.built, model, passes[:count])
            if asking.ran(f"{count} passes", building, runs, build).ending.wrong:
                return replace(results, guilty=passes[count - 1].name if count > len(first) else DEFAULT_PIPELINE)
    return results


def _of_what_is_wrong(runs: Sequence[Run], results: Results) -> list[Run]:
    """The runs with that output alone which is wrong: another one may be so by the guilt of another."""
    wrong = results.blamed.difference
    if wrong is None:
        return list(runs)
    before, found = 0, []
    for run in runs:
        places = enumerate(run.expected, before)
        expected = [replace(one, counts=one.counts and at == wrong.parameter) for at, one in places]
        found.append(replace(run, expected=expected))
        before += len(expected)
    return found


def _of_gradients(asking: Asking, building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge the model without its gradients, then the gradients of each call by itself: one that is wrong as the
    results are, in its shape or its values, rather than one that is wrong otherwise."""
    bare = Building(replace(building.case, passes=()), building.channel, building.effort)
    outputs = expected_runs(bare, model)
    if asking.ran("no gradients", bare, outputs, partial(bare.built, model, (), LOWERED_ONLY)).ending.wrong:
        return _of_operator(asking, bare, model, outputs, results)
    (run,), otherwise = runs, None
    losses = list(losses_of_calls(model, ROWS, run.sources))
    if _nature(results.blamed) == _SHAPE:
        for vertex, alone, values in losses:
            if wrong_shape(gradients_of(building, alone, values)):
                return replace(results, guilty=f"{GRADIENT_OF}{vertex.operator}", deed=(_SHAPE,))
    for at, (vertex, alone, values) in enumerate(losses):
        build = partial(building.built, alone, (GRADIENT,), LOWERED_ONLY, values)
        one = Run(alone, values, expected_results((GRADIENT,), alone, values))
        found = asking.ran(f"gradient {at}", building, [one], build)
        if found.ending.wrong:
            blamed = replace(results, guilty=f"{GRADIENT_OF}{vertex.operator}", deed=(_nature(found),))
            if (_nature(found) == _SHAPE) == (_nature(results.blamed) == _SHAPE):
                return blamed
            otherwise = otherwise or blamed
    return otherwise or _unless_errors_grow(results, GRADIENT.name)


def _nature(found: Ran) -> str:
    """In what way a gradient is wrong: one that a process dies of is wrong somewhere else as well."""
    nature = "" if found.difference is None else found.difference.nature
    return nature if nature in (_SHAPE, "inaccurate") else "value"


def _of_import(asking: Asking, building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge the model as it is without an import, then the import of each call by itself.

    Nothing is judged that its package computes otherwise, too. Where TVM lowers some call of the model only as it is
    imported, a call whose import is wrong is judged without it as well.
    """
    (run,), step, importer = runs, building.case.passes[0], importer_in(building.case.passes)
    assert importer is not None, "the sequence begins with an import"
    if _otherwise(written(model, run.sources, step), run):
        return Results("unknown", "no-meaning")
    bare = Building(replace(building.case, passes=()), building.channel, building.effort)
    refused = False
    try:
        if asking.ran("no import", bare, runs, partial(bare.built, model, (), LOWERED_ONLY)).ending.wrong:
            return _of_operator(asking, bare, model, runs, results)
    except CompilerRefused:
        refused = True
    for at, (alone, values) in enumerate(calls_by_themselves(model, run.sources)):
        with suppress(CompilerRefused, Unimportable):
            call, one = written(alone, values, step), Run(alone, values, expected_results((), alone, values))
            build = partial(_imported, building, call)
            if not asking.ran(f"import {at}", building, [one], build).ending.wrong or _otherwise(call, one):
                continue
            build = partial(bare.built, alone, (), LOWERED_ONLY, values)
            if refused and asking.ran(f"no import {at}", bare, [one], build).ending.wrong:
                return replace(results, guilty=alone.vertices[0].operator)
            return replace(results, guilty=f"{IMPORT_OF}{call.operators()}")
    return results if refused else _unless_errors_grow(results, importer.name)


def _imported(building: Building, model: WrittenModel) -> Any:
    return building.build(ask_compiler(model.importer()), (), pipeline=LOWERED_ONLY)[0]


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


def _of_operator(asking: Asking, building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge each call on what a build gave it, or, where that dies, by itself. Where none is wrong, errors have grown,
    and nobody is."""
    first = len(model.sources)
    # Not all that is computed in a function comes out of it, and a closure takes a pass of its own.
    calls = tuple(msgspec.structs.replace(one, within=()) for one in model.vertices)
    bare = msgspec.structs.replace(model, vertices=calls, outputs=tuple(range(first, len(model.types()))))

    def wrong_operator(built: Any) -> str:
        for run in runs:
            found = wrong_calls(run.model, ROWS, run.sources, building.outputs(bare, built, run.sources))
            if found:
                needed = _leading_to(run)
                return next((call for call, tensor in found if tensor in needed), found[0][0]).operator
        return ""

    operator = asking.answer("calls", wrong_operator, partial(building.built, bare, (), LOWERED_ONLY))
    if not isinstance(operator, str):
        operator = _alone(asking, building, runs[0])
    if operator:
        return replace(results, guilty=operator)
    return _of_planning(asking, building, model, runs, results)


def _leading_to(run: Run) -> set[int]:
    """The tensors that the outputs depend on which count."""
    needed = {tensor for tensor, want in zip(run.model.outputs, run.expected, strict=False) if want.counts}
    for first, vertex in reversed(list(run.model.first_outputs())):
        if not needed.isdisjoint(range(first, first + len(vertex.outputs))):
            needed.update(vertex.inputs)
    return needed


def _alone(asking: Asking, building: Building, run: Run) -> str:
    """The operator of the first call that is wrong, or dies, in a model of its own; "" for none."""
    for at, (alone, values) in enumerate(calls_by_themselves(run.model, run.sources)):
        build = partial(building.built, alone, (), LOWERED_ONLY, values)
        one = Run(alone, values, expected_results((), alone, values))
        if asking.ran(f"call {at}", building, [one], build).ending.wrong:
            return alone.vertices[0].operator
    return ""


def _of_planning(asking: Asking, building: Building, model: Model, runs: Sequence[Run], results: Results) -> Results:
    """Judge a model whose calls are right one by one: with memory of its own for each tensor, errors alone can grow."""
    apart = Building(replace(building.case, config=WITHOUT_PLANNING), building.channel, building.effort)
    found = asking.ran("memory apart", apart, runs, partial(apart.built, model, ()))
    return Results("unknown", "errors-grow") if found.ending.wrong else replace(results, guilty="StaticPlanBlockMemory")
