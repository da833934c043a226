"""In which other dtypes, and with which other operators, a model shows the same: of a small one that is what a reader
asks next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.issue.subject import DTYPES_SHOWN, OPERATORS_SHOWN
from tzerlike.findings.programs import JudgeCase
from tzerlike.graph.importers import importer_in
from tzerlike.graph.model import KERNEL, PLAINEST, Model, Vertex, model_text
from tzerlike.graph.smaller import with_dtype, with_operator
from tzerlike.graph.solve import recognise
from tzerlike.graph.spec import ROWS

_MOST_CALLS = 3
"""Calls of a model at most: of a larger one nobody knows yet what matters."""

_FAMILIES = (
    ("float16", "bfloat16", "float32", "float64"),
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)

_OF_OTHERS = ("float32", "int32")
"""Of each family the one that is tried where the model has the other."""

_MOST_OPERATORS = 12
"""Operators that are tried, at most: those whose rows are nearest to that of the model's."""

_UNSAID = frozenset((*PLAINEST, "sum"))
"""Operators that are left of any model: what they compute does not matter."""

_OF_COMPILERS = ("crash", "ice-on-valid")
"""Kinds that do not depend on the values that a model runs on: another dtype has others."""


def variants_shown(executor: ForkExecutor, finding: Finding, model: Model, judge: JudgeCase) -> dict[str, Any]:
    """Return the dtypes and the operators that show a finding, by keys of a bundle's environment; none of large models,
    nor of those that are imported, which another format may not have at all; no dtypes of those with inputs of several
    such, and no operators of those that call several that matter."""
    if finding.kind not in (*_OF_COMPILERS, "wrong-code") or len(model.vertices) > _MOST_CALLS:
        return {}
    if importer_in(finding.case.passes) is not None:
        return {}
    return {DTYPES_SHOWN: _dtypes(executor, finding, model, judge), OPERATORS_SHOWN: _operators(finding, model, judge)}


def _dtypes(executor: ForkExecutor, finding: Finding, model: Model, judge: JudgeCase) -> dict[str, list[str]]:
    """The dtypes of the `same` finding, and those in which `nothing` is wrong.

    Both lack those in which the model is something else, or is refused, and where values matter nobody says that
    nothing is wrong.
    """
    shown: dict[str, list[str]] = {"same": [], "nothing": []}
    for dtype, other in _in_other_dtypes(model):
        case = replace(finding.case, ir=model_text(other))
        found = list(judge(case))
        if any(one.signature == finding.signature for one in found):
            shown["same"].append(dtype)
        elif finding.kind in _OF_COMPILERS and not found and executor.run([case], count=False)[0].exit is Exit.OK:
            shown["nothing"].append(dtype)
    return shown


def _operators(finding: Finding, model: Model, judge: JudgeCase) -> list[str]:
    """The operators that show the same in the place of the one that matters."""
    matter = _that_matter(model)
    if len(matter) != 1:
        return []
    at, own, shown = model.vertices.index(matter[0]), matter[0], []
    for row in _alike(model, own):
        name = ROWS[row].operator
        for other in with_operator(model, at, row):
            found = judge(replace(finding.case, ir=model_text(other)))
            if any(_says_the_same(one, finding, name, own.operator) for one in found):
                shown.append(name)
    return shown


def _that_matter(model: Model) -> list[Vertex]:
    return [one for one in model.vertices if one.operator not in _UNSAID]


def _says_the_same(one: Finding, finding: Finding, name: str, own: str) -> bool:
    """Whether a finding of the operator `name` is another one of the operator `own`."""
    named = tuple(re.sub(rf"\b{re.escape(name)}\b", own, part) for part in one.parts)
    return one.signature == finding.signature or (one.kind, named) == (finding.kind, finding.parts)


def _in_other_dtypes(model: Model) -> Iterator[tuple[str, Model]]:
    """A model in each other dtype of the family that its inputs have one of, as far as they go into what matters:
    floats, or integers; and in one of the other family."""
    matter, taken = _that_matter(model) or model.vertices, set[int]()
    for number, one in reversed([*enumerate(model.vertices, len(model.sources))]):
        if one in matter or number in taken:
            taken.update(one.inputs)
    dtypes = {one.type.dtype for number, one in enumerate(model.sources) if number in taken}
    for family in _FAMILIES:
        own = sorted(dtypes.intersection(family))
        if len(own) == 1:
            for dtype in dict.fromkeys(one for one in (*family, *_OF_OTHERS) if one not in own):
                for other in with_dtype(model, own[0], dtype):
                    yield dtype, other
        if own:
            return


def _alike(model: Model, vertex: Vertex) -> list[str]:
    """The rows of operators that take what a call takes, of those that are nearest to its own in the list of rows."""
    if vertex.is_kernel:
        return []
    kinds, rows = model.types(), list(ROWS)
    inputs, place = [kinds[number] for number in vertex.inputs], rows.index(vertex.row)
    others = (name for name in rows if ROWS[name].operator not in (vertex.operator, KERNEL))
    taking = [name for name in others if recognise(ROWS[name], inputs, vertex.attributes) is not None]
    return sorted(taking, key=lambda name: abs(rows.index(name) - place))[:_MOST_OPERATORS]
