"""Findings of the arithmetic harness: what they are called, and what distinguishes them.

A wrong answer is known by its analysis and the shape of the reduced problem: operators and dtypes with the constants
left out, so that one wrong rewrite is one finding. A death or an internal error is known by its analysis and the top
frames, like any crash.
"""

from __future__ import annotations

from tzerlike.arith.claims import Counterexample
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Expr, Problem
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.oracles.crash import manner_of_death

WRONG_CODE = "wrong-code"
INTERNAL_ERROR = "ice-on-valid"


def template(problem: Problem) -> str:
    """The shape of a problem: its expressions with `c` for every constant, and its variables' dtypes."""
    names: dict[str, str] = {}
    dtypes = {variable.name: variable.dtype for variable in problem.variables}

    def shape(node: Expr) -> str:
        if node.op == "IntImm":
            return "c"
        if node.op == "Var":
            return names.setdefault(str(node.value), f"v{len(names)}")
        name = f"{node.op}.{node.dtype}" if node.op in ("Cast", "Ramp", "Broadcast") else node.op
        return f"{name}({', '.join(map(shape, node.args))})"

    text = " ? ".join(map(shape, problem.roots))
    given = "".join(f" given {shape(constraint)}" for constraint in problem.constraints)
    kinds = ", ".join(f"{short} {dtypes[name]}" for name, short in names.items())
    return f"{text}{given} [{kinds or problem.root.dtype}]"


def found_in(check: str, problem: Problem, outcome: AnalysisOutcome) -> Signed | None:
    """Return the finding of an analysis that came to an end; None when there is nothing wrong with it."""
    if outcome.wrong is not None:
        return Signed(WRONG_CODE, (check, template(problem)))
    if outcome.refused:
        return Signed(INTERNAL_ERROR, (check, *outcome.error_parts))
    return None


def found_dead(check: str, seen: Observation) -> Signed:
    """Return the finding of an analysis that ended its process."""
    if seen.exit is Exit.CRASH:
        return Signed("crash", (check, *manner_of_death(seen)))
    return Signed("hang" if seen.exit is Exit.TIMEOUT else "oom", (check,))


def observed(check: str, outcome: AnalysisOutcome) -> Observation:
    """Return what a bundle records of an analysis that came to an end."""
    if outcome.wrong is not None:
        return Observation(Exit.OK, Stage.ANALYZE, message=explained(outcome.wrong), pass_name=check)
    return Observation(
        Exit.REJECTED,
        Stage.ANALYZE,
        message=outcome.error[:16_384],
        pass_name=check,
        backtrace=tuple(Frame(name, "") for name in outcome.frames),
    )


def explained(wrong: Counterexample) -> str:
    """One sentence: the claim, where it is false, and both values."""
    values = ", ".join(f"{name} = {value}" for name, value in wrong.assignment.items())
    return f"claims {wrong.claim}; at {values or 'all values'} it is {wrong.expected}, not {wrong.got}"
