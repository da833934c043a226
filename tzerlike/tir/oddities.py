"""What hardly anybody would write, by the structure of a program, and something plainer to put in its place.

Where `tzerlike.tir.plain` goes by the words of a program, this goes by its form. A fuzzer makes such things by chance,
and who is shown a bug with one in it will ask whether it takes that.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import (
    array_items,
    function_with,
    is_buffer,
    params_of,
    s_tir,
    source_of,
    structural_equal,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.buffers import like
from tzerlike.tir.dtypes import largest_float
from tzerlike.tir.index_form import strange_at, strange_extents
from tzerlike.tir.order import USUAL_ALIGNMENT
from tzerlike.tir.plain import HINTS
from tzerlike.tir.reducers.program import Make, block_with, buffers_of, number, with_values
from tzerlike.tir.repetition import only_repeats
from tzerlike.tir.scope import SERIAL, THREAD_BINDING, UNROLLED, VECTORIZED
from tzerlike.tir.thread_memory import tag_of
from tzerlike.tir.tree import (
    ARITHMETIC,
    BITWISE,
    COMPARISON,
    LOGIC,
    Kind,
    Site,
    Tree,
    accessed_by,
    declares_nothing,
    dtype_of,
    is_jump,
    key,
    left_early,
    loop_with,
    seq,
    substitute,
    uses,
)
from tzerlike.tir.unreachable import never_holds

EXTREME = 1 << 20
"""As an index or a divisor, such a number is one of the edges that a fuzzer goes for."""

MOST_MENDS = 200

_UNSIGNED = "an unsigned loop"
_NEVER = "what no execution may come to"
_UNFOLDED = "an unfolded constant"
_UNUSED = "an unused name"
_UNSTORED = "a value that nobody uses"
_SIMPLER = "an expression that is one of its operands, or a number"
_PURE = (0, 1)
"""Effects of calls that compute and do no more."""

_REMAINDERS = (tirx.Mod, tirx.FloorMod)
_QUOTIENTS = (tirx.Div, tirx.FloorDiv)
_DIVISIONS = (*_QUOTIENTS, *_REMAINDERS)
_FOLDS: Mapping[Any, Callable[[int, int], int]] = {
    tirx.Add: operator.add,
    tirx.Sub: operator.sub,
    tirx.Mul: operator.mul,
    tirx.Min: min,
    tirx.Max: max,
}
_COMMUTATIVE = (tirx.Add, tirx.Mul)
_NEUTRAL = {(tirx.Add, 0), (tirx.Sub, 0), (tirx.Mul, 1), *((kind, 1) for kind in _QUOTIENTS)}
_ABSORBING = {(tirx.Mul, 0), *((kind, 1) for kind in _REMAINDERS)}
"""Operations that are their first operand, or 0, where the second is this number."""

_OF_THE_SAME = {
    **dict.fromkeys((tirx.Sub, *_REMAINDERS, tirx.NE, tirx.LT, tirx.GT), 0),
    **dict.fromkeys((*_QUOTIENTS, tirx.EQ, tirx.LE, tirx.GE), 1),
}
"""What operations come to on twice the same."""

_BEYOND = 1.001
"""By what factor a constant is beyond the floats of a dtype, at the least."""

_EXTENT = 16
"""Of memory that is mended: more than most programs of ours use."""

_ALIGNMENT = "buffer_dim_align"
"""An annotation that says nothing of memory that nobody reads."""

_ACCESSES = (tvm.ir.TensorLoad, tirx.BufferStore)
_BOUNDS = ("min", "extent", "step")
_PLACES = ("indices", "iter_values", "predicate", *_BOUNDS)
_CONDITIONS = ("condition", "predicate")


@dataclass(frozen=True, slots=True)
class Oddity:
    """`ways` make functions without it, the most alike first; None where nothing plainer is known."""

    what: str
    ways: tuple[Make, ...]


@dataclass(frozen=True, slots=True)
class _Program:
    """`used` are the variables that something uses, `read` the buffers that are read, here or by the caller, `written`
    those that are written here; `blocks` says whether there are any but the root."""

    tree: Tree
    used: frozenset[int]
    read: frozenset[int]
    written: frozenset[int]
    blocks: bool
    threads: bool


def oddities(func: Any, *, threads: bool) -> Iterator[Oddity]:
    """What is odd about a function, outermost first. `threads` says whether its target has threads to bind loops to."""
    tree = Tree(func)
    used = frozenset(key(var) for site in tree.sites for var in uses(site.node))
    loaded = (key(source_of(site.node)) for site in tree.sites if type(site.node) is tvm.ir.TensorLoad)
    read = frozenset((*loaded, *map(key, params_of(func))))
    written = frozenset(key(site.node.buffer) for site in tree.of_type(tirx.BufferStore))
    program = _Program(tree, used, read, written, any(map(_declares, tree.sites)), threads)
    for site in tree.sites:
        if _is_of_one_bit(site.dtype):
            yield Oddity("a number of one bit", (partial(_with_node, tree, site, partial(_as_truth, site.node)),))
        if site.kind is Kind.EXPR and (strange := strange_at(site)):
            yield Oddity(strange, (partial(_with_node, tree, site, partial(_part_or_number, tree, site)),))
        rule = _RULES.get(type(site.node))
        for what, plainer in () if rule is None else rule(program, site):
            other = _OTHER_WAYS.get(what)
            ways = (partial(_with_node, tree, site, plainer),)
            yield Oddity(what, ways if other is None else (*ways, partial(other, tree, site)))
    for buffer in buffers_of(tree):
        if 8 * int(type_of(buffer).data_alignment) < _bits(str(type_of(buffer).dtype.dtype)):
            aligned = {key(buffer): like(buffer, alignment=USUAL_ALIGNMENT)}
            yield Oddity("an alignment below that of an element", (partial(with_values, func, aligned),))
        if strange_extents(buffer):
            sized = {key(buffer): like(buffer, shape=[_EXTENT] * len(array_items(type_of(buffer).shape)))}
            yield Oddity("a size that is no arithmetic on indices", (partial(with_values, func, sized),))


def mended(func: Any, way: int, *, threads: bool) -> Any | None:
    """Return a function like this one with nothing odd about its form; None where that cannot be had.

    It need not compute the same. `way` is 0 or 1, where there are two to mend something. Raises what TVM's constructors
    raise.
    """
    for _ in range(MOST_MENDS):
        odd = next(oddities(func, threads=threads), None)
        if odd is None:
            return func
        func = odd.ways[min(way, len(odd.ways) - 1)]()
        if func is None:
            break
    return None


def _with_node(tree: Tree, site: Site, make: Make) -> Any | None:
    node = make()
    return None if node is None else tree.replace(site, node)


def _part_or_number(tree: Tree, site: Site) -> Any | None:
    """The first part of an expression that is of its type; else a number, where it can be one."""
    parts = [below.node for below in tree.below(site) if below.parent is site and below.dtype == site.dtype]
    return parts[0] if parts else number(site.dtype, 1)


def _as_parameter(tree: Tree, site: Site) -> Any:
    """The function with the body of a loop in its place, and the loop's variable as a last parameter."""
    params = [*params_of(tree.func), site.node.loop_var]
    return function_with(tree.func, tree.replace(site, site.node.body).body, params=params)


