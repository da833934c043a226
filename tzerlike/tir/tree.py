"""A PrimFunc as a list of replaceable positions.

`Tree(func)` lists, in pre-order, every place of a function where another statement or
expression may be put. Variables and buffers at their definitions, block signatures and
iteration domains are not places. `Tree.replace` rebuilds only the nodes between the root and
the changed places; everything else is shared with the parent, which stays as it was.

Walking crosses the language border about three times a node (a quarter of a microsecond each), so that a function
of 500 nodes takes well under a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tzerlike.systems.tvm_api import (
    KNOWN_IR,
    array_items,
    call_with,
    function_with,
    memory_var_of,
    name_of,
    params_of,
    s_tir,
    source_of,
    structural_walk,
    tirx,
    tvm,
    type_of,
    variable_like,
)
from tzerlike.tir.node import (
    Node,
    accessed_by,
    declares_nothing,
    definitions,
    dtype_of,
    fits,
    is_jump,
    key,
    seq,
    substitute,
    uses,
)


class Kind(Enum):
    """What may stand at a site."""

    STMT = "statement"
    EXPR = "expression"
    FIXED = "fixed"
    """Walked through, never replaced: the SBlock below its realize."""


@dataclass(slots=True, eq=False)
class Site:
    """One place in a function.

    `number` is the pre-order number and `end` the number after the last site below, so that
    `end - number` is the size of the subtree. `role` is the field of the parent's node that holds
    the node, `index` the position in it where the field is a list, else -1.
    """

    node: Node
    kind: Kind
    parent: Site | None
    role: str
    index: int
    number: int
    end: int = 0

    @property
    def size(self) -> int:
        """The number of sites in the subtree, this one included."""
        return self.end - self.number

    @property
    def dtype(self) -> str:
        """The dtype with lanes, `handle` for pointers, "" for what has none (statements, strings, void)."""
        return dtype_of(self.node) if self.kind is Kind.EXPR else ""

    def ancestors(self) -> Iterator[Site]:
        """The sites above, nearest first."""
        site = self.parent
        while site is not None:
            yield site
            site = site.parent

    def contains(self, other: Site) -> bool:
        """Whether `other` is in the subtree of this site (a site contains itself)."""
        return self.number <= other.number < self.end


@dataclass(frozen=True, slots=True)
class Shape:
    """How the children of a node type are found and how the node is built again.

    `children` are (field, kind, is_list); a field that is None is skipped. `build` takes the node
    and a reader of (possibly replaced) fields.
    """

    children: tuple[tuple[str, Kind, bool], ...]
    build: Callable[[Node, Callable[[str], Any]], Node]


def _build_for(node: Node, get: Callable[[str], Any]) -> Node:
    minimum, extent, step = get("min"), get("extent"), get("step")
    return tirx.For(node.loop_var, minimum, extent, node.kind, get("body"), node.thread_binding, node.annotations, step)


def _build_block(node: Node, get: Callable[[str], Any]) -> Node:
    block = s_tir.SBlock(
        node.iter_vars,
        [region for region in array_items(node.reads) if fits(region)],
        [region for region in array_items(node.writes) if fits(region)],
        node.name_hint,
        get("body"),
        get("init"),
        node.alloc_buffers,
        node.match_buffers,
        node.annotations,
    )
    return refresh_regions(block)


def _build_attr(node: Node, get: Callable[[str], Any]) -> Node:
    """A thread's extent stands twice, in the statement and in the domain of its variable: keep them equal."""
    value, owner = get("value"), node.node
    if isinstance(owner, tirx.IterVar) and owner.dom is not None and type_of(value) == type_of(owner.dom.extent):
        owner = tirx.IterVar(
            tvm.ir.Range.from_min_extent(owner.dom.min, value), owner.var, owner.iter_type, owner.thread_tag
        )
    return tirx.AttrStmt(owner, node.attr_key, value, get("body"))


