"""The program of a model that is imported, in the texts of a bundle."""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.findings.repro import without_idle_imports
from tzerlike.graph.importers import importer_in
from tzerlike.graph.model import Model
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.harnesses.graph.importing import written
from tzerlike.harnesses.graph.program import ModelSource
from tzerlike.harnesses.graph.sources import sources_source


def imported_program(model: Model, case: Case, *, alone: bool = False) -> ModelSource:
    """Return statements that define `Module`, with np, relax, and the names that the importer takes in scope."""
    importer = importer_in(case.passes)
    assert importer is not None, "the sequence begins with an import"
    ((_, values), *_) = values_of_runs(model, ROWS, case.input_seed)
    constants = dict(zip((f"x{n}" for n in range(len(values))), sources_source(model, case), strict=True))
    text = written(model, values, case.passes[0]).source(constants, alone=alone)
    first, last = importer.imports
    imports = "\n".join(("import numpy as np", first, "from tvm import relax", last))
    return ModelSource(text, without_idle_imports(f"{imports}\n\n{text}"))
