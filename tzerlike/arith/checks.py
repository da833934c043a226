"""The table of checks: an analysis of `tvm.sym`, the problems it applies to, and the claims in its answer.

`ask` runs the analysis on live objects and returns the claims, none where the analysis says nothing.

`source` is the same in a repro.py, where `expr` (or `left` and `right`), `analyzer`, the variables and `at` are at
hand: it prints what TVM says and sets `holds`. `at(expression)` is the value of a TVM expression at the
counterexample, None where it is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Any

from tzerlike.arith.bridge import from_tvm, range_of, to_tvm, variable_named
from tzerlike.arith.claims import Claim
from tzerlike.arith.model import Expr, Problem, Variable, boolean, const, lanes
from tzerlike.systems import tvm_api

Z3_RESOURCES = 5_000
"""Z3's own unit of work: unlike a time limit it makes an answer repeat. Some 10 ms."""


@dataclass(frozen=True, slots=True)
class Question:
    """A problem as TVM's objects, and an analyzer that knows its variables and constraints."""

    problem: Problem
    roots: tuple[Any, ...]
    analyzer: Any

    @property
    def expr(self) -> Any:
        return self.roots[0]

    def read(self, answer: Any) -> Expr:
        """Return an expression that TVM answered; Unreadable for one that has no meaning here."""
        return from_tvm(answer, {variable.name: variable.dtype for variable in self.problem.variables})


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis under test. It takes its turn at one in `every` of the problems that it applies to."""

    applies: Callable[[Problem], bool]
    ask: Callable[[Question], tuple[Claim, ...]]
    source: str
    every: int = 1
    made_of: tuple[str, ...] = ()
    """Analyses that this one is built upon: where one of them is wrong too, the finding is theirs."""
    unaware: bool = False
    """Whether it asks them without what is known of the variables."""


@cache
def sym() -> Any:
    return tvm_api.part("sym")


@cache
def _infinity() -> int:
    return int(sym().ConstIntBound.POS_INF)


def pose(problem: Problem, scope: ExitStack) -> Question:
    """Return the question with a fresh analyzer; leaving `scope` leaves the constraints."""
    analyzer = sym().Analyzer()
    for variable in problem.variables:
        var = variable_named(variable.name, variable.dtype)
        if variable.told != "nothing":
            analyzer.bind(var, range_of(variable))
        if variable.told == "steps":
            step = variable.step
            analyzer.update(var, sym().ModularSet(step, variable.values[0] % step), True)
    for constraint in problem.constraints:
        scope.enter_context(analyzer.constraint_scope(to_tvm(constraint)))
    return Question(problem, tuple(map(to_tvm, problem.roots)), analyzer)


def _single(problem: Problem) -> bool:
    return len(problem.roots) == 1


def _pair(problem: Problem) -> bool:
    return len(problem.roots) == 2


def _integer(problem: Problem) -> bool:
    return _single(problem) and problem.root.dtype != "bool" and lanes(problem.root.dtype) == 1


def _truth(problem: Problem) -> bool:
    return _single(problem) and problem.root.dtype == "bool"


def _relaxable(problem: Problem) -> bool:
    """Where an analysis is given the domains itself: it takes no constraints."""
    return _integer(problem) and _domains_say_all(problem)


def _domains_say_all(problem: Problem) -> bool:
    told = all(variable.told != "nothing" for variable in problem.variables)
    return bool(problem.variables) and told and not problem.constraints


def _index(problem: Problem) -> bool:
    """Where the analyses of loop indices apply: signed, one dtype, all variables with ranges."""
    return (
        _relaxable(problem)
        and problem.root.dtype in ("int32", "int64")
        and all(v.dtype == problem.root.dtype and v.told == "range" for v in problem.variables)
    )


def _index_truth(problem: Problem) -> bool:
    dtypes = {variable.dtype for variable in problem.variables}
    return (
        _truth(problem)
        and _domains_say_all(problem)
        and len(dtypes) == 1
        and dtypes <= {"int32", "int64"}
        and all(v.told == "range" for v in problem.variables)
    )


def _same(question: Question, result: Any) -> tuple[Claim, ...]:
    if result.same_as(question.expr):
        return ()
    read = question.read(result)
    return () if read == question.problem.root else (Claim(question.problem.root, "==", read),)


def _const_int_bound(question: Question) -> tuple[Claim, ...]:
    bound = question.analyzer.const_int_bound(question.expr)
    infinity = _infinity()
    root = question.problem.root
    ends = ((">=", int(bound.min_value), -infinity), ("<=", int(bound.max_value), infinity))
    return tuple([Claim(root, relation, const(end, "int64")) for relation, end, open_ in ends if end != open_])


def _modular_set(question: Question) -> tuple[Claim, ...]:
    answer = question.analyzer.modular_set(question.expr)
    coeff, base = int(answer.coeff), int(answer.base)
    root = question.problem.root
    if coeff == 0:
        return (Claim(root, "==", const(base, root.dtype)),)
    return () if abs(coeff) == 1 else (Claim(root, "==", const(base, "int64"), modulus=abs(coeff)),)


def _within(question: Question, expr: Expr, interval: Any) -> tuple[Claim, ...]:
    """The two bounds of an IntervalSet; none where it is empty or has no end there."""
    if interval.is_nothing():
        return (Claim(expr, "!=", expr),)
    ends = ((">=", interval.min_value), ("<=", interval.max_value))
    finite = ((how, end) for how, end in ends if str(getattr(end, "name", "")) not in ("pos_inf", "neg_inf"))
    return tuple(Claim(expr, how, question.read(end)) for how, end in finite)


def _interval(variable: Variable) -> Any:
    ends = (const(variable.values[0], variable.dtype), const(variable.values[-1], variable.dtype))
    return sym().IntervalSet(*map(to_tvm, ends))


def _int_set_relaxed(question: Question) -> tuple[Claim, ...]:
    """The set that covers the expression when the first variable takes all its values and the others stay symbols."""
    first = question.problem.variables[0]
    domain = {variable_named(first.name, first.dtype): _interval(first)}
    return _within(question, question.problem.root, question.analyzer.int_set(question.expr, domain))


def _can_prove_symbolic(question: Question) -> tuple[Claim, ...]:
    # An older one has no z3 inside.
    if hasattr(question.analyzer, "set_z3_rlimit"):
        question.analyzer.set_z3_rlimit(Z3_RESOURCES)
    return _proved(question, sym().ProofStrength.SYMBOLIC_BOUND)


def _proved(question: Question, strength: Any) -> tuple[Claim, ...]:
    root = question.problem.root
    if question.analyzer.can_prove(question.expr, strength):
        return (Claim(root, "==", boolean(True)),)
    if question.analyzer.can_prove(tvm_api.expression_constructor("Not")(question.expr, None), strength):
        return (Claim(root, "==", boolean(False)),)
    return ()


def _can_prove_equal(question: Question) -> tuple[Claim, ...]:
    left, right = question.problem.roots
    return (Claim(left, "==", right),) if question.analyzer.can_prove_equal(*question.roots) else ()


_COMPARED = {"EQ": "==", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "NE": "!="}


def _try_compare(question: Question) -> tuple[Claim, ...]:
    left, right = question.problem.roots
    answer = question.analyzer.try_compare(*question.roots).name
    if answer == "INCONSISTENT":
        return (Claim(left, "!=", left),)
    return (Claim(left, _COMPARED[answer], right),) if answer in _COMPARED else ()


def _extended(question: Question) -> tuple[Claim, ...]:
    extensions = sym().Extension
    analyzer = question.analyzer
    analyzer.enabled_extensions = (
        extensions.TransitivelyProveInequalities
        | extensions.ConvertBooleanToAndOfOrs
        | extensions.ApplyConstraintsToBooleanBranches
        | extensions.ComparisonOfProductAndSum
    )
    try:
        return _same(question, analyzer.rewrite_simplify(question.expr))
    finally:
        analyzer.enabled_extensions = extensions.NoExtensions


def _linear(question: Question) -> tuple[Claim, ...]:
    root = question.problem.root
    variables = [variable_named(v.name, v.dtype) for v in question.problem.variables]
    coefficients = list(sym().detect_linear_equation(question.expr, variables))
    if not coefficients:
        return ()
    total = question.read(coefficients[-1])
    for variable, coefficient in zip(question.problem.variables, coefficients[:-1], strict=True):
        term = Expr("Mul", root.dtype, (variable.node, question.read(coefficient)))
        total = Expr("Add", root.dtype, (total, term))
    return (Claim(root, "==", total),)


def _clip(question: Question) -> tuple[Claim, ...]:
    variables = [variable_named(v.name, v.dtype) for v in question.problem.variables]
    ends = list(sym().detect_clip_bound(question.expr, variables))
    condition = boolean(True)
    for position, end in enumerate(ends):
        if end is not None:
            bounded = (question.problem.variables[position // 2].node, question.read(end))
            inside = Expr("LE" if position % 2 else "GE", "bool", bounded)
            condition = Expr("And", "bool", (condition, inside))
    return (Claim(question.problem.root, "==", condition),) if ends else ()


def _deduce(question: Question) -> tuple[Claim, ...]:
    """A set of values of the first variable at which the condition holds for all values of the others."""
    first, *others = question.problem.variables
    relaxed = {variable_named(v.name, v.dtype): _interval(v) for v in others}
    answer = sym().deduce_bound(variable_named(first.name, first.dtype), question.expr, relaxed, relaxed)
    if answer.is_nothing():
        return ()
    given = _within(question, first.node, answer)
    return (Claim(question.problem.root, "==", boolean(True), given),) if given else ()


def _ranges(problem: Problem) -> dict[Any, Any]:
    return {variable_named(v.name, v.dtype): range_of(v) for v in problem.variables}


def _iter_map(question: Question, level: str) -> tuple[Claim, ...]:
    everywhere = tvm_api.tirx.IntImm("bool", 1)
    known = getattr(sym().iter_affine_map.IterMapLevel, level)
    (result,) = sym().iter_map_simplify([question.expr], _ranges(question.problem), everywhere, known)
    return _same(question, result)


def _iter_sum(question: Question) -> tuple[Claim, ...]:
    total = sym().normalize_to_iter_sum(question.expr, _ranges(question.problem), question.analyzer)
    return _same(question, sym().normalize_iter_map_to_expr(total))


def asked_otherwise(analyses: Any) -> frozenset[str]:
    """The checks that a `tvm.sym` has nothing for, or other arguments, as forks of an older one."""
    analyzer, total = analyses.Analyzer, analyses.normalize_to_iter_sum
    fits = {
        "try_compare": hasattr(analyzer, "try_compare"),
        "int_set": signature(analyzer.int_set).parameters["dom_map"].default is not Parameter.empty,
        "normalize_to_iter_sum": len(signature(total).parameters) > 2,
    }
    return frozenset(name for name, fit in fits.items() if not fit)


_ASKED_OTHERWISE = asked_otherwise(sym())


def _where_asked(name: str, applies: Callable[[Problem], bool]) -> Callable[[Problem], bool]:
    return (lambda problem: False) if name in _ASKED_OTHERWISE else applies


_SIMPLIFIED = """\
result = {call}
print("TVM says", result)
holds = at(result) == at(expr) and result.ty == expr.ty"""

_ITER_MAP = """\
tvm.sym.iter_map_simplify(
    [expr],
    dict(zip(variables, ranges)),
    tirx.IntImm("bool", 1),
    tvm.sym.iter_affine_map.IterMapLevel.{level},
)[0]"""

_INTERVAL = """\
print("TVM says", result)
holds = not result.is_nothing() and inside(at(expr), result)"""

_PROVED = """\
claims = [value for value, question in ((1, expr), (0, tirx.Not(expr))) if analyzer.can_prove(question, {strength})]
print("TVM proves it", ["false", "true"][claims[0]] if claims else "neither way")
holds = not claims or at(expr) == claims[0]"""

_PARTS = ("const_int_bound", "modular_set")
SIMPLIFIERS = ("rewrite_simplify", "canonical_simplify")

CONSTRAINTS = "constraint_scope"
"""The check whose answer is given before any other is asked."""

CHECKS: Mapping[str, Analysis] = {
    CONSTRAINTS: Analysis(
        lambda problem: bool(problem.constraints),
        lambda question: (),
        'print("TVM takes the constraints")\nholds = True',
        made_of=SIMPLIFIERS,
    ),
    "const_int_bound": Analysis(
        _integer,
        _const_int_bound,
        """\
