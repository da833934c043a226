"""The starter mutators: small local changes that need no generator.

Tzer's replacement of a primitive or of a constructor (section 3.2) by hand: constants,
operators, dtypes, a deleted statement, swapped operands, the kind of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tzerlike.mutators.protocol import MutationEnv
from tzerlike.systems.tvm_api import array_items, op_call, tirx, tvm
from tzerlike.tir import dtypes
from tzerlike.tir.hole import needs_constant
from tzerlike.tir.node import DEFINING, definitions, dtype_of, is_nop, key, loop_with, seq, substitute, uses
from tzerlike.tir.scope import PARALLEL, SERIAL, UNROLLED, VECTORIZED, Names, constant_int, names_in, scope_at
from tzerlike.tir.tree import ARITHMETIC, BITWISE, COMPARISON, LOGIC, Site, Tree, free_variables, left_early

LARGEST_EXPANSION = 64
"""The greatest extent put on a loop that the compiler copies out (unrolled, vectorised): larger ones only take time."""

UNARY_FLOAT = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "rsqrt", "erf", "sigmoid", "floor", "ceil",
    "trunc", "round", "nearbyint", "fabs",
)  # fmt: skip
"""Intrinsics from one float to a float of the same dtype."""

PRAGMAS = (
    ("pragma_auto_unroll_max_step", (0, 1, 4, 16, 64)),
    ("pragma_unroll_explicit", (0, 1)),
    ("pragma_unroll", (1,)),
    ("pragma_loop_partition_hint", (1,)),
    ("disable_pragma", (1,)),
)
"""Loop annotations that passes look for, with values."""


def constants(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Give a constant another value: boundaries, neighbours, the opposite sign, powers of two, zero, inf, nan."""
    tree = Tree(func)
    numbers = tree.of_type(tirx.IntImm, tirx.FloatImm)
    sites = [(s, d) for s in numbers if (d := dtypes.parse(s.dtype)) is not None]
    if not sites:
        return None
    site, dtype = rng.choice(sites)
    value: int | float
    if dtype.is_bool:
        value = 1 - int(site.node.value)
    elif dtype.is_float:
        value = dtypes.interesting_float(rng, dtype, float(site.node.value))
    else:
        value = dtypes.interesting_int(rng, dtype, int(site.node.value))
        if _copied_out(site):
            value = min(value, LARGEST_EXPANSION)
    return tree.replace(site, dtypes.constant(dtype, value))