def refresh_regions(block: Node) -> Node:
    """`block` with the regions that its body really reads and writes.

    A signature that no longer covers the body would make the program meaningless (passes such as
    CompactBufferAllocation trust it), and what then fails is no bug. The root block, which
    declares nothing, stays as it is.
    """
    if declares_nothing(block):
        return block
    accessed, inner = accessed_buffers(block)
    sizes = _sizes(accessed)
    by_memory = {memory_var_of(buffer): buffer for buffer in accessed}
    reads, writes = s_tir.analysis.get_sblock_read_write_region(block, by_memory)
    return s_tir.SBlock(
        block.iter_vars,
        [_visible(region, inner, sizes) for region in array_items(reads)],
        [_visible(region, inner, sizes) for region in array_items(writes)],
        block.name_hint,
        block.body,
        block.init,
        block.alloc_buffers,
        block.match_buffers,
        block.annotations,
    )


def _visible(region: Node, inner: set[int], sizes: set[int]) -> Node:
    """`region`, or all of its buffer where its bounds speak of what is defined in the block's body (`inner`).

    The analysis takes bounds as they stand in the body, a Let or a load from a buffer of the body's own included, and
    divisions without the conditions that they stand under: all of the buffer as well where one may be by 0. Of an index
    without bounds it takes a dimension from an int32 0 to an extent of any dtype.
    """
    bounds = _bounds(region)
    mixed = any(dtype_of(extent.min) != dtype_of(extent.extent) for extent in array_items(region.region))
    if not mixed and not any(key(var) in inner for var in _used_by(bounds)) and not _divided_by(bounds) - sizes:
        return region
    return whole_of(source_of(region))


def whole_of(buffer: Node) -> Node:
    """The region of all of a buffer."""
    shape = array_items(type_of(buffer).shape)
    whole = [tvm.ir.Range.from_min_extent(tirx.IntImm(type_of(extent).dtype, 0), extent) for extent in shape]
    return tirx.BufferRegion(buffer, whole)


def may_divide_by_zero(block: Node) -> bool:
    """Whether a region that a block declares is divided by what varies: neither a number nor a size of a buffer."""
    regions = [*array_items(block.reads), *array_items(block.writes)]
    divided = [_divided_by(_bounds(region)) for region in regions]
    return any(divided) and any(by - _sizes(accessed_buffers(block)[0]) for by in divided)


def _bounds(region: Node) -> list[Node]:
    return [bound for extent in array_items(region.region) for bound in (extent.min, extent.extent)]


def _sizes(buffers: Sequence[Node]) -> set[int]:
    """The keys of the variables in shapes, which no buffer has 0 of."""
    return {key(var) for buffer in buffers for var in _used_by(array_items(type_of(buffer).shape))}


_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)


def _divided_by(exprs: Sequence[Node]) -> set[int]:
    """The keys of what stands in divisors."""
    divisors: list[Node] = []
    callbacks = tuple((kind, lambda node: divisors.append(node.b)) for kind in _DIVISIONS)
    for expr in exprs:
        if type(expr) is not tirx.IntImm:
            structural_walk(expr, callbacks)
    return {key(var) for var in _used_by(divisors)}


def _used_by(exprs: Sequence[Node]) -> list[Node]:
    """The variables in expressions, and the buffers that they load from."""
    used: list[Node] = []
    callbacks = ((tirx.Var, used.append), (tvm.ir.TensorLoad, lambda load: used.append(source_of(load))))
    for expr in exprs:
        if type(expr) is not tirx.IntImm:
            structural_walk(expr, callbacks)
    return used


def accessed_buffers(block: Node) -> tuple[list[Node], set[int]]:
    """The buffers that the body of `block` uses, be it through views, and that come from outside of it; and the keys of
    what it defines."""
    pending = [block]
    used: dict[int, Node] = {}
    inner = {key(buffer) for buffer in array_items(block.alloc_buffers)}
    inner.update(key(match.buffer) for match in array_items(block.match_buffers))
    inner.update(map(key, _match_variables(block)))
    while pending:
        node = pending.pop()
        if (accessed := accessed_by(node)) is not None:
            used.setdefault(key(accessed), accessed)
        elif type(node) is tirx.Var and tirx.is_buffer_var(node):
            used.setdefault(key(node), node)
        elif node is not block:
            inner.update(key(var) for var in definitions(node))
        if type(node) is s_tir.SBlock:
            # What is accessed through a view is the buffer that it is a view of.
            used.update(
                (key(source_of(match.source)), source_of(match.source)) for match in array_items(node.match_buffers)
            )
        shape = SHAPES.get(type(node))
        for name, _, is_list in shape.children if shape is not None else ():
            child = getattr(node, name)
            if is_list:
                pending.extend(array_items(child))
            elif child is not None:
                pending.append(child)
    defined = inner | {key(var) for var in definitions(block)}
    return [buffer for identity, buffer in used.items() if identity not in defined], inner


