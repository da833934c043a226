"""The `repro.py` of an arithmetic finding: one file that needs only tvm, with the arithmetic written out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from tzerlike.arith.checks import CHECKS
from tzerlike.arith.inspect import AnalysisOutcome
from tzerlike.arith.model import Expr, Problem, Variable, lanes
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.findings.repro import LIMIT, quotable

_TEMPLATE = '''\
"""{title}

Exits non-zero when the bug shows: TVM's answer is false at the values below, or TVM raises, or the process dies.
"""

import contextlib
import resource
import signal
import sys

import tvm
from tvm import tirx
{evaluator}

def told(analyzer):
{told}


{problem}

AT = {assignment!r}
SECONDS = {seconds!r}
MEMORY = {memory!r}


{limit}

def main():
    limit()
    analyzer = tvm.sym.Analyzer()
    with contextlib.ExitStack() as scope:
        told(analyzer)
        for constraint in constraints:
            scope.enter_context(analyzer.constraint_scope(constraint))
{question}


main()
'''

EVALUATOR = '''

def wrap(value, dtype):
    """Two's complement; `None` stands for undefined."""
    name = dtype.split("x")[0]
    if name == "bool":
        return int(value != 0)
    bits = int(name.lstrip("uint"))
    value &= (1 << bits) - 1
    return value - (1 << bits) if name.startswith("int") and value >> (bits - 1) else value


def value_of(expr, at):
    """The value of an expression in unbounded integers, a list for a vector; None where it is undefined."""
    kind = type(expr).__name__
    if kind == "IntImm":
        return int(expr.value)
    if kind == "Var":
        return at[expr.name]
    if kind == "Call":
        name = expr.op.name.rpartition(".")[2]
        if name == "likely":
            return value_of(expr.args[0], at)
        assert name == "if_then_else", name
        condition = value_of(expr.args[0], at)
        return None if condition is None else value_of(expr.args[1 if condition else 2], at)
    if kind == "Ramp":
        base, stride = value_of(expr.base, at), value_of(expr.stride, at)
        return None if base is None or stride is None else [base + lane * stride for lane in range(int(expr.lanes))]
    if kind == "Broadcast":
        value = value_of(expr.value, at)
        return None if value is None else [value] * int(expr.lanes)
    dtype = str(expr.ty.dtype)
    if kind == "Select":
        parts = [value_of(part, at) for part in (expr.condition, expr.true_value, expr.false_value)]
        if isinstance(parts[0], int):
            return parts[1 if parts[0] else 2]
        return lanewise(lambda c, a, b: a if c else b, parts)
    if kind == "Cast":
        return lanewise(lambda a: wrap(a, dtype), [value_of(expr.value, at)])
    if kind in ("Not", "BitwiseNot"):
        return lanewise((lambda a: 1 - a) if kind == "Not" else (lambda a: wrap(~a, dtype)), [value_of(expr.a, at)])
    a, b = value_of(expr.a, at), value_of(expr.b, at)
    if kind in ("And", "Or") and isinstance(a, int | None) and isinstance(b, int | None):
        decisive = int(kind == "Or")
        return decisive if decisive in (a, b) else None if None in (a, b) else 1 - decisive
    return lanewise(OPERATIONS[kind], [a, b])


def lanewise(operation, parts):
    if any(part is None for part in parts):
        return None
    if not any(isinstance(part, list) for part in parts):
        return operation(*parts)
    count = max(len(part) for part in parts if isinstance(part, list))
    rows = zip(*(part if isinstance(part, list) else [part] * count for part in parts))
    lanes = [operation(*row) for row in rows]
    return None if None in lanes else lanes


def truncdiv(a, b):
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATIONS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": truncdiv,
    "Mod": lambda a, b: None if b == 0 else a - truncdiv(a, b) * b,
    "FloorDiv": lambda a, b: None if b == 0 else a // b,
    "FloorMod": lambda a, b: None if b == 0 else a % b,
    "Min": min,
    "Max": max,
    "LShift": lambda a, b: a << b if 0 <= b < 64 else None,
    "RShift": lambda a, b: a >> b if 0 <= b < 64 else None,
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "EQ": lambda a, b: int(a == b),
    "NE": lambda a, b: int(a != b),
    "LT": lambda a, b: int(a < b),
    "LE": lambda a, b: int(a <= b),
    "GT": lambda a, b: int(a > b),
    "GE": lambda a, b: int(a >= b),
    "And": lambda a, b: a & b,
    "Or": lambda a, b: a | b,
}


