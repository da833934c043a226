"""Smaller problems on which the same analysis is still wrong.

Candidates come in a fixed order and each is smaller by a total order, so that a reduction ends and repeats. A reduced
problem of wrong code is *total*: the expressions are defined at every assignment that the analyzer is given, so that
nobody can say that the program behind it had undefined behaviour anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tzerlike.arith.enumerate import AssignmentGrid
from tzerlike.arith.model import (
    BITWISE_OPS,
    COMPARISONS,
    SCALARS,
    Expr,
    Problem,
    Variable,
    boolean,
    const,
    in_range,
    lanes,
    limits,
    scalar,
    vector_dtype,
    walk,
)

Wrong = Callable[[Problem], bool]

_MAX_ASSIGNMENTS = 4096
_MAX_VALUES = 64
_NAMES = ("x", "y", "z", *(f"v{i}" for i in range(8)))
_COMMUTATIVE = frozenset(("Add", "Mul", "Min", "Max", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "EQ", "NE", "And", "Or"))
_SIMPLER = ("Add", "Sub", "Min", "Max", "Mul", "FloorDiv", "FloorMod", "Div", "Mod", *BITWISE_OPS)
_OPERATORS = {op: rank for rank, op in enumerate((*_SIMPLER, *COMPARISONS))}


def total(problem: Problem, *, eager: bool = False) -> bool:
    """Whether the problem is defined wherever its constraints hold, and they hold somewhere.

    With `eager` the branches of if_then_else that are not taken have to be defined too.
    """
    return AssignmentGrid.of(problem.variables).total(made_eager(problem) if eager else problem)


def made_eager(problem: Problem) -> Problem:
    """The problem with a Select, which evaluates both of its branches, for each if_then_else."""
    return _changed(problem, _eager)


def _eager(node: Expr) -> Expr:
    return node._replace(op="Select" if node.op == "if_then_else" else node.op, args=tuple(map(_eager, node.args)))


def made_total(problem: Problem, assignment: dict[str, int]) -> Problem | None:
    """Cut the domains down to a box around `assignment` in which the problem is total; None when it has none."""
    while not total(problem):
        grid = AssignmentGrid.of(problem.variables)
        places = np.flatnonzero(grid.held(problem)[1])
        if not places.size:
            return None
        offender = grid.assignment(int(places[0]))
        different = [v for v in problem.variables if offender[v.name] != assignment[v.name]]
        if not different:
            return None
        # The variable with most values loses least by a cut.
        victim = max(different, key=lambda v: len(v.values))
        cut = _cut(victim, offender[victim.name], assignment[victim.name])
        problem = replace(problem, variables=tuple(cut if v is victim else v for v in problem.variables))
    return problem


def _cut(variable: Variable, without: int, around: int) -> Variable:
    """The values on that side of `without` where `around` is; a sample becomes the range that it has there."""
    values = [v for v in variable.values if (v < without) == (around < without) and v != without]
    if variable.told == "nothing":
        run = [around]
        while run[-1] + 1 in values:
            run.append(run[-1] + 1)
        while run[0] - 1 in values:
            run.insert(0, run[0] - 1)
        values = run
    told = "range" if variable.told == "nothing" or len(values) < 2 else variable.told
    return replace(variable, values=tuple(values), told=told)


def reduce(problem: Problem, wrong: Wrong, tries: int = 1500) -> Problem:
    """Return a smallest problem that this order of tries finds; `wrong` holds for `problem` and for the result.

    After `tries` questions to `wrong` the smallest so far has to do.
    """
    return reduce_by(problem, lambda candidates: next(filter(wrong, candidates), None), tries)


def reduce_by(problem: Problem, first: Callable[[Iterator[Problem]], Problem | None], tries: int) -> Problem:
    """As `reduce`, where `first` returns the first of some candidates that is wrong, or None."""
    left = tries

    def candidates() -> Iterator[Problem]:
        nonlocal left
        count = len(_nodes(problem))
        whole = size(problem)
        for candidate in _smaller(problem):
            # Most are told apart by the first number of their size already.
            nodes = len(_nodes(candidate))
            if nodes < count or (nodes == count and size(candidate) < whole):
                if left == 0:
                    return
                left -= 1
                yield candidate

    while (smaller := first(candidates())) is not None:
        problem = smaller
    return problem


def _nodes(problem: Problem) -> list[Expr]:
    return [node for root in (*problem.roots, *problem.constraints) for node in walk(root)]


def size(problem: Problem) -> tuple[int | list[int], ...]:
    """The total order: nodes, variables, kinds of operators and dtypes, domains, magnitudes."""
    nodes = _nodes(problem)
    used = {node.dtype for node in nodes} | {v.dtype for v in problem.variables}
    return (
        len(nodes),
        len(problem.variables),
        sum(_rank(node) for node in nodes),
        sum(lanes(node.dtype) for node in nodes),
        sum(SCALARS.index(scalar(dtype)) + 1 for dtype in used if scalar(dtype) != "bool"),
        sum(len(v.values) + 4 * (v.told != "range") for v in problem.variables),
        sum(2 * abs(_bare(node)) + (_bare(node) < 0) for node in nodes if node.op == "IntImm"),
        sum(2 * abs(v.values[0]) + (v.values[0] < 0) for v in problem.variables),
        sum(_turned(node) for node in nodes),
        [_NAMES.index(str(node.value)) for node in nodes if node.op == "Var"],
    )


def _turned(node: Expr) -> bool:
    """Whether a commutative operator has its operands the wrong way round: a constant first, or the simpler one."""
    return node.op in _COMMUTATIVE and _weight(node.args[0]) < _weight(node.args[1])


def _weight(node: Expr) -> int:
    return 0 if node.op == "IntImm" else sum(1 for _ in walk(node))


def _rank(node: Expr) -> int:
    if node.op in ("Var", "IntImm"):
        return int(node.op == "Var")
    return 2 + _OPERATORS.get(node.op, len(_OPERATORS))


def _bare(node: Expr) -> int:
    return int(node.value or 0)


def _smaller(problem: Problem) -> Iterator[Problem]:
    for index in range(len(problem.constraints)):
        rest = problem.constraints[:index] + problem.constraints[index + 1 :]
        yield replace(problem, constraints=rest)
    used = {str(n.value) for e in (*problem.roots, *problem.constraints) for n in walk(e) if n.op == "Var"}
    kept = tuple(v for v in problem.variables if v.name in used)
    if len(kept) < len(problem.variables):
        yield replace(problem, variables=kept)
    for index, root in enumerate(problem.roots):
        for node in _simpler(root, problem):
            roots = (*problem.roots[:index], node, *problem.roots[index + 1 :])
            if len(roots) == 1 or roots[0].dtype == roots[1].dtype:
                yield replace(problem, roots=roots)
    for index, constraint in enumerate(problem.constraints):
        for node in _simpler(constraint, problem):
            if node.dtype == "bool":
                constraints = (*problem.constraints[:index], node, *problem.constraints[index + 1 :])
                yield replace(problem, constraints=constraints)
    yield from _abstracted(problem)
    yield from _scalars(problem)
    yield from _retyped(problem)
    for index, variable in enumerate(problem.variables):
        for smaller in _domains(variable):
            variables = (*problem.variables[:index], smaller, *problem.variables[index + 1 :])
            yield replace(problem, variables=variables)
    yield from _joined(problem)
    yield from _renamed(problem)


def _simpler(node: Expr, problem: Problem) -> Iterator[Expr]:
    """Simpler expressions in place of `node`: the changes at the top first."""
    yield from _at_top(node, problem)
    for index, arg in enumerate(node.args):
        for smaller in _simpler(arg, problem):
            if smaller.dtype == arg.dtype:
                yield node._replace(args=(*node.args[:index], smaller, *node.args[index + 1 :]))


def _at_top(node: Expr, problem: Problem) -> Iterator[Expr]:
    if node.op == "IntImm":
        yield from (const(value, node.dtype) for value in _nearer(_bare(node), node.dtype))
        return
    # Another dtype is fine at a root; below one, the caller drops it.
    for below in node.args:
        yield below
        yield from (deeper for deeper in below.args if deeper.dtype == node.dtype)
    if node.op == "Var":
        yield const(0, node.dtype)
        for variable in problem.variables:
            if variable.name == node.value:
                break
            if variable.dtype == node.dtype:
                yield variable.node
        return
    if lanes(node.dtype) == 1:
        if node.dtype == "bool":
            yield from (boolean(True), boolean(False))
        else:
            yield from (v.node for v in problem.variables if v.dtype == node.dtype)
            yield from (const(0, node.dtype), const(1, node.dtype))
    elif node.op != "Broadcast" and scalar(node.dtype) != "bool":
        yield Expr("Broadcast", node.dtype, (const(0, scalar(node.dtype)),))
    if node.op in _OPERATORS:
        alike = COMPARISONS if node.op in COMPARISONS else _SIMPLER
        yield from (node._replace(op=op) for op in alike if _OPERATORS[op] < _OPERATORS[node.op])
    if node.op == "if_then_else":
        yield node._replace(op="Select")
    if _turned(node):
        yield node._replace(args=(node.args[1], node.args[0]))


def _nearer(value: int, dtype: str) -> Iterator[int]:
    least, greatest = limits(dtype)
    half = int(value / 2) if abs(value) < 1 << 52 else value // 2
    for other in (0, 1, 2, 3, -1, abs(value), half, value - (1 if value > 0 else -1)):
        if least <= other <= greatest and (2 * abs(other) + (other < 0)) < (2 * abs(value) + (value < 0)):
            yield other


def _abstracted(problem: Problem) -> Iterator[Problem]:
    """A new variable in place of a subexpression, with the range of its values or one more."""
    expressions = (*problem.roots, *problem.constraints)
    grid = AssignmentGrid.of(problem.variables)
    name = next(name for name in _NAMES if name not in grid.columns)
    inner = dict.fromkeys(node for root in expressions for node in walk(root) if node.args)
    for node in inner:
        if lanes(node.dtype) > 1 or node.dtype == "bool":
            continue
        column = grid.evaluate(node)
        defined = (
            column.values if column.bad is None else column.values[~np.broadcast_to(column.bad, column.values.shape)]
        )
        if not defined.size or int(defined.max()) - int(defined.min()) >= _MAX_VALUES:
            continue
        low, high = int(defined.min()), int(defined.max())
        for first, last in ((low, high), (low, high + 1), (low - 1, high)):
            least, greatest = limits(node.dtype)
            # What fits no int64 can be no value of a variable here.
            if (
                first < least
                or last > min(greatest, limits("int64")[1])
                or grid.size * (last - first + 1) > _MAX_ASSIGNMENTS
            ):
                continue
            variable = Variable(name, node.dtype, tuple(range(first, last + 1)))
            replaced = _replaced(problem, node, variable.node)
            yield replace(replaced, variables=(*problem.variables, variable))


def _replaced(problem: Problem, old: Expr, new: Expr) -> Problem:
    def change(node: Expr) -> Expr:
        return new if node == old else node._replace(args=tuple(map(change, node.args)))

    return _changed(problem, change)


def _changed(problem: Problem, change: Callable[[Expr], Expr]) -> Problem:
    """`problem` with each of its expressions as `change` returns it."""
    roots, constraints = tuple(map(change, problem.roots)), tuple(map(change, problem.constraints))
    return replace(problem, roots=roots, constraints=constraints)


def _renamed(problem: Problem) -> Iterator[Problem]:
    """The variables named in the order in which they occur."""
    order = dict.fromkeys(
        str(node.value) for root in (*problem.roots, *problem.constraints) for node in walk(root) if node.op == "Var"
    )
    if len(order) < len(problem.variables):
        return
    names = dict(zip(order, _NAMES, strict=False))

    def change(node: Expr) -> Expr:
        if node.op == "Var":
            return node._replace(value=names[str(node.value)])
        return node._replace(args=tuple(map(change, node.args)))

    renamed = {v.name: replace(v, name=names[v.name]) for v in problem.variables}
    yield replace(_changed(problem, change), variables=tuple(renamed[name] for name in order))


def _scalars(problem: Problem) -> Iterator[Problem]:
    """One lane instead of several, and two lanes instead of more."""
    if any(lanes(node.dtype) > 1 for root in problem.roots for node in walk(root)):
        for count in (1, 2):
            yield replace(problem, roots=tuple(_with_lanes(root, count) for root in problem.roots))


def _with_lanes(node: Expr, count: int) -> Expr:
    if lanes(node.dtype) == 1:
        return node
    if count == 1 and node.op in ("Broadcast", "Ramp"):
        return node.args[0]
    args = tuple(_with_lanes(arg, count) for arg in node.args)
    return node._replace(dtype=vector_dtype(node.dtype, count), args=args)


def _retyped(problem: Problem) -> Iterator[Problem]:
    """Every use of one dtype replaced by another."""
    used = sorted({scalar(n.dtype) for e in (*problem.roots, *problem.constraints) for n in walk(e)} - {"bool"})
    for old in used:
        for new in SCALARS[: SCALARS.index(old)]:

            def change(node: Expr, old: str = old, new: str = new) -> Expr:
                dtype = vector_dtype(new, lanes(node.dtype)) if scalar(node.dtype) == old else node.dtype
                return node._replace(dtype=dtype, args=tuple(map(change, node.args)))

            variables = tuple(replace(v, dtype=new) if v.dtype == old else v for v in problem.variables)
            smaller = replace(_changed(_changed(problem, change), without_idle_casts), variables=variables)
            constants = (n for e in (*smaller.roots, *smaller.constraints) for n in walk(e) if n.op == "IntImm")
            values = ((v.dtype, value) for v in variables for value in v.values if v.dtype == new)
            numbers = (*values, *((n.dtype, _bare(n)) for n in constants))
            if all(in_range(number, dtype) for dtype, number in numbers) and all(v.bindable for v in variables):
                yield smaller


def without_idle_casts(node: Expr) -> Expr:
    """Leave out casts to the dtype that is there already."""
    args = tuple(map(without_idle_casts, node.args))
    return args[0] if node.op == "Cast" and args[0].dtype == node.dtype else node._replace(args=args)


def _domains(variable: Variable) -> Iterator[Variable]:
    values = variable.values
    if variable.told == "nothing":
        near = sorted(values, key=abs)
        yield from (replace(variable, values=(v, v + 1), told="range") for v in near if v + 1 in values)
        yield from (replace(variable, values=(v,), told="range") for v in near)
        return
    if variable.told == "steps":
        yield replace(variable, told="range", values=tuple(range(values[0], values[-1] + 1)))
    count = len(values)
    for keep in sorted({1, 2, count // 2, count - 1} - {0, count}):
        yield from (_first(variable, values[:keep]), _first(variable, values[count - keep :]))
    low = values[0]
    for start in dict.fromkeys((0, 1, int(low / 2), low - (1 if low > 0 else -1))):
        if 2 * abs(start) + (start < 0) < 2 * abs(low) + (low < 0):
            moved = tuple(value - low + start for value in values)
            if limits(variable.dtype)[0] <= moved[0] and moved[-1] <= limits(variable.dtype)[1]:
                yield replace(variable, values=moved)


def _first(variable: Variable, values: tuple[int, ...]) -> Variable:
    return replace(variable, values=values, told="range" if len(values) < 2 else variable.told)


def _joined(problem: Problem) -> Iterator[Problem]:
    """One variable in place of another of its dtype."""
    for index, gone in enumerate(problem.variables):
        for kept in problem.variables[:index]:
            if kept.dtype == gone.dtype:
                variables = tuple(v for v in problem.variables if v is not gone)
                yield replace(_replaced(problem, gone.node, kept.node), variables=variables)
