"""Checks of a stored model before TVM sees any of it."""

from __future__ import annotations

import re
from functools import lru_cache

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.errors import UserError
from tzerlike.core.targets import checked_target
from tzerlike.graph.disrupt import wrong_disruption
from tzerlike.graph.model import Model, read_model
from tzerlike.graph.sound import unsound
from tzerlike.graph.spec import ROWS
from tzerlike.graph.symbols import wrong_symbols

WITHOUT_CHECKS = ContextConfig(options=(("tirx.disable_assert", True),))
"""Functions do not check their arguments: half of the time of a build goes into code for that."""

WITHOUT_PLANNING = ContextConfig(disabled_passes=("StaticPlanBlockMemory",))
"""Each tensor has memory of its own."""

_PASS_NAME = re.compile(r"relax\.[A-Za-z_][A-Za-z0-9_]{0,99}")


@lru_cache(64)
def model_of(ir: str) -> Model:
    """Return the model of a case; UserError in a line where it does not read, or may not run."""
    model = read_model(ir)
    problem = wrong_disruption(model, ROWS) if model.disrupted else unsound(model, ROWS) or wrong_symbols(model, ROWS)
    if problem:
        raise UserError(f"model: {problem}")
    return model


def require_model(case: Case) -> None:
    """UserError unless a case is a model that keeps to its rows, with passes of Relax that take no arguments, or one
    that does not, without passes."""
    try:
        checked_target(case.target)
    except UserError as error:
        raise UserError(f"case.target: {error}") from error
    for spec in case.passes:
        if spec.args or _PASS_NAME.fullmatch(spec.name) is None:
            raise UserError(f"case.passes: {spec} is not a Relax pass without arguments")
    if case.config not in (ContextConfig(), WITHOUT_CHECKS, WITHOUT_PLANNING):
        raise UserError(
            "case.config: a model is built in the default pipeline, with or without argument checks and "
            "planning of memory"
        )
    if model_of(case.ir).disrupted and case.passes:
        raise UserError("case.passes: a model that TVM should refuse goes through no passes")


def operators_of(ir: str) -> tuple[str, ...]:
    """Return the operators in the text of a model, sorted, each once; empty where the text is no model."""
    try:
        model = read_model(ir)
    except (UserError, ValueError):
        return ()
    return tuple(sorted({vertex.operator for vertex in model.vertices}))
