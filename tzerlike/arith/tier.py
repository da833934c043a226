"""The tier of an arithmetic finding: 1 where a user of TVM may meet it.

Of the first tier is an answer that TVM's passes ask for with default options, about an expression that a program may
contain: signed index types, ranges and constants of a size that nothing overflows at, and nothing in it that folds.
"""

from __future__ import annotations

from tzerlike.arith.cause import QUOTIENTS, divides_by_negative
from tzerlike.arith.model import Expr, Problem, Variable, scalar, walk
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER

_UNASKED = ("rewrite_simplify_extended", "iter_map_simplify", "normalize_to_iter_sum")
"""What no pass asks unless it is told to: the first with its extensions, the second without its checks, the third for
strides alone, in schedule rules and sharding."""

_INDICES = ("int32", "int64", "bool")
_LARGEST = 1 << 15
"""Of constants and of ends of ranges."""

_DECIDED = ("Select", "if_then_else", "And", "Or")
"""Operators that one constant operand folds."""


_FOLDED = {
    **dict.fromkeys(("Add", "Sub", "LShift", "RShift"), (0,)),
    "Mul": (0, 1),
    **dict.fromkeys(QUOTIENTS, (1,)),
}
"""By operators, the constants that they fold with, as the second operand, whatever the first is."""

_COMMUTATIVE = ("Add", "Mul")


def tier_of_problem(check: str, problem: Problem) -> int:
    """Return the tier of what is wrong with this analysis on this problem."""
    return FIRST_TIER if check not in _UNASKED and is_plain(problem) else SECOND_TIER


def is_plain(problem: Problem) -> bool:
    """Whether a program may contain the expressions, and loops and shapes bound the variables like that."""
    expressions = (*problem.roots, *problem.constraints)
    return (
        any(node.op in ("Var", "Ramp") for root in problem.roots for node in walk(root))
        and all(map(_is_sensible, problem.variables))
        and all(_is_written(node) for expression in expressions for node in walk(expression))
        and not any(expression.op == "IntImm" for expression in expressions)
        and not divides_by_negative(problem)
    )


def _is_sensible(variable: Variable) -> bool:
    ends = (variable.values[0], variable.values[-1])
    return variable.told != "nothing" and variable.dtype in _INDICES and all(map(_is_small, ends))


def _is_small(number: int) -> bool:
    return -_LARGEST <= number <= _LARGEST


def _is_written(node: Expr) -> bool:
    """Whether people, or passes before anything is simplified, write such a node."""
    if scalar(node.dtype) not in _INDICES or (node.op == "IntImm" and not _is_small(int(node.value or 0))):
        return False
    if node.op in ("Ramp", "Broadcast") or not node.args:
        return True
    constants = [_value_of(arg) is not None for arg in node.args]
    if all(constants) or (node.op in _DECIDED and (constants[0] or (node.op in ("And", "Or") and any(constants)))):
        return False
    others = node.args if node.op in _COMMUTATIVE else node.args[1:2]
    if any(_value_of(arg) in _FOLDED.get(node.op, ()) for arg in others):
        return False
    if node.op in ("LShift", "RShift"):
        return constants[1]
    return node.op not in QUOTIENTS or not constants[0]


def _value_of(node: Expr) -> int | None:
    """The constant that a node is, of all lanes; None where it is none."""
    if node.op == "Broadcast":
        return _value_of(node.args[0])
    return int(node.value or 0) if node.op == "IntImm" else None
