"""The cause of a wrong answer, found by experiments with the reduced problem: the words of its signature.

The words are the analysis at fault, what it is wrong about, the way, and the operators. A cause has few expressions in
which it shows best and many in which it shows, so nothing is said of dtypes, constants, or operators that any
expression may have around the place. Ways, the first that holds:

    overflow            the analysis is right about the same expression where nothing is narrow or unsigned, or takes
                        constants that 32 bits do not hold
    negative divisor    something is divided by what is negative at some of the values, or, which analyses of iterators
                        take for the same, a variable with a negative factor is divided
    values              none of these
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tzerlike.arith.claims import Counterexample
from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.model import BITWISE_OPS, COMPARISONS, Expr, Problem, lanes, limits, scalar, vector_dtype, walk
from tzerlike.arith.reduce import without_idle_casts

OVERFLOW = "overflow"
NEGATIVE = "negative divisor"

QUOTIENTS = ("FloorDiv", "FloorMod", "Div", "Mod")
_BIG = limits("int32")[1]
_LARGE = 1 << 15

_FAMILIES = {
    **dict.fromkeys(COMPARISONS, "order"),
    **dict.fromkeys(("EQ", "NE"), "equality"),
    **dict.fromkeys(("Min", "Max"), "extremum"),
    **dict.fromkeys(("And", "Or"), "logic"),
}
"""What TVM has one set of rules for goes by one name."""

_CLEAR = ("Add", "Sub", "Mul", "BitwiseNot", "Select", "if_then_else", "likely", "Not", "Broadcast", "And", "Or")
"""Operators that may be around any cause."""

_SETS = {"const_int_bound": "bounds", "int_set": "bounds", "int_set_relaxed": "bounds", "modular_set": "residues"}
"""Analyses of what values an expression has, with what they claim: operand by operand, the root decides."""

_ITERATORS = ("iter_map_simplify", "iter_map_surjective", "normalize_to_iter_sum")
_SAME = {
    "int_set_relaxed": "int_set",
    "rewrite_simplify_extended": "rewrite_simplify",
    **dict.fromkeys(_ITERATORS, "iterator map"),
}
"""Checks that ask the same code, with more or less said to it."""

Again = Callable[[Problem], Counterexample | None]
"""Where an analysis is wrong about a problem; None where it is not, or has nothing to say."""


def cause_of_answer(check: str, problem: Problem, wrong: Counterexample, ask: Again) -> tuple[str, ...]:
    """Return the words for a wrong answer about a reduced problem; `ask` puts others to the same analysis."""
    root = _bare(problem.root)
    about = _SETS.get(check, "value")
    if about == "value" and wrong.got.startswith("undefined"):
        about = "undefined value"
    if check in _SETS and root.op == "Cast":
        return (code_of(check), about, "cast ends")
    way = way_of(check, problem, lambda other: ask(other) is not None)
    return (code_of(check), about, way, _place(check, root, way, wrong))


def code_of(check: str) -> str:
    """Return which code a check asks: what has its cause there is one finding, whichever asked."""
    return _SAME.get(check, check)


def way_of(check: str, problem: Problem, goes_wrong: Callable[[Problem], bool]) -> str:
    """Return the way in which an analysis goes wrong about a reduced problem."""
    if _big(problem) or (_may_overflow(problem) and not goes_wrong(widened(problem))):
        divided = problem.root.op in QUOTIENTS and divides_by_negative(problem)
        return f"{OVERFLOW}, {NEGATIVE}" if divided and check not in _SETS else OVERFLOW
    # Truncation knows no side.
    if problem.root.op not in ("Div", "Mod") and divides_by_negative(problem):
        return NEGATIVE
    if check in _ITERATORS and _negative_factor(problem.root):
        return NEGATIVE
    return "values"


def top_of(problem: Problem) -> str:
    """Return the family of the root's operator, "" for one that says nothing."""
    return _family(_bare(problem.root))


def divides_by_negative(problem: Problem) -> bool:
    """Whether a divisor is negative at some of the values."""
    grid = AssignmentGrid.of(problem.variables)
    divisors = (node.args[1] for node in _nodes(problem) if node.op in QUOTIENTS)
    return any(grid.evaluate(divisor).low < 0 for divisor in divisors)


def _negative_factor(root: Expr) -> bool:
    dividends = (node.args[0] for node in walk(root) if node.op in QUOTIENTS)
    return any(factor < 0 for dividend in dividends for factor in _factors(dividend).values())


def _factors(node: Expr) -> dict[Expr, int]:
    """The parts of a sum that are no sums, with their factors."""
    if node.op in ("Add", "Sub"):
        left, right = map(_factors, node.args)
        sign = 1 if node.op == "Add" else -1
        return {part: left.get(part, 0) + sign * right.get(part, 0) for part in {**left, **right}}
    if node.op == "Mul":
        for part, factor in (node.args, node.args[::-1]):
            if factor.op == "IntImm":
                return {inner: times * int(factor.value or 0) for inner, times in _factors(part).items()}
    return {} if node.op == "IntImm" else {node: 1}


