"""Which pass made the IR on which a Relax pass fails: the passes of a build, watched while it runs once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.observation import NOT_KEPT, Offence
from tzerlike.graph.relax import relax_accepts
from tzerlike.passes.naming import short_name
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

_relax, _tirx = tvm_api.part("relax"), tvm_api.part("tirx")

_ILL_FORMED = "Relax that its verifier refuses"
_EMPTY_GROUP = "a group of operators that calls none"
_STRAY = "a free variable"

BuildCase = Callable[[Case, Sequence[Any]], None]
"""Builds a case with instruments around its passes; CompilerRefused where TVM refuses it."""


def maker_of_failure(case: Case, failing: str, build: BuildCase) -> Offence | None:
    """Return what an earlier pass left for `failing` to fail on, if without that pass the model builds."""
    watch = _Watch()
    with suppress(CompilerRefused):
        build(case, [watch])
    if watch.fault is not None:
        raise watch.fault
    found = watch.found
    if found is None or found.pass_name == failing or not _builds(_without(case, found.pass_name), build):
        return None
    return found


@tvm_api.tvm.ir.instrument.pass_instrument
class _Watch:
    """Keeps the first pass that leaves what later ones cannot take, and a fault of ours, which TVM would raise."""

    def __init__(self) -> None:
        self.found: Offence | None = None
        self.fault: Exception | None = None

    def run_after_pass(self, module: Any, info: Any) -> None:
        try:
            if self.found is None and (where := _wrong(module)):
                self.found = Offence(NOT_KEPT, str(info.name), "well-formed", where)
        except Exception as error:
            self.fault = error
            raise


def _wrong(module: Any) -> str:
    """What is wrong with a module, "" for nothing that is looked at."""
    if not relax_accepts(module):
        return _ILL_FORMED
    functions = (one for one in module.functions.values() if isinstance(one, _relax.Function))
    grouped = (one for one in functions if one.attrs is not None and "Primitive" in one.attrs)
    if any(not _calls(one) for one in grouped):
        return _EMPTY_GROUP
    kernels = (one for one in module.functions.values() if isinstance(one, _tirx.PrimFunc))
    return _STRAY if any(map(_strays, kernels)) else ""


def _strays(function: Any) -> bool:
    """Whether a function of tensor IR uses a variable that neither its parameters nor their shapes give, or before its
    definition, which the analysis refuses."""
    try:
        found = ask_compiler(lambda: _tirx.analysis.undefined_vars(function.body, tvm_api.given_variables(function)))
    except CompilerRefused:
        return True
    return bool(found) and not {*map(str, found)} <= _axes(function.body)


def _axes(body: Any) -> set[str]:
    """The names of what blocks define, which nobody tells the analysis."""
    found: set[str] = set()

    def note(block: Any) -> None:
        found.update(str(one.var) for one in block.iter_vars)

    tvm_api.structural_walk(body, (tvm_api.s_tir.SBlock, note))
    return found


def _calls(function: Any) -> bool:
    bindings = (one for block in function.body.blocks for one in block.bindings)
    return any(isinstance(one.value, _relax.Call) for one in bindings)


def _without(case: Case, name: str) -> Case:
    passes = tuple(spec for spec in case.passes if short_name(spec.name) != short_name(name))
    config = replace(case.config, disabled_passes=(*case.config.disabled_passes, name))
    return replace(case, passes=passes, config=config)


def _builds(case: Case, build: BuildCase) -> bool:
    try:
        build(case, ())
    except CompilerRefused:
        return False
    return True
