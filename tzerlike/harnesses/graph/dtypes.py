"""In which other dtypes a model shows the same: of a small model that is what a reader asks next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.programs import JudgeCase
from tzerlike.graph.model import Model, model_text
from tzerlike.graph.smaller import with_dtype

_MOST_CALLS = 3
"""Calls of a model at most: of a larger one nobody knows yet what matters."""

_FAMILIES = (
    ("float16", "bfloat16", "float32", "float64"),
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)

_OF_COMPILERS = ("crash", "ice-on-valid")
"""Kinds that do not depend on the values that a model runs on: another dtype has others."""


def dtypes_shown(executor: ForkExecutor, finding: Finding, model: Model, judge: JudgeCase) -> dict[str, list[str]]:
    """Return the dtypes of the `same` finding, and those in which `nothing` is wrong with the same model.

    Both lack those in which the model is something else, or is refused, and where values matter nobody says that
    nothing is wrong. Empty for models with inputs of several such dtypes, and for large ones.
    """
    if finding.kind not in (*_OF_COMPILERS, "wrong-code") or len(model.vertices) > _MOST_CALLS:
        return {}
    shown: dict[str, list[str]] = {"same": [], "nothing": []}
    for dtype, case in _in_other_dtypes(finding.case, model):
        found = list(judge(case))
        if any(one.signature == finding.signature for one in found):
            shown["same"].append(dtype)
        elif finding.kind in _OF_COMPILERS and not found and executor.run([case], count=False)[0].exit is Exit.OK:
            shown["nothing"].append(dtype)
    return shown


def _in_other_dtypes(case: Case, model: Model) -> Iterator[tuple[str, Case]]:
    """The case with its model in each other dtype of the family that its inputs have one of: floats, or integers."""
    dtypes = {one.type.dtype for one in model.sources}
    for family in _FAMILIES:
        own = sorted(dtypes.intersection(family))
        if len(own) == 1:
            for dtype in (one for one in family if one not in own):
                for other in with_dtype(model, own[0], dtype):
                    yield dtype, replace(case, ir=model_text(other))
        if own:
            return
