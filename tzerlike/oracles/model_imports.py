"""The import oracle: TVM does not import a model from ONNX or PyTorch, or imports one that computes something else.

What is judged the child has looked at (tzerlike.harnesses.graph.importing).
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Observation
from tzerlike.graph.importers import importer_named
from tzerlike.graph.steps import blames_import
from tzerlike.oracles.models import error_of_model, wrong_results


def judge_imports(case: Case, observation: Observation) -> Finding | None:
    """Return the finding of a model that is imported wrongly, or not at all although it builds without that."""
    if importer_named(observation.culprit):
        return error_of_model(case, observation)
    results = observation.results
    guilty = results is not None and blames_import(results.guilty)
    return wrong_results(case, observation) if guilty else None