def inside(value, interval):
    """Whether a value lies in an IntervalSet; an end that is infinite or undefined is no end."""
    ends = (interval.min_value, interval.max_value)
    low, high = (None if getattr(end, "name", "") in ("neg_inf", "pos_inf") else value_of(end, AT) for end in ends)
    return (low is None or value >= low) and (high is None or value <= high)

'''

_WRONG = """\

        def at(expression):
            return value_of(expression, AT)

        print("expression", {names})
        print("at", AT, "the value is", {values})
{source}
        if holds:
            print("the bug does not show")
        else:
            print("that is false")
            sys.exit(1)"""

_DEATH = """\

        def at(expression):
            return 0

        print("expression", {names}, flush=True)
{source}
        print("the bug does not show")"""


def analysis_repro_script(
    finding: Signed, check: str, problem: Problem, outcome: AnalysisOutcome | None, limits: Limits
) -> str:
    """Return the text of `repro.py`; `outcome` is None for a process that died."""
    names = ("expr",) if len(problem.roots) == 1 else ("left", "right")
    wrong = None if outcome is None else outcome.wrong
    question = (_DEATH if wrong is None else _WRONG).format(
        names=", ".join(names),
        values=", ".join(f"at({name})" for name in names),
        source=textwrap.indent(source(check, dies=wrong is None), " " * 8),
    )
    told = reported(problem, (f"ranges[{index}]" for index in range(len(problem.variables))))
    return _TEMPLATE.format(
        title=quotable(finding.title),
        evaluator=EVALUATOR,
        told=textwrap.indent("\n".join(told) or "pass", " " * 4),
        problem="\n".join(_definitions(problem, names)),
        assignment=dict(wrong.assignment) if wrong is not None else {},
        seconds=limits.seconds,
        memory=limits.memory,
        limit=LIMIT,
        question=question,
    )


def source(check: str, *, dies: bool) -> str:
    """The analysis; of one that raises or dies, up to the first answer."""
    text = CHECKS[check].source
    return text.partition("\nprint(")[0] if dies else text


def module_source(problem: Problem) -> str:
    """The problem's expressions as statements of Python."""
    names = ("expr",) if len(problem.roots) == 1 else ("left", "right")
    head = ["import tvm", "from tvm import tirx", ""]
    return "\n".join((*head, *_definitions(problem, names))) + "\n"


def _definitions(problem: Problem, names: tuple[str, ...]) -> Iterator[str]:
    for variable in problem.variables:
        yield f"{variable.name} = tirx.Var({variable.name!r}, {variable.dtype!r})"
    yield f"variables = [{', '.join(v.name for v in problem.variables)}]"
    yield f"ranges = [{', '.join(map(range_source, problem.variables))}]"
    yield f"intervals = [{', '.join(map(interval_source, problem.variables))}]"
    for name, root in zip(names, problem.roots, strict=True):
        yield f"{name} = {expr_source(root)}"
    yield f"constraints = [{', '.join(map(expr_source, problem.constraints))}]"


def reported(problem: Problem, ranges: Iterable[str]) -> Iterator[str]:
    """What the analyzer is told of the variables, whose ranges are the expressions `ranges`."""
    for variable, range_ in zip(problem.variables, ranges, strict=True):
        if variable.told != "nothing":
            yield f"analyzer.bind({variable.name}, {range_})"
        if variable.told == "steps":
            modular = f"tvm.sym.ModularSet({variable.step}, {variable.values[0] % variable.step})"
            yield f"analyzer.update({variable.name}, {modular}, True)"


def range_source(variable: Variable) -> str:
    if variable.told == "nothing":
        return "None"
    low, high = variable.values[0], variable.values[-1]
    return f"tvm.ir.Range.from_min_extent({_imm(low, variable.dtype)}, {_imm(high - low + 1, variable.dtype)})"


def interval_source(variable: Variable) -> str:
    return (
        f"tvm.sym.IntervalSet({_imm(variable.values[0], variable.dtype)}, {_imm(variable.values[-1], variable.dtype)})"
    )


def _imm(value: int, dtype: str) -> str:
    return f'tirx.IntImm("{dtype}", {value})'


def expr_source(node: Expr) -> str:
    """The Python expression that makes `node`, node for node, without folding."""
    args = ", ".join(map(expr_source, node.args))
    if node.op == "IntImm":
        return _imm(int(node.value or 0), node.dtype)
    if node.op == "Var":
        return str(node.value)
    if node.op in ("Ramp", "Broadcast"):
        return f"tirx.{node.op}({args}, {lanes(node.dtype)})"
    if node.op == "Cast":
        return f'tirx.Cast("{node.dtype}", {args})'
    return f"tirx.{node.op}({args})"
