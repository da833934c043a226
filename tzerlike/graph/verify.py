"""Whether a model obeys the rows of its operators; TVM is not asked."""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.graph.model import Model
from tzerlike.graph.solve import output_types, recognise
from tzerlike.graph.spec.language import Specification


def wrong_vertex(model: Model, rows: Mapping[str, Specification]) -> str:
    """Say which vertex does not keep to its row; "" where all do."""
    types = model.types()
    for number, vertex in model.first_outputs():
        row = rows.get(vertex.row)
        if row is None:
            return f"%{number}: no operator {vertex.row}"
        if any(one >= number for one in vertex.inputs):
            return f"%{number}: an input that comes later"
        known = recognise(row, [types[one] for one in vertex.inputs], vertex.attributes)
        if known is None:
            return f"%{number}: {vertex.row} does not take these inputs and attributes"
        if output_types(row, known) != vertex.outputs:
            return f"%{number}: {vertex.row} does not give these outputs"
    return "" if all(one < len(types) for one in model.outputs) else "an output that there is not"