def _as_name(tree: Tree, site: Site) -> Any | None:
    """The function with a name for a number that is calculated, as people have for those that they calculate with."""
    value = _folded(site.node, site.dtype)
    if type(value) is not tirx.IntImm:
        return None
    name = tirx.Var("c", site.dtype)
    return _beginning_with(tirx.Bind(name, value), tree.replace(site, name))


def _used(tree: Tree, site: Site) -> Any | None:
    """The function with the name for what is calculated with it, where that is of its type."""
    node = site.node
    if type(node) is not tirx.Let or str(type_of(node.var).dtype) != site.dtype:
        return None
    return tree.replace(site, tirx.Let(node.var, node.body, node.var))


def _as_result(tree: Tree, site: Site) -> Any | None:
    """The function with what it evaluates in a last parameter; of one element it would not come back from its text."""
    dtype = parse(dtype_of(site.node.value))
    if dtype is None or dtype.base == "handle" or dtype.scalable:
        return None
    result = tirx.decl_buffer((max(dtype.lanes, 2),), dtype.scalar, "result")
    index = tirx.IntImm("int32", 0) if dtype.lanes == 1 else tirx.Ramp(0, 1, dtype.lanes)
    func = tree.replace(site, tirx.BufferStore(result, site.node.value, [index]))
    return function_with(func, func.body, params=[*params_of(func), result])