result = analyzer.const_int_bound(expr)
print("TVM says", result)
infinity = tvm.sym.ConstIntBound.POS_INF
holds = (result.min_value == -infinity or at(expr) >= result.min_value) and (
    result.max_value == infinity or at(expr) <= result.max_value
)""",
    ),
    "modular_set": Analysis(
        _integer,
        _modular_set,
        """\
result = analyzer.modular_set(expr)
print("TVM says", result)
holds = at(expr) == result.base if result.coeff == 0 else (at(expr) - result.base) % result.coeff == 0""",
    ),
    "int_set": Analysis(
        _where_asked("int_set", _integer),
        lambda q: _within(q, q.problem.root, q.analyzer.int_set(q.expr)),
        f"result = analyzer.int_set(expr)\n{_INTERVAL}",
        every=3,
        made_of=(*_PARTS, *SIMPLIFIERS),
    ),
    "int_set_relaxed": Analysis(
        _relaxable,
        _int_set_relaxed,
        f"result = analyzer.int_set(expr, {{variables[0]: intervals[0]}})\n{_INTERVAL}",
        every=7,
        made_of=("int_set",),
    ),
    "rewrite_simplify": Analysis(
        _single,
        lambda q: _same(q, q.analyzer.rewrite_simplify(q.expr)),
        _SIMPLIFIED.format(call="analyzer.rewrite_simplify(expr)"),
        made_of=_PARTS,
    ),
    "canonical_simplify": Analysis(
        _single,
        lambda q: _same(q, q.analyzer.canonical_simplify(q.expr)),
        _SIMPLIFIED.format(call="analyzer.canonical_simplify(expr)"),
        every=3,
        made_of=(*_PARTS, "rewrite_simplify"),
    ),
    "simplify": Analysis(
        _single,
        lambda q: _same(q, q.analyzer.simplify(q.expr, 4)),
        _SIMPLIFIED.format(call="analyzer.simplify(expr, 4)"),
        every=4,
        made_of=(*_PARTS, *SIMPLIFIERS),
    ),
    "rewrite_simplify_extended": Analysis(
        _single,
        _extended,
        "extensions = tvm.sym.Extension\n"
        "analyzer.enabled_extensions = (\n"
        "    extensions.TransitivelyProveInequalities\n"
        "    | extensions.ConvertBooleanToAndOfOrs\n"
        "    | extensions.ApplyConstraintsToBooleanBranches\n"
        "    | extensions.ComparisonOfProductAndSum\n"
        ")\n" + _SIMPLIFIED.format(call="analyzer.rewrite_simplify(expr)"),
        every=7,
        made_of=(*_PARTS, *SIMPLIFIERS),
    ),
    "can_prove": Analysis(
        _truth,
        lambda q: _proved(q, sym().ProofStrength.DEFAULT),
        _PROVED.format(strength="tvm.sym.ProofStrength.DEFAULT"),
        made_of=(*_PARTS, *SIMPLIFIERS),
    ),
    "can_prove_symbolic": Analysis(
        _truth,
        _can_prove_symbolic,
        f"analyzer.set_z3_rlimit({Z3_RESOURCES})\n" + _PROVED.format(strength="tvm.sym.ProofStrength.SYMBOLIC_BOUND"),
        every=400,
        made_of=("can_prove", "int_set", *_PARTS, *SIMPLIFIERS),
    ),
    "can_prove_equal": Analysis(
        _pair,
        _can_prove_equal,
        """\