def _shapes() -> dict[type, Shape]:
    stmt, expr, fixed = Kind.STMT, Kind.EXPR, Kind.FIXED
    binary = (("a", expr, False), ("b", expr, False))
    table: dict[type, Shape] = {
        tirx.For: Shape(
            (("min", expr, False), ("extent", expr, False), ("step", expr, False), ("body", stmt, False)), _build_for
        ),
        tirx.While: Shape(
            (("condition", expr, False), ("body", stmt, False)),
            lambda node, get: tirx.While(get("condition"), get("body")),
        ),
        tirx.IfThenElse: Shape(
            (("condition", expr, False), ("then_case", stmt, False), ("else_case", stmt, False)),
            lambda node, get: tirx.IfThenElse(get("condition"), get("then_case"), get("else_case")),
        ),
        tirx.SeqStmt: Shape((("seq", stmt, True),), lambda node, get: seq(get("seq"))),
        tirx.BufferStore: Shape(
            (("value", expr, False), ("indices", expr, True)),
            lambda node, get: tirx.BufferStore(node.buffer, get("value"), get("indices")),
        ),
        tirx.Bind: Shape((("value", expr, False),), lambda node, get: tirx.Bind(node.var, get("value"))),
        tirx.AttrStmt: Shape((("value", expr, False), ("body", stmt, False)), _build_attr),
        tirx.AssertStmt: Shape(
            (("condition", expr, False),),
            # the wheel's wrapper names the first two arguments the wrong way round
            lambda node, get: tirx.AssertStmt(get("condition"), node.error_kind, node.message_parts),
        ),
        # In an older TVM the pointer is a part of the buffer.
        tirx.DeclBuffer: Shape(
            (("data", expr, False),), lambda node, get: tirx.DeclBuffer(node.buffer, data=get("data"))
        )
        if KNOWN_IR
        else Shape((), lambda node, get: node),
        tirx.AllocBuffer: Shape((), lambda node, get: node),
        tirx.Evaluate: Shape((("value", expr, False),), lambda node, get: tirx.Evaluate(get("value"))),
        tirx.Return: Shape((("value", expr, False),), lambda node, get: tirx.Return(get("value"))),
        tirx.Break: Shape((), lambda node, get: node),
        tirx.Continue: Shape((), lambda node, get: node),
        s_tir.SBlockRealize: Shape(
            (("iter_values", expr, True), ("predicate", expr, False), ("block", fixed, False)),
            lambda node, get: s_tir.SBlockRealize(get("iter_values"), get("predicate"), get("block")),
        ),
        s_tir.SBlock: Shape((("init", stmt, False), ("body", stmt, False)), _build_block),
        tirx.Cast: Shape((("value", expr, False),), lambda node, get: tirx.Cast(dtype_of(node), get("value"))),
        tirx.Not: Shape((("a", expr, False),), lambda node, get: tirx.Not(get("a"))),
        tirx.BitwiseNot: Shape((("a", expr, False),), lambda node, get: tirx.BitwiseNot(get("a"))),
        tirx.Select: Shape(
            (("condition", expr, False), ("true_value", expr, False), ("false_value", expr, False)),
            lambda node, get: tirx.Select(get("condition"), get("true_value"), get("false_value")),
        ),
        tirx.Ramp: Shape(
            (("base", expr, False), ("stride", expr, False)),
            lambda node, get: tirx.Ramp(get("base"), get("stride"), node.lanes),
        ),
        tirx.Broadcast: Shape((("value", expr, False),), lambda node, get: tirx.Broadcast(get("value"), node.lanes)),
        tirx.Shuffle: Shape(
            (("vectors", expr, True), ("indices", expr, True)),
            lambda node, get: tirx.Shuffle(get("vectors"), get("indices")),
        ),
        tirx.Let: Shape(
            (("value", expr, False), ("body", expr, False)),
            lambda node, get: tirx.Let(node.var, get("value"), get("body")),
        ),
        tvm.ir.Call: Shape((("args", expr, True),), lambda node, get: call_with(node, get("args"))),
        tvm.ir.TensorLoad: Shape(
            (("indices", expr, True),), lambda node, get: tirx.BufferLoad(source_of(node), get("indices"))
        ),
    }
    for constructor in BINARY:
        table[constructor] = Shape(binary, _binary_builder(constructor))
    return table


