"""The regression test of an arithmetic finding, in the style of TVM's own."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from tzerlike.arith.evaluate import evaluate
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Problem, bits, lanes, walk
from tzerlike.arith.repro import (
    EVALUATOR,
    expr_source,
    interval_source,
    range_source,
    reported,
    source,
)
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.findings.issue.pytest_file import pytest_file

_PROBLEMS = {"wrong-code": "wrong_answer", "ice-on-valid": "internal_error", "crash": "crash", "hang": "hang"}

_AT = """\
def at(expression):
    known = tvm.sym.Analyzer()
{bindings}
    return int(known.simplify(expression))
"""

_COMPILED = """\
def at(expression):
    A = tirx.decl_buffer(({count},), "{dtype}")
    main = tirx.PrimFunc([{names}A], tirx.BufferStore(A, expression, [tirx.Ramp(0, 1, {count})]))
    values = tvm.runtime.tensor(np.zeros({count}, "{dtype}"))
    tvm.compile(main.with_attr("global_symbol", "main"), target="llvm")["main"]({numbers}values)
    return values.numpy().tolist()
"""

_INSIDE = """\
def inside(value, interval):
    low, high = interval.min_value, interval.max_value
    above = getattr(low, "name", "") == "neg_inf" or at(low) <= value
    return above and (getattr(high, "name", "") == "pos_inf" or value <= at(high))
"""


def analysis_regression_test(
    finding: Signed, check: str, problem: Problem, outcome: AnalysisOutcome | None, limits: Limits
) -> str:
    """Return the text of the test; `outcome` is None for a process that died."""
    wrong = None if outcome is None else outcome.wrong
    question = source(check, dies=wrong is None)
    if wrong is not None:
        kept = (line for line in question.splitlines() if not line.startswith("print("))
        question = "\n".join(kept).replace("holds = ", "assert ")
    outside, helpers, value = "", [], ""
    if wrong is not None:
        # TVM's own answer to what the expression is there may be as wrong, or none.
        number = evaluate(problem.roots[0], wrong.assignment)
        compiled = _compiles(problem, question)
        if "at(expr)" in question and (isinstance(number, int) or (compiled and isinstance(number, tuple))):
            written = number if isinstance(number, int) else list(number)
            value = f"value = {written}{_where(wrong.assignment)}"
            question = question.replace("at(expr)", "value")
        asks = "at(" in question or "inside(" in question
        if asks and compiled:
            helpers = [_compiled(problem, wrong.assignment)]
        elif asks and not _folds(problem):
            outside = EVALUATOR.strip("\n") + f"\n\n\nAT = {dict(wrong.assignment)!r}\n\n\n{_VALUE_AT}"
        elif asks:
            helpers = list(_helpers(problem, dict(wrong.assignment), question))
    names = ("expr",) if len(problem.roots) == 1 else ("left", "right")
    scopes = ", ".join(f"analyzer.constraint_scope({expr_source(each)})" for each in problem.constraints)
    if scopes:
        question = f"with {scopes}:\n" + textwrap.indent(question, "    ")
    asked = "analyzer" in question
    told = ["analyzer = tvm.sym.Analyzer()", *reported(problem, map(range_source, problem.variables))] if asked else []
    body = [
        "\n".join(filter(None, (*_definitions(problem, names, question), value))),
        *helpers,
        _alarm(finding.kind, limits) + "\n".join((*told, question)),
    ]
    used = {"np.": "import numpy as np", "signal.": "import signal"}
    imports = [line for name, line in used.items() if any(name in part for part in body)]
    name = f"{check}_{_PROBLEMS.get(finding.kind, 'memory')}"
    return pytest_file(name, body, ["from tvm import tirx", *imports], [outside])


def _where(assignment: Mapping[str, int]) -> str:
    places = ", ".join(f"{name} = {value}" for name, value in assignment.items())
    return f"  # of expr, at {places}" if places else "  # of expr"


_VALUE_AT = """\
def at(expression):
    return value_of(expression, AT)
"""


def _folds(problem: Problem) -> bool:
    """Whether TVM itself folds an answer to its value: not a vector, nor what overflows a narrow dtype."""
    return all(
        lanes(node.dtype) == 1 and (node.dtype == "bool" or bits(node.dtype) >= 32)
        for root in problem.roots
        for node in walk(root)
    )


def _compiles(problem: Problem, question: str) -> bool:
    """Whether machine code says what a vector is: it is of numbers that memory has, and so is what it depends on."""
    root = problem.root
    plain = lanes(root.dtype) > 1 and bits(root.dtype) >= 8 and not root.dtype.startswith("bool")
    given = all(bits(variable.dtype) >= 8 for variable in problem.variables)
    return plain and given and not problem.constraints and "inside(" not in question


def _compiled(problem: Problem, assignment: Mapping[str, int]) -> str:
    names = [variable.name for variable in problem.variables]
    dtype, _, count = problem.root.dtype.partition("x")
    given = "".join(f"{name}, " for name in names), "".join(f"{assignment[name]}, " for name in names)
    return _COMPILED.format(count=count, dtype=dtype, names=given[0], numbers=given[1])


def _helpers(problem: Problem, assignment: dict[str, int], question: str) -> Iterator[str]:
    bindings = [
        f'    known.bind({variable.name}, tirx.IntImm("{variable.dtype}", {assignment[variable.name]}))'
        for variable in problem.variables
        if variable.name in assignment
    ]
    yield _AT.replace("{bindings}\n", "\n".join(bindings) + "\n" if bindings else "")
    if "inside(" in question:
        yield _INSIDE


def _definitions(problem: Problem, names: tuple[str, ...], question: str) -> Iterator[str]:
    for variable in problem.variables:
        yield f'{variable.name} = tirx.Var("{variable.name}", "{variable.dtype}")'
    lists = {
        "variables": (variable.name for variable in problem.variables),
        "ranges": map(range_source, problem.variables),
        "intervals": map(interval_source, problem.variables),
    }
    for name, sources in lists.items():
        if name in question:
            yield f"{name} = [{', '.join(sources)}]"
    for name, root in zip(names, problem.roots, strict=True):
        yield f"{name} = {expr_source(root)}"


def _alarm(kind: str, limits: Limits) -> str:
    seconds = int(limits.seconds) or 1
    return f"signal.alarm({seconds})  # TVM does not come back to Python\n" if kind == "hang" else ""