def operators(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Put another operator of the same type in place of a binary operator, an intrinsic or a Select."""
    tree = Tree(func)
    sites = [(site, others) for site in tree.expressions() if (others := _other_operators(site.node))]
    if not sites:
        return None
    site, others = rng.choice(sites)
    node = site.node
    chosen = rng.choice(others)
    if isinstance(chosen, str):
        return tree.replace(site, op_call(chosen, node.args, site.dtype))
    left, right = (node.a, node.b) if rng.randrange(4) else (node.b, node.a)
    return tree.replace(site, chosen(left, right))


def other_dtypes(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Compute something in another dtype: an operand, an operation, or a loop variable, cast back where it is used."""
    tree = Tree(func)
    loops = tree.of_type(tirx.For)
    if loops and rng.randrange(3) == 0:
        return _retype_loop(tree, rng.choice(loops), rng)
    sites = [(s, d) for s in tree.expressions() if (d := dtypes.parse(s.dtype)) is not None and d.base != "handle"]
    if not sites:
        return None
    site, dtype = rng.choice(sites)
    other = dtypes.with_lanes(_other_scalar(rng, dtype), dtype.lanes, dtype.scalable)
    node = site.node
    if type(node) in ARITHMETIC and rng.randrange(2):
        inside = type(node)(tirx.Cast(other, node.a), tirx.Cast(other, node.b))
    elif type(node) in COMPARISON and rng.randrange(2):
        operand = dtypes.parse(dtype_of(node.a))
        if operand is None or operand.base == "handle":
            return None
        other = dtypes.with_lanes(_other_scalar(rng, operand), operand.lanes, operand.scalable)
        return tree.replace(site, type(node)(tirx.Cast(other, node.a), tirx.Cast(other, node.b)))
    else:
        inside = tirx.Cast(other, node)
    return tree.replace(site, tirx.Cast(site.dtype, inside))


def delete_statement(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Drop a statement whose definitions nobody uses, or put a branch of a condition in its place."""
    tree = Tree(func)
    sites = [s for s in tree.statements() if s.number > 0 and not is_nop(s.node) and _deletable(tree, s)]
    if not sites:
        return None
    site = rng.choice(sites)
    node = site.node
    if type(node) is tirx.IfThenElse and rng.randrange(2):
        branch = node.then_case if node.else_case is None or rng.randrange(2) else node.else_case
        return tree.replace(site, branch)
    parent = site.parent
    if parent is not None and type(parent.node) is tirx.SeqStmt:
        kept = [stmt for index, stmt in enumerate(array_items(parent.node.seq)) if index != site.index]
        return tree.replace(parent, seq(kept))
    return tree.replace(site, seq([]))


def swap_expressions(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Exchange two disjoint sub-expressions of one dtype, each of which may stand at the other's place."""
    tree = Tree(func)
    groups: dict[str, list[Site]] = {}
    for site in tree.expressions():
        if site.dtype and not needs_constant(site):
            groups.setdefault(site.dtype, []).append(site)
    groups = {dtype: sites for dtype, sites in groups.items() if len(sites) > 1}
    if not groups:
        return None
    weighted = [sites for sites in groups.values() for _ in sites]
    for _ in range(8):
        first, second = rng.sample(rng.choice(weighted), 2)
        if first.contains(second) or second.contains(first) or _same(first.node, second.node):
            continue
        if _fits(tree, first, second) and _fits(tree, second, first):
            return tree.replace_all([(first, second.node), (second, first.node)])
    return None


def loop_kind(func: Any, rng: Random, env: MutationEnv) -> Any | None:
    """Change how a loop runs (serial, parallel, vectorised, unrolled) or the annotations that passes look for."""
    tree = Tree(func)
    loops = [s for s in tree.of_type(tirx.For) if not left_early(tree, s)]
    if not loops:
        return None
    site = rng.choice(loops)
    node = site.node
    annotations = {str(name): value for name, value in node.annotations.items()}
    kind, binding = int(node.kind), node.thread_binding
    if rng.randrange(4) == 0:
        name, values = rng.choice(PRAGMAS)
        if name in annotations:
            del annotations[name]
        else:
            annotations[name] = rng.choice(values)
    else:
        extent = constant_int(node.extent)
        kinds = [k for k in (SERIAL, PARALLEL, VECTORIZED, UNROLLED) if k != kind]
        if extent is None or extent > LARGEST_EXPANSION:
            kinds = [k for k in kinds if k not in (VECTORIZED, UNROLLED)] or [SERIAL]
        kind = rng.choice(kinds)
        binding = None
    return tree.replace(site, loop_with(node, kind=kind, thread_binding=binding, annotations=annotations))


def _copied_out(site: Site) -> bool:
    """Whether `site` is in the bounds of a loop whose body the compiler copies."""
    for below, above in zip([site, *site.ancestors()], site.ancestors(), strict=False):
        if type(above.node) is tirx.For and below.role in ("extent", "min"):
            return int(above.node.kind) in (VECTORIZED, UNROLLED) or bool(above.node.annotations)
    return False


def _other_operators(node: Any) -> Sequence[Any]:
    """What may stand in place of the operator of `node`: constructors of two operands, or names of intrinsics."""
    kind = type(node)
    if kind is tvm.ir.Call:
        name = str(getattr(node.op, "name", ""))
        if name.removeprefix("tirx.").removeprefix("prim.") in UNARY_FLOAT:
            return [full for full in _UNARY_NAMES if full != name]
        return ()
    group: tuple[Any, ...] = ()
    if kind in COMPARISON:
        group = COMPARISON
    elif kind in LOGIC:
        group = LOGIC
    elif kind in ARITHMETIC or kind in BITWISE:
        dtype = dtypes.parse(dtype_of(node))
        if dtype is not None and dtype.is_int:
            group = ARITHMETIC + BITWISE
        elif dtype is not None and dtype.is_float:
            group = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Min, tirx.Max)
    return [other for other in group if other is not kind]


_OP_NAMES = frozenset(str(name) for name in tvm.ir.Op.list_op_names())
_UNARY_NAMES = tuple(
    prefix + short for short in UNARY_FLOAT for prefix in ("tirx.", "prim.") if prefix + short in _OP_NAMES
)


def _other_scalar(rng: Random, dtype: dtypes.DType) -> str:
    """Another scalar dtype to compute in; mostly of the same kind."""
    if rng.randrange(8) == 0:
        pool: Sequence[str] = dtypes.EXOTIC
    elif dtype.is_float:
        pool = dtypes.FLOATS + dtypes.FLOATS + dtypes.INTEGERS
    elif dtype.is_bool:
        pool = ("int8", "int32", "uint8", "uint1", "float32")
    else:
        pool = dtypes.INTEGERS + dtypes.UNSIGNED + dtypes.FLOATS[:3]
    return rng.choice([scalar for scalar in pool if scalar != dtype.scalar])


def _retype_loop(tree: Tree, site: Site, rng: Random) -> Any | None:
    """Give a loop variable another integer dtype; its uses see it cast back."""
    node = site.node
    old = dtype_of(node.loop_var)
    new = rng.choice([d for d in ("int64", "int32", "int16", "uint8", "uint32", "uint64") if d != old])
    names = Names(names_in(tree.func, tree))
    var = tirx.Var(names.fresh("i"), new)
    body = substitute(node.body, {key(node.loop_var): tirx.Cast(old, var)})
    step = node.step if node.step is None else _as(new, node.step)
    loop = tirx.For(
        var,
        _as(new, node.min),
        _as(new, node.extent),
        int(node.kind),
        body,
        node.thread_binding,
        node.annotations,
        step,
    )
    return tree.replace(site, loop)


def _as(dtype: str, expr: Any) -> Any:
    value = constant_int(expr)
    parsed = dtypes.parse(dtype)
    if value is None or parsed is None:
        return tirx.Cast(dtype, expr)
    return tirx.IntImm(dtype, dtypes.clamp(value, parsed))


def _deletable(tree: Tree, site: Site) -> bool:
    """Whether nothing after `site` uses what the statement itself defines."""
    defined = {key(var) for var in definitions(site.node)} if type(site.node) in DEFINING else set()
    if not defined or site.parent is None:
        return True
    rest = tree.sites[site.end : site.parent.end]
    return not any(key(var) in defined for later in rest for var in uses(later.node))


def _same(first: Any, second: Any) -> bool:
    if type(first) is not type(second):
        return False
    if type(first) is tirx.Var:
        return key(first) == key(second)
    return type(first) in (tirx.IntImm, tirx.FloatImm) and first.value == second.value


def _fits(tree: Tree, moved: Site, place: Site) -> bool:
    """Whether every variable that `moved` uses is in scope at `place`."""
    free = free_variables(tree, moved)
    return not free or {key(var) for var in free} <= scope_at(tree, place).identities()
