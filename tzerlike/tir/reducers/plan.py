"""Simpler ways to compile a program: fewer passes, fewer options, inputs of the first seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.shrink import Attempt, Reducer, spans
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import Compilation, load
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.tir.order import DEFAULT, DEFAULT_TARGET, may_be_left_out, usual_argument


def default_plan(case: Case) -> Iterator[Attempt[Case]]:
    """The default pipeline after no passes at all, after those that it lacks, and after all that there are."""
    plain = replace(case, config=replace(case.config, pipeline="default"))
    if case.config.pipeline != "default":
        usual = {spec.name for spec in default_pipeline(case.target, ContextConfig()).passes}
        unusual = tuple(spec for spec in case.passes if spec.name not in usual)
        for passes in dict.fromkeys(((), unusual, case.passes)):
            yield partial(replace, plain, passes=passes)
    elif case.passes:
        yield partial(replace, plain, passes=())


def fewer_passes(case: Case) -> Iterator[Attempt[Case]]:
    """Leave out runs of passes, the long ones first."""
    passes = case.passes
    for start, stop in spans(len(passes)):
        yield partial(replace, case, passes=passes[:start] + passes[stop:])


def fewer_options(case: Case) -> Iterator[Attempt[Case]]:
    """The options, the disabled passes, the target and the input seed as they are when nobody says otherwise."""
    config = case.config
    yield partial(replace, case, config=replace(DEFAULT, pipeline=config.pipeline), target=DEFAULT_TARGET, input_seed=0)
    yield partial(replace, case, config=replace(DEFAULT, pipeline=config.pipeline))
    for start, stop in spans(len(config.options)):
        options = config.options[:start] + config.options[stop:]
        yield partial(replace, case, config=replace(config, options=options))
    for start, stop in spans(len(config.disabled_passes)):
        disabled = config.disabled_passes[:start] + config.disabled_passes[stop:]
        yield partial(replace, case, config=replace(config, disabled_passes=disabled))
    yield partial(replace, case, config=replace(config, opt_level=DEFAULT.opt_level))
    yield partial(replace, case, target=DEFAULT_TARGET)
    yield partial(replace, case, input_seed=0)


def fewer_arguments(case: Case) -> Iterator[Attempt[Case]]:
    """Passes without arguments that need not be given, and with those that TVM's own pipelines give."""
    for place, spec in enumerate(case.passes):
        for index, (name, value) in enumerate(spec.args):
            others = spec.args[:index] + spec.args[index + 1 :]
            if may_be_left_out(spec.name, name):
                yield partial(_with_pass, case, place, PassSpec(spec.name, others))
            if value != (usual := usual_argument(spec.name, name)):
                yield partial(_with_pass, case, place, PassSpec(spec.name, (*others, (name, usual))))


def _with_pass(case: Case, place: int, spec: PassSpec) -> Case:
    return replace(case, passes=(*case.passes[:place], spec, *case.passes[place + 1 :]))


def passes_applied(case: Case) -> Iterator[Attempt[Case]]:
    """The program that the first passes leave, in place of the program with these passes."""
    for count in range(len(case.passes), 0, -1):
        yield partial(_applied, case, count)


def _applied(case: Case, count: int) -> Case | None:
    def work() -> str | None:
        try:
            module = Compilation(case.target, case.config, steps_of(case.passes[:count])).lower(load(case.ir))
            if tvm_api.ENTRY not in {name.name_hint for name in module.functions}:
                return None
            return tvm_api.dump_ir(tvm_api.module_of(tvm_api.entry_of(module).without_attr("target")))
        except CompilerRefused:
            return None

    ir, _ = in_child(work)
    return None if ir is None else replace(case, ir=ir, passes=case.passes[count:])


PLAN: Mapping[str, Reducer[Case]] = {
    "default-plan": default_plan,
    "fewer-passes": fewer_passes,
    "passes-applied": passes_applied,
    "fewer-options": fewer_options,
    "fewer-arguments": fewer_arguments,
}
"""The reducers of this module by name."""
