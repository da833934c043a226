"""Source that makes the values of what comes into a model, and source of the values that come out."""

from __future__ import annotations

from random import Random

import numpy as np

from tzerlike.core.case import Case
from tzerlike.core.dtypes import parse
from tzerlike.core.finding import Finding
from tzerlike.findings.issue.literal import number_source
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.spec import ROWS
from tzerlike.graph.symbols import runs_of


def run_of(finding: Finding, model: Model) -> tuple[Model, int]:
    """Return the run of a model that a finding of wrong results is of, or the first one; and which output is wrong."""
    results, runs = finding.observation.results, runs_of(model, ROWS)
    difference = None if results is None else results.optimised.difference
    if difference is None:
        return runs[0], 0
    run, output = divmod(difference.parameter, len(model.outputs))
    return runs[run], output


def drawn_sources(model: Model, case: Case) -> list[str]:
    """Return for each source of a model an expression that draws what `tzerlike.graph.values` does.

    `np` is in scope, and `ml_dtypes` where a dtype is bfloat16.
    """
    return [_drawn(origin, case) for origin in model.sources]


def _drawn(origin: Origin, case: Case) -> str:
    seed = Random(f"{origin.seed} {case.input_seed}").getrandbits(64)
    low, high, kind = origin.low, origin.high, parse(origin.type.dtype)
    shape, dtype = tuple(origin.type.shape), f'"{origin.type.dtype}"'
    if origin.type.dtype == "bool":
        drawn, dtype = f"integers(0, 2, {shape})", "bool"
    elif kind is not None and kind.is_int:
        low, high = max(int(np.ceil(low)), kind.low), min(int(np.floor(high)), kind.high)
        drawn = f"integers({low}, {high}, {shape}, endpoint=True)"
    else:
        drawn = f"uniform({number_source(low)}, {number_source(high)}, {shape})"
        dtype = "ml_dtypes.bfloat16" if origin.type.dtype == "bfloat16" else dtype
    values = f"np.random.default_rng({seed}).{drawn}"
    return f"{values if shape else f'np.asarray({values})'}.astype({dtype})"