result = analyzer.can_prove_equal(left, right)
print("TVM says", result)
holds = not result or at(left) == at(right)""",
        made_of=(*_PARTS, *SIMPLIFIERS),
    ),
    "try_compare": Analysis(
        _where_asked("try_compare", _pair),
        _try_compare,
        """\
result = analyzer.try_compare(left, right)
print("TVM says", result.name)
a, b = at(left), at(right)
truth = {"EQ": a == b, "LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b, "NE": a != b, "INCONSISTENT": False}
holds = truth.get(result.name, True)""",
        made_of=(*_PARTS, *SIMPLIFIERS),
    ),
    "detect_linear_equation": Analysis(
        _index,
        _linear,
        """\
result = tvm.sym.detect_linear_equation(expr, variables)
print("TVM says", result)
terms = [at(var) * at(coefficient) for var, coefficient in zip(variables, result)]
holds = not len(result) or sum(terms) + at(result[-1]) == at(expr)""",
        every=5,
        made_of=SIMPLIFIERS,
    ),
    "detect_clip_bound": Analysis(
        _index_truth,
        _clip,
        """\
result = tvm.sym.detect_clip_bound(expr, variables)
print("TVM says", result)
ends = [(at(variables[i // 2]), i % 2, at(end)) for i, end in enumerate(result) if end is not None]
holds = not len(result) or at(expr) == all(value <= end if upper else value >= end for value, upper, end in ends)""",
        every=5,
        made_of=("detect_linear_equation", *SIMPLIFIERS),
        unaware=True,
    ),
    "deduce_bound": Analysis(
        _index_truth,
        _deduce,
        """\
relaxed = dict(zip(variables[1:], intervals[1:]))
result = tvm.sym.deduce_bound(variables[0], expr, relaxed, relaxed)
print("TVM says the condition holds for", variables[0], "in", result)
holds = result.is_nothing() or not inside(at(variables[0]), result) or at(expr) == 1""",
        every=5,
        made_of=("int_set", *SIMPLIFIERS),
        unaware=True,
    ),
    "iter_map_simplify": Analysis(
        _index,
        lambda q: _iter_map(q, "NoCheck"),
        _SIMPLIFIED.format(call=_ITER_MAP.format(level="NoCheck")),
        every=10,
        made_of=("iter_map_surjective", *SIMPLIFIERS),
    ),
    "iter_map_surjective": Analysis(
        _index,
        lambda q: _iter_map(q, "Surjective"),
        _SIMPLIFIED.format(call=_ITER_MAP.format(level="Surjective")),
        every=10,
        made_of=SIMPLIFIERS,
    ),
    "normalize_to_iter_sum": Analysis(
        _where_asked("normalize_to_iter_sum", _index),
        _iter_sum,
        _SIMPLIFIED.format(
            call="tvm.sym.normalize_iter_map_to_expr(\n"
            "    tvm.sym.normalize_to_iter_sum(expr, dict(zip(variables, ranges)), analyzer)\n"
            ")"
        ),
        every=7,
        made_of=SIMPLIFIERS,
    ),
}
"""Every analysis of `tvm.sym` that takes an expression, most basic first."""