def _binary_builder(constructor: Callable[[Any, Any], Any]) -> Callable[[Node, Callable[[str], Any]], Node]:
    return lambda node, get: constructor(get("a"), get("b"))


ARITHMETIC: tuple[Any, ...] = (
    tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max,
)  # fmt: skip
BITWISE: tuple[Any, ...] = (tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor, tirx.LShift, tirx.RShift)
COMPARISON: tuple[Any, ...] = (tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE)
LOGIC: tuple[Any, ...] = (tirx.And, tirx.Or)
BINARY: tuple[Any, ...] = ARITHMETIC + BITWISE + COMPARISON + LOGIC

SHAPES: Mapping[type, Shape] = _shapes()


@dataclass(slots=True)
class Tree:
    """The sites of `func`, in pre-order; site 0 is its body."""

    func: Node
    sites: list[Site] = field(init=False)

    def __post_init__(self) -> None:
        """List the sites, without recursion: a program may be nested more deeply than Python's stack."""
        sites = self.sites = []
        pending: list[tuple[Node, Kind, Site | None, str, int]] = [(self.func.body, Kind.STMT, None, "body", -1)]
        while pending:
            node, kind, parent, role, index = pending.pop()
            site = Site(node, kind, parent, role, index, len(sites), len(sites) + 1)
            sites.append(site)
            shape = SHAPES.get(type(node))
            if shape is None:
                continue
            for name, child_kind, is_list in reversed(shape.children):
                child = getattr(node, name)
                if is_list:
                    pending += [
                        (element, child_kind, site, name, position)
                        for position, element in reversed([*enumerate(array_items(child))])
                        if not _settled(node, element)
                    ]
                elif child is not None:
                    pending.append((child, child_kind, site, name, -1))
        for site in reversed(sites):
            if site.parent is not None:
                site.parent.end = max(site.parent.end, site.end)

    @property
    def size(self) -> int:
        """The number of sites."""
        return len(self.sites)

    def statements(self) -> list[Site]:
        """The sites of statements."""
        return [site for site in self.sites if site.kind is Kind.STMT]

    def expressions(self) -> list[Site]:
        """The sites of expressions."""
        return [site for site in self.sites if site.kind is Kind.EXPR]

    def of_type(self, *types: Any) -> list[Site]:
        """The sites whose node is exactly of one of `types`."""
        return [site for site in self.sites if type(site.node) in types]

    def below(self, site: Site) -> list[Site]:
        """The subtree of `site`, itself first."""
        return self.sites[site.number : site.end]

    def replace(self, site: Site, node: Node) -> Node:
        """The function with `node` at `site`."""
        return self.replace_all([(site, node)])

    def replace_all(self, changes: Sequence[tuple[Site, Node]]) -> Node:
        """The function with every change made; the sites must not contain one another.

        Raises what TVM's constructors raise when a node does not fit where it is put.
        """
        return function_with(self.func, self.rebuild(changes))

    def rebuild(self, changes: Sequence[tuple[Site, Node]]) -> Node:
        """The body with every change made."""
        new: dict[int, Node] = {}
        spine: set[int] = set()
        for site, node in changes:
            if site.number in new or site.number in spine:
                raise ValueError("changes overlap")
            new[site.number] = node
            for above in site.ancestors():
                if above.number in new:
                    raise ValueError("changes overlap")
                spine.add(above.number)
        children: dict[int, list[int]] = {number: [] for number in spine}
        for number in [*new, *spine]:
            parent = self.sites[number].parent
            if parent is not None:
                children[parent.number].append(number)
        for number in sorted(spine, reverse=True):
            new[number] = self._rebuild_one(self.sites[number], children[number], new)
        return new.get(0, self.func.body)

    def rewrite(self, change: Callable[[Site, Node], Node], params: Sequence[Node] | None = None) -> Node:
        """The function with `change(site, node)` in place of every node, from the leaves up.

        `node` is the site's node with its children already rewritten; returning it keeps it. `params` are
        the new parameters, where they change.
        """
        new: dict[int, Node] = {}
        changed: dict[int, list[int]] = {}
        for site in reversed(self.sites):
            number = site.number
            node = self._rebuild_one(site, changed[number], new) if number in changed else site.node
            node = change(site, node)
            if node is not site.node:
                new[number] = node
                if site.parent is not None:
                    changed.setdefault(site.parent.number, []).append(number)
        return function_with(self.func, new.get(0, self.func.body), params=params)

    def _rebuild_one(self, site: Site, changed: list[int], new: dict[int, Node]) -> Node:
        fields: dict[str, Any] = {}
        for number in changed:
            child = self.sites[number]
            if child.index < 0:
                fields[child.role] = new[number]
            else:
                if child.role not in fields:
                    fields[child.role] = array_items(getattr(site.node, child.role))
                fields[child.role][child.index] = new[number]

        def get(name: str) -> Any:
            return fields[name] if name in fields else getattr(site.node, name)

        return SHAPES[type(site.node)].build(site.node, get)


