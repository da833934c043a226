"""Source code that makes the input values of a model."""

from __future__ import annotations

import base64
import textwrap
import zlib
from collections.abc import Sequence
from random import Random

import numpy as np

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.targets import target_options
from tzerlike.findings.issue.literal import array_source, number_source, python_source
from tzerlike.graph.importers import importer_in
from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.model import Model, Origin
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT
from tzerlike.graph.stored import model_of
from tzerlike.graph.values import drawn_values, whole_range
from tzerlike.harnesses.graph.passes import ADJOINT
from tzerlike.systems import tvm_api

_INLINE = 64
"""Elements of an array that are listed; more are packed."""

_LISTED = 64
"""Elements of all arrays together that are listed, though they could be drawn again: a reader wants to see them."""


def run_of(finding: Finding, model: Model) -> tuple[int, int]:
    """Return the run of a model that a finding of wrong results is of, or the first one; and which output is wrong."""
    results = finding.observation.results
    difference = None if results is None else results.optimised.difference
    if difference is None:
        return 0, 0
    if GRADIENT in finding.case.passes:
        return 0, difference.parameter
    return divmod(difference.parameter, len(model.outputs))


def target_source(target: str) -> str:
    """Return source of a target as TVM's functions take it: its name alone where that says it all."""
    options = target_options(target)
    return (
        python_source(options["kind"]) if set(options) == {"kind"} else f"tvm.target.Target({python_source(options)})"
    )


def result_source(case: Case, number: int, inputs: str) -> str:
    """Return an expression that runs what is `built`, and is the array of one of its results."""
    entry, place = tvm_api.ENTRY, f"[{number}]"
    if GRADIENT in case.passes:
        entry, place = ADJOINT, f"[1][{number - 1}]" if number else "[0]"
    elif (importer := importer_in(case.passes)) and importer.bare and len(model_of(case.ir).outputs) == 1:
        place = ""
    return f'relax.VirtualMachine(built, tvm.cpu())["{entry}"](*map(tvm.runtime.tensor, {inputs})){place}.numpy()'


def sources_source(model: Model, case: Case, run: int = 0) -> list[str]:
    """Return for each source of a model an expression that makes its values in a run: listed where all are few, drawn
    again where they were drawn.

    `np` is in scope, `base64` and `zlib`, and `ml_dtypes` where a dtype is bfloat16.
    """
    one, values = values_of_runs(model, ROWS, case.input_seed)[run]
    few = sum(value.size for value in values) <= _LISTED
    return [_source(origin, value, case, few) for origin, value in zip(one.sources, values, strict=True)]


def inputs_source(model: Model, case: Case, run: int) -> str:
    """Return lines with what comes into a run."""
    values = zip(sources_source(model, case, run), model.sources, strict=True)
    return textwrap.indent("".join(f"{value},\n" for value, one in values if one.kind == "input"), "    ")


def constants_source(model: Model, values: Sequence[str]) -> str:
    """Return lines with a model's constants as items of a dict; `values` are the sources of all that comes in."""
    sources = enumerate(zip(values, model.sources, strict=True))
    items = "".join(f'"x{number}": {value},\n' for number, (value, one) in sources if one.kind == "constant")
    return textwrap.indent(items, "    ")


def values_source(values: Array, dtype: str) -> str:
    """Return an expression that makes an array, its elements listed where they are few and packed otherwise; `dtype` is
    the source of NumPy's type, and the rest as in `sources_source`."""
    if values.size <= _INLINE:
        return array_source(values, dtype)
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 9)).decode()
    return f'np.frombuffer(zlib.decompress(base64.b64decode("{packed}")), {dtype}).reshape({values.shape}).copy()'


def _source(origin: Origin, values: Array, case: Case, few: bool) -> str:
    if not few and np.array_equal(values, drawn_values(origin, case.input_seed)):
        return _drawn(origin, case)
    return values_source(values, _dtype(origin))


def _drawn(origin: Origin, case: Case) -> str:
    seed = Random(f"{origin.seed} {case.input_seed}").getrandbits(64)
    shape = tuple(origin.type.shape)
    if origin.type.dtype == "bool":
        drawn = f"integers(0, 2, {shape})"
    elif (ends := whole_range(origin)) is not None:
        drawn = f"integers({ends[0]}, {ends[1]}, {shape}, endpoint=True)"
    else:
        drawn = f"uniform({number_source(origin.low)}, {number_source(origin.high)}, {shape})"
    values = f"np.random.default_rng({seed}).{drawn}"
    return f"{values if shape else f'np.asarray({values})'}.astype({_dtype(origin)})"


def _dtype(origin: Origin) -> str:
    return {"bool": "bool", "bfloat16": "ml_dtypes.bfloat16"}.get(origin.type.dtype, f'"{origin.type.dtype}"')
