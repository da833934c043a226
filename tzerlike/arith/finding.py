"""Findings of the arithmetic harness: their titles, and what distinguishes them.

Its title says which analysis was asked and the shape of the reduced problem: operators and dtypes with the constants
left out, or the top frames of a death. Its signature goes by the cause (tzerlike.arith.cause); of an internal error by
the condition that did not hold and the analysis that was under way, of a death by that condition alone, where it says
one.
"""

from __future__ import annotations

import re
from functools import partial

from tzerlike.arith.cause import OVERFLOW, cause_of_answer, code_of, is_unsigned, top_of, way_of
from tzerlike.arith.checks import Analysis
from tzerlike.arith.claims import Counterexample
from tzerlike.arith.inspect import AnalysisOutcome, Table, run_analysis
from tzerlike.arith.model import Expr, Problem
from tzerlike.core.finding import Signed
from tzerlike.core.frames import function_name
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.core.refused import refusal_in
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


def found_in(name: str, problem: Problem, outcome: AnalysisOutcome, check: Analysis) -> Signed | None:
    """Return the finding of an analysis that came to an end; None when there is nothing wrong with it.

    `check` is asked about problems like this one, to see what the cause is.
    """
    if outcome.wrong is not None:
        cause = cause_of_answer(name, problem, outcome.wrong, partial(_wrong, check))
        return Signed(WRONG_CODE, (name, template(problem)), bare=cause)
    if outcome.refused:
        raised = _raised(name, problem, outcome, check)
        return Signed(INTERNAL_ERROR, (name, *outcome.error_parts), bare=raised, root=_folding_cast(outcome))
    return None


def _wrong(check: Analysis, problem: Problem) -> Counterexample | None:
    return run_analysis(Table.of(problem), check).wrong if check.applies(problem) else None


def _raised(name: str, problem: Problem, outcome: AnalysisOutcome, check: Analysis) -> tuple[str, ...]:
    """The condition that did not hold, who was asked, in which way, and the operator. Of what overflows who was under
    way says more; and what does not fold constants of unsigned dtypes is at fault itself, whoever asks."""

    def alike(other: Problem) -> bool:
        return check.applies(other) and run_analysis(Table.of(other), check).condition == outcome.condition

    way = way_of(name, problem, alike)
    if top_of(problem) == "Cast":
        return (_under_way(outcome) or name, "Cast")
    if not way.startswith(OVERFLOW):
        return (outcome.condition, code_of(name), way, top_of(problem))
    functions = [function_name(frame) for frame in outcome.frames]
    deepest = functions[0] if functions else ""
    if is_unsigned(problem) and deepest.endswith(_FOLDING):
        return (outcome.condition, "unsigned")
    if _OF_ANALYSIS.match(deepest):
        return (deepest.split("::", 2)[2], way)
    if analyzer := _under_way(outcome):
        return (outcome.condition, analyzer, way, "" if analyzer.endswith("Analyzer") else top_of(problem))
    helpers = [function for function in functions if _HELPER.fullmatch(function)]
    return (outcome.condition, code_of(name), way, top_of(problem), *helpers[:1])


def _under_way(outcome: AnalysisOutcome) -> str:
    """The class of the innermost analysis under way, "" where the frames name none."""
    matches = map(_OF_ANALYSIS.match, map(function_name, outcome.frames))
    return next((match[1] for match in matches if match is not None), "")


def _folding_cast(outcome: AnalysisOutcome) -> tuple[str, ...]:
    """The condition that did not hold where a constant was cast, whoever did that; nothing of other errors."""
    casts = any(re.match(r"tvm::(?:prim::)?cast\b", function_name(frame)) for frame in outcome.frames)
    return (outcome.condition, "cast") if casts and outcome.condition else ()


_FOLDING = "::TryConstFold"
_HELPER = re.compile(r"tvm::[a-z]\w*")
_OF_ANALYSIS = re.compile(r"tvm::(?:sym|arith)::(?!Analyzer(?:Obj)?::)(\w+)::")


def found_dead(check: str, seen: Observation) -> Signed:
    """Return the finding of an analysis that ended its process: which check failed, or else where."""
    if seen.exit is Exit.CRASH:
        signal_name, *frames = manner_of_death(seen)
        condition = refusal_in(seen.message.partition("what():")[2].strip()).condition
        bare = (signal_name, condition) if condition else ()
        return Signed("crash", (check, signal_name, *frames), bare=bare)
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
