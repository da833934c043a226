"""What a proved rewrite says beyond its own constants, ranges and surroundings.

A rule is two expressions over variables `x0`, `x1`, ..., which stand for anything of their dtype, and named constants
`c0`, `c1`, ..., with the conditions that its proof needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from tzerlike.arith.claims import Claim
from tzerlike.arith.evaluate import Mode, Undefined, evaluate
from tzerlike.arith.model import Expr, Problem, Variable, const, in_range, lanes, walk

_CONSTANTS = 6
"""Constants at most that are named."""


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """`before` may be replaced by `after` wherever the conditions, all of constants, hold."""

    variables: tuple[Variable, ...]
    before: Expr
    after: Expr
    conditions: tuple[Expr, ...] = ()

    @property
    def shape(self) -> str:
        """What it says, without its conditions: rules of one shape are counted once."""
        return shape_of_rule(self.before, self.after, self.variables)

    @property
    def problem(self) -> Problem:
        return Problem(self.variables, (self.before,), self.conditions)

    @property
    def claim(self) -> Claim:
        return Claim(self.before, "==", self.after)

    def fits(self, values: Mapping[str, int]) -> bool:
        """Whether the conditions hold of constants."""
        try:
            return all(evaluate(condition, values, Mode.UNBOUNDED) for condition in self.conditions)
        except Undefined:
            return False


def shape_of_rule(before: Expr, after: Expr, variables: Sequence[Variable]) -> str:
    kinds = ", ".join(f"{variable.name} {variable.dtype}" for variable in variables)
    return f"{before} -> {after} [{kinds or before.dtype}]"


def generalised(before: Expr, after: Expr) -> RewriteRule | None:
    """Return the innermost part that was rewritten, over variables of any value; None where that is no expression.

    Whatever both sides have in common becomes a variable, where the original always evaluates it. If this is true, so
    is the rewrite that it comes from.
    """
    if before.dtype != after.dtype:
        return None
    before, after = _innermost(before, after)
    common = set(_always(before)) & set(walk(after)) - {before}
    names: dict[Expr, Expr] = {}

    def renamed(node: Expr) -> Expr:
        if node.op == "Var" or (node.args and node in common and lanes(node.dtype) == 1):
            return names.setdefault(node, Expr("Var", node.dtype, (), f"x{len(names)}"))
        return node._replace(args=tuple(map(renamed, node.args))) if node.args else node

    left, right = renamed(before), renamed(after)
    variables = tuple(anything(str(name.value), name.dtype) for name in names.values())
    return RewriteRule(variables, left, right)


def anything(name: str, dtype: str) -> Variable:
    """A variable of which nothing is known."""
    return Variable(name, dtype, (0,), "nothing")


def _innermost(before: Expr, after: Expr) -> tuple[Expr, Expr]:
    """The only operands that differ, as far down as all is evaluated; both sides have the same around them."""
    while before[:2] == after[:2] and len(before.args) == len(after.args):
        places = [index for index, pair in enumerate(zip(before.args, after.args, strict=True)) if pair[0] != pair[1]]
        if len(places) != 1 or (before.op == "if_then_else" and places[0]):
            break
        inner = before.args[places[0]], after.args[places[0]]
        if inner[0].dtype != inner[1].dtype:
            break
        before, after = inner
    return before, after


def _always(node: Expr) -> Iterator[Expr]:
    """The parts of an expression that have a value wherever it has one."""
    yield node
    for index, arg in enumerate(node.args):
        if node.op != "if_then_else" or not index:
            yield from _always(arg)


def with_constants(rule: RewriteRule) -> Iterator[tuple[RewriteRule, dict[str, int]]]:
    """Yield the rule with named constants, without conditions yet, and their values; several ways where a constant of
    the rewritten side may come from others in several."""
    found: dict[Expr, Expr] = {}
    for node in walk(rule.before):
        if node.op == "IntImm" and node.dtype != "bool":
            found.setdefault(node, Expr("Var", node.dtype, (), f"c{len(found)}"))
    if not found or len(found) > _CONSTANTS:
        return
    values = {str(name.value): int(node.value or 0) for node, name in found.items()}
    before = _replaced(rule.before, found)
    variables = (*rule.variables, *(anything(str(name.value), name.dtype) for name in found.values()))
    new = list(dict.fromkeys(n for n in walk(rule.after) if n.op == "IntImm" and n.dtype != "bool" and n not in found))
    for way in range(2):
        derived = {node: _derived(node, tuple(found.values()), values, way) for node in new}
        if way and all(expr is None for expr in derived.values()):
            return
        known = {node: expr for node, expr in derived.items() if expr is not None}
        yield RewriteRule(variables, before, _replaced(rule.after, {**found, **known})), values
        if not known:
            return


def _replaced(node: Expr, names: Mapping[Expr, Expr]) -> Expr:
    if node in names:
        return names[node]
    return node._replace(args=tuple(_replaced(arg, names) for arg in node.args)) if node.args else node


def _derived(node: Expr, names: Sequence[Expr], values: Mapping[str, int], way: int) -> Expr | None:
    """A constant as made of others, in the `way`-th way there is; None for no way, and for 0, which is made in many."""
    if not node.value:
        return None
    made = (each for each in _made(names, node.dtype) if _value(each, values) == node.value)
    return next((each for index, each in enumerate(made) if index == way), None)


def _made(names: Sequence[Expr], dtype: str) -> Iterator[Expr]:
    own = [name for name in names if name.dtype == dtype]
    for name in own:
        yield Expr("Sub", dtype, (const(0, dtype), name))
        yield Expr("Add", dtype, (name, const(1, dtype)))
        yield Expr("Sub", dtype, (name, const(1, dtype)))
    for a, b in combinations(own, 2):
        yield from (Expr(op, dtype, (a, b)) for op in ("Mul", "Add"))
    for a, b in permutations(own, 2):
        yield from (Expr(op, dtype, (a, b)) for op in ("FloorDiv", "FloorMod", "Sub"))


def _value(node: Expr, values: Mapping[str, int]) -> object:
    try:
        return evaluate(node, values, Mode.UNBOUNDED)
    except Undefined:
        return None


def relations(rule: RewriteRule, values: Mapping[str, int]) -> Iterator[Expr]:
    """Yield what holds of the constants of an instance: signs, order, and what divides what."""
    names = [variable.node for variable in rule.variables if str(variable.name) in values]
    for name in names:
        value, zero = values[str(name.value)], const(0, name.dtype)
        yield _compared("EQ" if not value else "GT" if value > 0 else "LT", name, zero)
    for a, b in combinations(names, 2):
        if a.dtype == b.dtype:
            x, y = values[str(a.value)], values[str(b.value)]
            yield _compared("EQ" if x == y else "LT" if x < y else "GT", a, b)
            for divided, divisor, rest in ((a, b, x % y if y else 1), (b, a, y % x if x else 1)):
                if not rest:
                    yield _compared("EQ", Expr("FloorMod", a.dtype, (divided, divisor)), const(0, a.dtype))


def exact_values(rule: RewriteRule, values: Mapping[str, int]) -> Iterator[Expr]:
    """Yield the constants' own values as conditions."""
    for variable in rule.variables:
        if variable.name in values and in_range(values[variable.name], variable.dtype):
            yield _compared("EQ", variable.node, const(values[variable.name], variable.dtype))


def _compared(op: str, a: Expr, b: Expr) -> Expr:
    return Expr(op, "bool", (a, b))