def _beginning_with(stmt: Any, func: Any) -> Any:
    root = func.body
    if type(root) is not s_tir.SBlockRealize:
        return function_with(func, seq([stmt, root]))
    block = block_with(root.block, body=seq([stmt, root.block.body]))
    return function_with(func, s_tir.SBlockRealize(array_items(root.iter_values), root.predicate, block))


_OTHER_WAYS: Mapping[str, Callable[[Tree, Site], Any | None]] = {
    _UNSIGNED: _as_parameter,
    _UNFOLDED: _as_name,
    _UNUSED: _used,
    _UNSTORED: _as_result,
}

_Found = Iterator[tuple[str, Make]]


def _realize(program: _Program, site: Site) -> _Found:
    node, block = site.node, site.node.block
    values, axes = array_items(node.iter_values), array_items(block.iter_vars)
    always = partial(s_tir.SBlockRealize, values, _truth(node.predicate), block)
    if not (type(node.predicate) is tirx.IntImm and int(node.predicate.value)):
        if site.parent is None:
            yield "a root block under a condition", always
        elif is_fixed(node.predicate):
            yield "a constant condition", always
        elif never_holds(node.predicate, site):
            yield _NEVER, always
    for place, (axis, value) in enumerate(zip(axes, values, strict=True)):
        if not _within(value, axis.dom.min, axis.dom.extent):
            others = [*values[:place], axis.dom.min, *values[place + 1 :]]
            yield "a block outside of its domain", partial(s_tir.SBlockRealize, others, node.predicate, block)
    rest = _hints(block.annotations)
    unread = all(key(source_of(region)) not in program.read for region in array_items(block.writes))
    if _ALIGNMENT in rest and unread:
        del rest[_ALIGNMENT]
    if len(rest) < len(block.annotations):
        yield "an annotation", lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block, annotations=rest))
    own = {key(buffer) for buffer in array_items(block.alloc_buffers)}
    if own and any(key(source_of(region)) in own for region in (*array_items(block.reads), *array_items(block.writes))):
        yield "a region of a block's own memory", lambda: s_tir.SBlockRealize(values, node.predicate, block_with(block))


def _loop(program: _Program, site: Site) -> _Found:
    node = site.node
    serial = partial(loop_with, node, kind=SERIAL, thread_binding=None, body=_one_variable(node))
    dtype = str(type_of(node.extent).dtype)
    if str(type_of(node.loop_var).dtype).startswith("uint"):
        yield _UNSIGNED, partial(_signed, node)
    if _at_most_zero(node.extent):
        yield "a loop that never runs", partial(loop_with, node, extent=number(dtype, 2))
    bound_to_threads = int(node.kind) == THREAD_BINDING
    if bound_to_threads and not program.threads:
        yield "a thread binding", serial
    elif bound_to_threads and next(_loaded(program.tree, site, ("extent",)), None) is not None:
        yield "a number of threads in memory", partial(loop_with, node, extent=number(dtype, 2))
    elif any(key(buffer) in program.written for buffer in _loaded(program.tree, site, _BOUNDS)):
        yield (
            "a bound in memory that is written",
            partial(loop_with, node, min=number(dtype, 0), extent=number(dtype, 2), step=None),
        )
    if program.threads and _is_around_launch(program.tree, site):
        if any(inner is not site and _is_around_launch(program.tree, inner) for inner in program.tree.below(site)):
            yield "loops of the host in each other", partial(substitute, node.body, {key(node.loop_var): node.min})
        elif int(node.kind) not in (SERIAL, UNROLLED):
            yield "a parallel loop of the host", serial
    if only_repeats(program.tree, site):
        yield "a loop that only repeats itself", partial(substitute, node.body, {key(node.loop_var): node.min})
    if int(node.kind) == VECTORIZED and any(map(_of_lanes, program.tree.below(site))):
        yield "vectors in a vectorised loop", serial
    rest = _hints(node.annotations)
    if len(rest) < len(node.annotations) and not left_early(program.tree, site):
        yield "an annotation", partial(loop_with, node, annotations=rest)


def _at_most_zero(extent: Any) -> bool:
    """Whether a number that a program calculates is never positive, whatever it calculates with."""
    if type(extent) is tirx.IntImm:
        return int(extent.value) <= 0
    return type(extent) is tirx.Min and (_at_most_zero(extent.a) or _at_most_zero(extent.b))