def _settled(node: Node, operand: Node) -> bool:
    """Whether an operand is no site: the hints of a prefetch, of which LLVM takes only a few values."""
    if type(node) is not tvm.ir.Call or type(operand) is not tirx.IntImm:
        return False
    return getattr(node.op, "name", "") == "tirx.prefetch"


def free_variables(tree: Tree, site: Site) -> list[Node]:
    """The variables and buffers that the subtree of `site` uses without defining them, in order of first use."""
    defined: set[int] = set()
    used: dict[int, Node] = {}
    for inner in tree.below(site):
        defined.update(key(var) for var in definitions(inner.node))
        for var in uses(inner.node):
            used.setdefault(key(var), var)
    return [var for identity, var in used.items() if identity not in defined]


def defines_once(tree: Tree) -> bool:
    """Whether no variable is defined twice. TVM's verifier must not see such a function: it segfaults."""
    seen = {key(param) for param in params_of(tree.func)}
    for site in tree.sites:
        for var in definitions(site.node):
            identity = key(var)
            if identity in seen and type(site.node) is not tirx.AttrStmt:
                return False
            seen.add(identity)
    return True


def jumps_out(tree: Tree, site: Site) -> bool:
    """Whether the subtree of `site` leaves or continues a loop that is not in it."""
    for inner in tree.below(site):
        if is_jump(inner.node):
            for above in inner.ancestors():
                if above.number < site.number:
                    return True
                if type(above.node) in (tirx.For, tirx.While):
                    break
    return False


def jumps_nowhere(tree: Tree) -> bool:
    """Whether there is a break or continue outside of all loops, which TVM's verifiers do not look for."""
    jumps = (site for site in tree.sites if is_jump(site.node))
    return any(all(type(above.node) not in (tirx.For, tirx.While) for above in jump.ancestors()) for jump in jumps)


def in_init(site: Site) -> bool:
    """Whether a site is in the initialisation of a block."""
    return any(part.role == "init" for part in (site, *site.ancestors()))


def left_early(tree: Tree, loop: Site) -> bool:
    """Whether a break or continue acts on the loop at `loop`: TVM wants such loops serial and bare."""
    return jumps_out(tree, next(s for s in tree.below(loop) if s.parent is loop and s.role == "body"))


def renamed(node: Node, fresh: Callable[[str], str], values: Mapping[int, Node] | None = None) -> Node:
    """A copy of `node` in which everything it defines has a fresh name and identity.

    `values` are put in place of free variables, by key; a buffer only for a buffer of the same type.
    """
    tree = Tree(tirx.PrimFunc([], node if isinstance(node, tirx.Stmt) else tirx.Evaluate(node)))
    changes: dict[int, Node] = dict(values or {})

    for site in tree.sites:
        own = _match_variables(site.node)
        of_type = (lambda part: substitute(part, changes)) if own else (lambda part: part)
        for var in (*own, *definitions(site.node)):
            name = fresh(str(name_of(var)).rstrip("0123456789") or "v")
            changes[key(var)] = variable_like(var, name, of_type)
    return substitute(node, changes) if changes else node


def _match_variables(node: Node) -> list[Node]:
    """The variables that the match_buffers of a block define: offsets and strides; sizes may be of the function."""
    if type(node) is not s_tir.SBlock:
        return []
    types = [type_of(match.buffer) for match in array_items(node.match_buffers)]
    return [e for ty in types for e in (ty.elem_offset, *array_items(ty.strides)) if type(e) is tirx.Var]