def _nodes(problem: Problem) -> Iterator[Expr]:
    return (node for expression in (*problem.roots, *problem.constraints) for node in walk(expression))


def is_unsigned(problem: Problem) -> bool:
    dtypes = {node.dtype for node in _nodes(problem)} | {variable.dtype for variable in problem.variables}
    return any(dtype.startswith("uint") for dtype in dtypes)


def _may_overflow(problem: Problem) -> bool:
    """Whether something is narrow or unsigned, or a constant or a range large."""
    dtypes = {scalar(node.dtype) for node in _nodes(problem)} | {variable.dtype for variable in problem.variables}
    return not dtypes <= {"bool", "int32", "int64"} or any(abs(number) > _LARGE for number in _numbers(problem))


def _big(problem: Problem) -> bool:
    """Whether a constant takes more than 32 bits, or a value; where vectors are made of it, it may be any."""
    constants = (int(node.value or 0) for node in _nodes(problem) if node.op == "IntImm")
    numbers = constants if any(node.op == "Ramp" for node in _nodes(problem)) else _numbers(problem)
    return any(not -_BIG - 1 <= number <= _BIG for number in numbers)


def _numbers(problem: Problem) -> Iterator[int]:
    yield from (int(node.value or 0) for node in _nodes(problem) if node.op == "IntImm")
    yield from (value for variable in problem.variables if variable.told != "nothing" for value in variable.values)


def widened(problem: Problem) -> Problem:
    """Return the problem with the same numbers in int64."""

    def wide(node: Expr) -> Expr:
        dtype = node.dtype if scalar(node.dtype) == "bool" else vector_dtype("int64", lanes(node.dtype))
        return node._replace(dtype=dtype, args=tuple(map(wide, node.args)))

    return replace(
        problem,
        variables=tuple(v if v.dtype == "bool" else replace(v, dtype="int64") for v in problem.variables),
        roots=tuple(without_idle_casts(wide(root)) for root in problem.roots),
        constraints=tuple(without_idle_casts(wide(constraint)) for constraint in problem.constraints),
    )


def _place(check: str, root: Expr, way: str, wrong: Counterexample) -> str:
    """The operators that say something of the cause: the root's, and of what it is applied to."""
    top = _family(root)
    if check in _SETS or not root.args:
        return top
    if root.op in QUOTIENTS:
        below = _below_division(root.args[0], way)
    elif way == NEGATIVE:
        return " and ".join(sorted({node.op for node in walk(root)} & set(QUOTIENTS)))
    elif way == OVERFLOW and top:
        # Sums are what overflows; only a rule for a quotient or a product does something else.
        telling = ("FloorDiv", "Div", "Mul") if top == "equality" else ("FloorDiv", "Div")
        below = sorted({_skipped(arg).op for arg in root.args} & set(telling))
    else:
        below = sorted({name for arg in root.args for name in _named(arg)})
    if top == "equality" and below:
        # Where one has a factor there are several rules.
        answer = _FAMILIES.get(wrong.answer, "truth")
        below = [f"{' and '.join(below)}{' and 0' * any(arg.value == 0 for arg in root.args)} to {answer}"]
    return " of ".join(filter(None, (top or "sum", " and ".join(below))))


def _below_division(dividend: Expr, way: str) -> list[str]:
    inner = _skipped(dividend)
    if any(node.op == "Ramp" for node in walk(inner)):
        return ["Ramp"]
    if way == NEGATIVE:
        return []
    if inner.op in QUOTIENTS:
        return [inner.op]
    found = sorted({node.op for node in walk(inner)} & set(QUOTIENTS))
    return ["sum", *found] if found else []


def _bare(node: Expr) -> Expr:
    while node.op in ("Not", "likely", "Broadcast"):
        node = node.args[0]
    return node


def _skipped(node: Expr) -> Expr:
    return _skipped(node.args[0]) if node.op == "Broadcast" else node


def _named(node: Expr) -> Iterator[str]:
    """The first operators from the root down that may have to do with a cause."""
    if node.op not in (*_CLEAR, "LShift") and node.args:
        yield _family(node)
    else:
        for arg in node.args:
            yield from _named(arg)


def _family(node: Expr) -> str:
    """What the rules for an operator go by; "" for those of sums, and where there is none."""
    if node.op in BITWISE_OPS and "Shift" not in node.op:
        return "bits"
    return _FAMILIES.get(node.op, "" if node.op in (*_CLEAR, "Var", "IntImm") else node.op)