def _is_around_launch(tree: Tree, site: Site) -> bool:
    """Whether a loop is one of the host's, with kernels in it."""
    if type(site.node) is not tirx.For or any(tag_of(above.node) for above in (site, *site.ancestors())):
        return False
    return any(tag_of(below.node) for below in tree.below(site))


def _evaluated(program: _Program, site: Site) -> _Found:
    value = site.node.value
    effect = value.op.get_attr("TCallEffectKind") if _is_operator_call(value) else None
    nothing = type(value) is tirx.IntImm and not int(value.value) and dtype_of(value) == "int32"
    if not (nothing or type(value) is tvm.ir.Call) or effect in _PURE:
        yield _UNSTORED, partial(seq, [])


def _is_operator_call(value: Any) -> bool:
    return type(value) is tvm.ir.Call and isinstance(value.op, tvm.ir.Op)


def _store(program: _Program, site: Site) -> _Found:
    """All threads of a block do what none is bound to; that is harmless where they do not meet what others access."""
    if program.blocks and not any(map(_declares, site.ancestors())):
        yield "a store beside blocks", partial(seq, [])
    written = site.node.buffer
    if not program.threads or str(type_of(written).storage_scope) == "local":
        return
    launches = [above for above in site.ancestors() if tag_of(above.node)]
    if not launches:
        yield "a store by the host", partial(seq, [])
    if not launches or any(map(_of_one_block, launches)):
        return
    threads = filter(_of_one_block, program.tree.below(launches[-1]))
    accesses = (other for thread in threads for other in program.tree.below(thread) if type(other.node) in _ACCESSES)
    if any(key(accessed_by(other.node)) == key(written) for other in accesses):
        yield "a write that is left to all threads", partial(seq, [])


def _of_one_block(site: Site) -> bool:
    """Whether a loop is over the threads of a block."""
    return tag_of(site.node).startswith("threadIdx")


def _branch(program: _Program, site: Site) -> _Found:
    if is_fixed(site.node.condition):
        yield "a constant condition", lambda: site.node.then_case
    elif never_holds(site.node.condition, site):
        yield _NEVER, partial(seq, [] if site.node.else_case is None else [site.node.else_case])


def _sequence(program: _Program, site: Site) -> _Found:
    stmts = array_items(site.node.seq)
    jump = next((place for place, stmt in enumerate(stmts) if is_jump(getattr(stmt, "value", stmt))), len(stmts))
    if jump < len(stmts) - 1:
        yield _NEVER, partial(seq, stmts[: jump + 1])


def _select(program: _Program, site: Site) -> _Found:
    if is_fixed(site.node.condition):
        yield "a constant condition", lambda: site.node.true_value


def _call(program: _Program, site: Site) -> _Found:
    name, args = str(getattr(site.node.op, "name", "")).partition(".")[2], array_items(site.node.args)
    if name == "if_then_else" and is_fixed(args[0]):
        yield "a constant condition", lambda: args[1]
    if name == "likely":
        yield "a hint", lambda: args[0]


def _logic(program: _Program, site: Site) -> _Found:
    first, second = site.node.a, site.node.b
    if is_fixed(first) or is_fixed(second):
        yield "a constant condition", lambda: second if is_fixed(first) else first


def _not(program: _Program, site: Site) -> _Found:
    if is_fixed(site.node.a):
        yield "a constant condition", lambda: site.node.a


def _binary(program: _Program, site: Site) -> _Found:
    node = site.node
    if is_fixed(node.a) and is_fixed(node.b):
        yield _UNFOLDED, partial(_folded, node, site.dtype)
    elif type(node) in _DIVISIONS and type(node.b) is tirx.IntImm and not int(node.b.value):
        yield _NEVER, lambda: node.a
    elif type(node) in _DIVISIONS and type(node.b) is tirx.IntImm and int(node.b.value) < 0:
        yield "a negative divisor", lambda: type(node)(node.a, number(site.dtype, 2))
    elif (simpler := _simpler(node, site.dtype)) is not None:
        yield _SIMPLER, lambda: simpler


