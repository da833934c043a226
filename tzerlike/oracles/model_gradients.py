"""The gradient oracle: the output of Relax's pass `Gradient` differs from slopes computed in NumPy.

What is judged the child has looked at (tzerlike.harnesses.graph.building).
"""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Observation
from tzerlike.graph.steps import blames_gradients
from tzerlike.oracles.models import wrong_results


def judge_gradients(case: Case, observation: Observation) -> Finding | None:
    """Return the wrong-code finding of a model whose gradients are wrong: the operator whose gradient it is, or the
    pass where each operator's is right by itself."""
    results = observation.results
    guilty = results is not None and blames_gradients(results.guilty)
    return wrong_results(case, observation) if guilty else None
