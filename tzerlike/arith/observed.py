"""The analyzer's claims about a problem, to be proved separately, whatever enumeration says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from tzerlike.arith.bridge import Unreadable
from tzerlike.arith.checks import SIMPLIFIERS, Analysis
from tzerlike.arith.claims import Claim
from tzerlike.arith.inspect import AnalysisOutcome, Table, posed, raised_in_analysis
from tzerlike.arith.model import Problem

REWRITING = (*SIMPLIFIERS, "simplify")
"""Checks that claim one expression to be equal to another."""

PROVABLE = ("const_int_bound", "modular_set", "int_set", *REWRITING, "can_prove", "can_prove_equal", "try_compare")


def observed_claims(problem: Problem, checks: dict[str, Analysis]) -> Iterator[tuple[str, Claim]]:
    """Yield what checks claim, with their names; a problem that is defined nowhere has nothing to claim of."""
    table = Table.of(problem)
    if not table.defined:
        return
    with ExitStack() as scope:
        question = posed(table, scope)
        if isinstance(question, AnalysisOutcome):
            return
        for name, check in checks.items():
            if not check.applies(problem):
                continue
            try:
                claims = check.ask(question)
            except Unreadable:
                continue
            except Exception as error:
                if not raised_in_analysis(error):
                    raise
                # An analyzer that raised may have lost track of its constraints: no later check asks it.
                scope.close()
                question = posed(table, scope)
                if isinstance(question, AnalysisOutcome):
                    return
                continue
            yield from ((name, claim) for claim in claims)