def _cast(program: _Program, site: Site) -> _Found:
    source, wanted = parse(str(type_of(site.node.value).dtype)), parse(site.dtype)
    if not source or not source.is_float or not wanted:
        return
    value = _float_in(site.node.value)
    if wanted.is_float:
        if value is not None and math.isfinite(value) and abs(value) > _BEYOND * largest_float(wanted):
            yield _NEVER, lambda: tirx.FloatImm(site.dtype, 1.0)
    elif wanted.is_int and value is not None and not (math.isfinite(value) and wanted.low <= int(value) <= wanted.high):
        yield _NEVER, partial(number, site.dtype, 1)


def _declares(site: Site) -> bool:
    """Whether this is a block that declares anything: not the root."""
    node = site.node
    return type(node) is s_tir.SBlock and not declares_nothing(node)


def _loaded(tree: Tree, site: Site, roles: Collection[str]) -> Iterator[Any]:
    """The buffers that what is in these places of a node reads."""
    tops = (below for below in tree.below(site) if below.role in roles and below.parent is site)
    loads = (part.node for top in tops for part in tree.below(top) if type(part.node) is tvm.ir.TensorLoad)
    return map(source_of, loads)


def _float_in(node: Any) -> float | None:
    """The number that an expression is, or a float or vector of; None where it is something else."""
    while type(node) is tirx.Broadcast or (type(node) is tirx.Cast and "float" in dtype_of(node)):
        node = node.value
    return float(node.value) if type(node) is tirx.FloatImm else None


def _bind(program: _Program, site: Site) -> _Found:
    if not is_buffer(site.node.var) and key(site.node.var) not in program.used:
        yield _UNUSED, partial(seq, [])


def _let(program: _Program, site: Site) -> _Found:
    node = site.node
    if key(node.var) not in program.used:
        yield _UNUSED, lambda: node.body
    elif _in_condition(site) or any(part.role in _BOUNDS for part in _path(site)):
        yield "a name in a condition or a bound", lambda: substitute(node.body, {key(node.var): node.value})
    elif type(node.value) is tirx.Let:
        yield "a name for an expression with a name", lambda: substitute(node.body, {key(node.var): node.value})


def _integer(program: _Program, site: Site) -> _Found:
    above = site.parent
    if site.role == "indices" and above is not None and type(above.node) in _ACCESSES:
        extent = array_items(type_of(accessed_by(above.node)).shape)[site.index]
        if not _within(site.node, tirx.IntImm(type_of(extent).dtype, 0), extent):
            yield "an index outside of its buffer", partial(number, site.dtype, 0)
    if abs(int(site.node.value)) >= EXTREME and _in_index_or_divisor(site):
        yield "an extreme constant", partial(number, site.dtype, 2)


def _attribute(program: _Program, site: Site) -> _Found:
    if not program.threads or not isinstance(site.node.node, tirx.IterVar):
        yield "an attribute", partial(_without_attribute, site.node)


def _assertion(program: _Program, site: Site) -> _Found:
    yield "an assertion", partial(seq, [])


_RULES: Mapping[type, Callable[[_Program, Site], _Found]] = {
    s_tir.SBlockRealize: _realize,
    tirx.For: _loop,
    tirx.Evaluate: _evaluated,
    tirx.IfThenElse: _branch,
    tirx.SeqStmt: _sequence,
    tirx.Select: _select,
    tvm.ir.Call: _call,
    tirx.Not: _not,
    tirx.Bind: _bind,
    tirx.Let: _let,
    tirx.Cast: _cast,
    tirx.BufferStore: _store,
    tirx.IntImm: _integer,
    tirx.AttrStmt: _attribute,
    tirx.AssertStmt: _assertion,
    **dict.fromkeys(LOGIC, _logic),
    **dict.fromkeys(ARITHMETIC + BITWISE + COMPARISON, _binary),
}


def is_fixed(node: Any) -> bool:
    """Whether an expression has the same value wherever it stands."""
    kind = type(node)
    if kind in (tirx.IntImm, tirx.FloatImm):
        return True
    if kind in (tirx.Cast, tirx.Broadcast):
        return is_fixed(node.value)
    if kind is tirx.Not:
        return is_fixed(node.a)
    if kind in (*ARITHMETIC, *BITWISE, *COMPARISON, *LOGIC):
        return is_fixed(node.a) and is_fixed(node.b)
    return kind is tirx.Let and is_fixed(node.body)


