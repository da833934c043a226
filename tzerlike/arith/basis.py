"""Which problem of a more basic analysis a wrong answer rests on.

Analyses are built upon each other and ask about parts of an expression, about what they have made of it so far, about
its constraints, and about what a condition guards. Where one of these questions has a wrong answer of its own, that is
the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tzerlike.arith.model import Expr, Problem, walk

Rewrite = Callable[[Problem], Expr | None]
"""What a simplifier makes of a problem's root; None where it leaves it alone, or cannot be asked."""


def questions(problem: Problem, *, unaware: bool, rewrites: tuple[Rewrite, ...]) -> Iterator[Problem]:
    """Yield the problems that may lie below `problem`, itself first.

    `unaware` says that the analysis asks without what is known of the variables; `rewrites` are the simplifiers that it
    is built upon.
    """
    yield problem
    if unaware:
        yield replace(problem, variables=tuple(replace(v, told="nothing") for v in problem.variables))
    for index, constraint in enumerate(problem.constraints):
        others = problem.constraints[:index] + problem.constraints[index + 1 :]
        yield replace(problem, roots=(constraint,), constraints=others)
    if len(problem.roots) == 2 and problem.root.dtype != "bool":
        yield replace(problem, roots=(Expr("EQ", "bool", problem.roots),))
        yield replace(problem, roots=(Expr("Sub", problem.root.dtype, problem.roots),))
    if len(problem.roots) == 1 and problem.root.dtype == "bool":
        yield replace(problem, roots=(Expr("Not", "bool", problem.roots),))
    for part in dict.fromkeys(node for root in problem.roots for node in walk(root) if node.args):
        if (part,) != problem.roots:
            yield replace(problem, roots=(part,))
    if len(problem.roots) == 1 and problem.root.op == "if_then_else":
        condition, *branches = problem.root.args
        for known, branch in zip((condition, Expr("Not", "bool", (condition,))), branches, strict=True):
            for part in dict.fromkeys(node for node in walk(branch) if node.args):
                yield replace(problem, roots=(part,), constraints=(*problem.constraints, known))
    for rewrite in rewrites:
        yield from _rewritten(problem, rewrite)


def _rewritten(problem: Problem, rewrite: Rewrite) -> Iterator[Problem]:
    """What the root is after a step, and with its operands rewritten already."""
    if len(problem.roots) != 1:
        return
    whole = rewrite(problem)
    if whole is not None and whole.dtype == problem.root.dtype:
        yield replace(problem, roots=(whole,))
    args = tuple(rewrite(replace(problem, roots=(arg,))) or arg for arg in problem.root.args)
    if args != problem.root.args and all(a.dtype == b.dtype for a, b in zip(args, problem.root.args, strict=True)):
        yield replace(problem, roots=(problem.root._replace(args=args),))