def _folded(node: Any, dtype: str) -> Any:
    """What a sum or the like of two numbers is; of others one of them, or 1."""
    fold = _FOLDS.get(type(node))
    numbers = type(node.a) is tirx.IntImm and type(node.b) is tirx.IntImm
    whole = None if fold is None or not numbers else number(dtype, fold(int(node.a.value), int(node.b.value)))
    return whole or (node.a if str(type_of(node.a).dtype) == dtype else number(dtype, 1))


def _simpler(node: Any, dtype: str) -> Any | None:
    """The operand or the number that an operation on integers comes to, whatever they are; None where it does not."""
    kind, first, second = type(node), node.a, node.b
    operands = parse(dtype_of(first))
    if operands is None or operands.is_float:
        return None
    if structural_equal(first, second):
        value = _OF_THE_SAME.get(kind)
        return first if kind in (tirx.Min, tirx.Max) else None if value is None else number(dtype, value)
    for one, other in ((first, second), (second, first)):
        constant = int(other.value) if type(other) is tirx.IntImm else None
        if (kind, constant) in _NEUTRAL and (other is second or kind in _COMMUTATIVE):
            return one
        if (kind, constant) in _ABSORBING and (other is second or kind in _COMMUTATIVE):
            return number(dtype, 0)
    return None


def _truth(predicate: Any) -> Any:
    return tirx.IntImm(type_of(predicate).dtype, 1)


def _within(value: Any, low: Any, extent: Any) -> bool:
    """Whether a number is in a range; so it is taken to be where any of them is no number."""
    if any(type(node) is not tirx.IntImm for node in (value, low, extent)):
        return True
    return 0 <= int(value.value) - int(low.value) < int(extent.value)


def _hints(annotations: Any) -> dict[str, Any]:
    return {name: value for name, value in dict(annotations or {}).items() if str(name) in HINTS}


def _one_variable(loop: Any) -> Any:
    """The body of a loop over threads, where the thread has a variable of its own, with that of the loop alone."""
    if loop.thread_binding is None or key(loop.thread_binding.var) == key(loop.loop_var):
        return loop.body
    return substitute(loop.body, {key(loop.thread_binding.var): loop.loop_var})


def _signed(loop: Any) -> Any | None:
    """The loop with a signed variable that is cast where it is used; None where its bounds are no numbers."""
    if any(type(bound) is not tirx.IntImm for bound in (loop.min, loop.extent)):
        return None
    old = str(type_of(loop.loop_var).dtype)
    dtype = "int64" if old == "uint64" else "int32"
    var = tirx.Var(str(loop.loop_var.name), dtype)
    low, extent = (number(dtype, int(bound.value)) for bound in (loop.min, loop.extent))
    body = substitute(loop.body, {key(loop.loop_var): tirx.Cast(old, var)})
    return loop_with(loop, loop_var=var, min=low, extent=extent, body=body, step=None)


def _bits(text: str) -> int:
    """Of one number of a dtype; 0 for what is none."""
    dtype = parse(text)
    return 0 if dtype is None else dtype.bits


def _is_of_one_bit(text: str) -> bool:
    dtype = parse(text)
    return dtype is not None and dtype.base in ("int", "uint") and dtype.bits == 1


def _as_truth(node: Any) -> Any | None:
    return tirx.Cast("bool", node.value) if type(node) is tirx.Cast else None


def _of_lanes(site: Site) -> bool:
    """Whether an expression is a vector."""
    dtype = parse(site.dtype)
    return dtype is not None and dtype.lanes > 1


def _without_attribute(node: Any) -> Any:
    owner = node.node
    if not isinstance(owner, tirx.IterVar):
        return node.body
    return substitute(node.body, {key(owner.var): tirx.IntImm(type_of(owner.var).dtype, 0)})


def _path(site: Site) -> Iterator[Site]:
    """An expression and those around it, up to the statement."""
    while site.kind is Kind.EXPR:
        yield site
        assert site.parent is not None
        site = site.parent


def _in_condition(site: Site) -> bool:
    return any(
        part.role in _CONDITIONS
        or (part.role == "args" and part.index == 0 and part.parent is not None and _is_choice(part.parent.node))
        for part in _path(site)
    )


def _is_choice(node: Any) -> bool:
    return type(node) is tvm.ir.Call and str(getattr(node.op, "name", "")).endswith(".if_then_else")


def _in_index_or_divisor(site: Site) -> bool:
    return any(
        part.role in _PLACES or (part.role == "b" and part.parent is not None and type(part.parent.node) in _DIVISIONS)
        for part in _path(site)
    )
