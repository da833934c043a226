"""What is in scope at a site: variables with their ranges, buffers with their shapes, and the context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tzerlike.systems.tvm_api import array_items, name_of, params_of, s_tir, tirx, tvm, type_of, uses_blocks
from tzerlike.tir.node import key
from tzerlike.tir.tree import Kind, Site, Tree

SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD_BINDING = range(5)
"""tirx.ForKind as plain numbers."""

SPATIAL_AXIS, REDUCTION_AXIS = 0, 2
"""The iter_type of the axes of blocks: kDataPar and kCommReduce of tvm.tirx.IterVar."""


@dataclass(frozen=True, slots=True)
class ScopeVar:
    """A scalar or pointer variable.

    `low` and `high` bound its value (both inclusive) where they are known; `origin` is `param`,
    `shape`, `loop`, `thread`, `block`, `bind` or `let`.
    """

    var: Any
    dtype: str
    origin: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer; dimensions that are not constant are None.

    `origin` is `param`, `alloc`, `decl`, `block` (allocated by a block) or `match`.
    """

    var: Any
    dtype: str
    shape: tuple[int | None, ...]
    memory: str
    origin: str


@dataclass(frozen=True, slots=True)
class Loop:
    """An enclosing loop or thread; `extent` is None where it is not constant.

    `plain` is a serial loop without annotations: TVM lets only those be left early.
    """

    var: Any
    kind: int
    extent: int | None
    plain: bool = False


COUNTED = Loop(None, SERIAL, None)
"""A while loop: to leave it early, or an iteration of it, may mean that it never ends."""


@dataclass(slots=True)
class Scope:
    """What a node at a site may use, outermost first.

    `in_block` is set inside of a block with a domain (the root block has none).
    """

    variables: list[ScopeVar] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    in_block: bool = False
    s_tir: bool = False

    def extended(
        self, variables: Sequence[ScopeVar] = (), buffers: Sequence[Buffer] = (), loops: Sequence[Loop] = ()
    ) -> Scope:
        """This scope with more in it; the scope itself stays as it is."""
        return replace(
            self,
            variables=[*self.variables, *variables],
            buffers=[*self.buffers, *buffers],
            loops=[*self.loops, *loops],
        )

    def enter_block(self) -> None:
        """Go into a block with a domain: TVM lets its body see no loop variable from outside."""
        self.in_block = True
        self.variables = [v for v in self.variables if v.origin != "loop"]

    def identities(self) -> set[int]:
        """The keys of everything in scope."""
        return {key(v.var) for v in self.variables} | {key(b.var) for b in self.buffers}

    @property
    def threaded(self) -> bool:
        """Whether the site is inside of a GPU thread."""
        return any(loop.kind == THREAD_BINDING for loop in self.loops)

    @property
    def racy(self) -> bool:
        """Whether the site is inside of a parallel, vectorised or thread-bound loop."""
        return any(loop.kind in (PARALLEL, VECTORIZED, THREAD_BINDING) for loop in self.loops)


def constant_int(expr: Any) -> int | None:
    """The value of an IntImm."""
    return int(expr.value) if type(expr) is tirx.IntImm else None


def scope_at(tree: Tree, site: Site) -> Scope:
    """The scope of `site`: what its ancestors define for it, and the statements before it at every level."""
    scope = Scope(s_tir=uses_blocks(tree.func))
    for param in params_of(tree.func):
        _add_param(scope, param)
    below = site
    path = []
    for above in site.ancestors():
        path.append((above, below))
        below = above
    for above, child in reversed(path):
        _enter(tree, scope, above, child)
    return scope


def _add_param(scope: Scope, param: Any) -> None:
    if tirx.is_buffer_var(param):
        known = scope.identities()
        for var in shape_variables(param):
            if key(var) not in known:
                known.add(key(var))
                scope.variables.append(ScopeVar(var, str(type_of(var).dtype), "shape"))
        scope.buffers.append(buffer_of(param, "param"))
    else:
        scope.variables.append(ScopeVar(param, _dtype(param), "param"))


def shape_variables(buffer: Any) -> Iterator[Any]:
    """The variables that stand by themselves in a buffer's shape, strides or offset: a parameter defines them."""
    ty = type_of(buffer)
    for expr in [*array_items(ty.shape), *array_items(ty.strides), ty.elem_offset]:
        if type(expr) is tirx.Var:
            yield expr


def buffer_of(var: Any, origin: str) -> Buffer:
    """Describe a buffer variable."""
    ty = type_of(var)
    shape = tuple(constant_int(extent) for extent in array_items(ty.shape))
    return Buffer(var, str(ty.dtype.dtype), shape, str(ty.storage_scope), origin)


def _enter(tree: Tree, scope: Scope, above: Site, child: Site) -> None:
    node = above.node
    kind = type(node)
    if kind is tirx.For:
        if child.role == "body":
            loop_kind = int(node.kind)
            low, extent = constant_int(node.min), constant_int(node.extent)
            high = low + extent - 1 if low is not None and extent is not None and extent > 0 else None
            step = node.step
            if step is not None and (constant_int(step) or 0) <= 0:
                high = None
            _add_range(scope, node.loop_var, "loop", low if high is not None else None, high)
            scope.loops.append(Loop(node.loop_var, loop_kind, extent, loop_kind == SERIAL and not node.annotations))
    elif kind is tirx.While:
        scope.loops.append(COUNTED)
    elif kind is tirx.SeqStmt:
        for before in tree.below(above):
            if before.number >= child.number:
                break
            if before.parent is above and before.kind is Kind.STMT:
                _add_statement(scope, before.node)
    elif kind is tirx.AttrStmt:
        owner = node.node
        if child.role == "body" and isinstance(owner, tirx.IterVar):
            extent = constant_int(node.value)
            _add_range(scope, owner.var, "thread", *((0, extent - 1) if extent else (None, None)))
            scope.loops.append(Loop(owner.var, THREAD_BINDING, extent))
    elif kind is tirx.Let:
        if child.role == "body":
            scope.variables.append(ScopeVar(node.var, _dtype(node.var), "let"))
    elif kind is s_tir.SBlock:
        iter_vars = array_items(node.iter_vars)
        if iter_vars:
            scope.enter_block()
        for iter_var in iter_vars:
            low, extent = constant_int(iter_var.dom.min), constant_int(iter_var.dom.extent)
            known = low is not None and extent is not None and extent > 0
            _add_range(
                scope, iter_var.var, "block", low if known else None, (low or 0) + (extent or 0) - 1 if known else None
            )
        scope.buffers.extend(buffer_of(buffer, "block") for buffer in array_items(node.alloc_buffers))
        for match in array_items(node.match_buffers):
            scope.buffers.append(buffer_of(match.buffer, "match"))
            scope.variables.extend(
                ScopeVar(var, str(type_of(var).dtype), "shape") for var in shape_variables(match.buffer)
            )


def _dtype(var: Any) -> str:
    return str(type_of(var).dtype) if type(type_of(var)) is tvm.ir.PrimType else "handle"


def _add_range(scope: Scope, var: Any, origin: str, low: int | None, high: int | None) -> None:
    scope.variables.append(ScopeVar(var, str(type_of(var).dtype), origin, low, high))


def _add_statement(scope: Scope, node: Any) -> None:
    """What a statement defines for those that follow it."""
    kind = type(node)
    if kind is tirx.Bind:
        var = node.var
        if tirx.is_buffer_var(var):
            return
        value = constant_int(node.value)
        scope.variables.append(ScopeVar(var, _dtype(var), "bind", value, value))
    elif kind is tirx.AllocBuffer:
        scope.buffers.append(buffer_of(node.buffer, "alloc"))
    elif kind is tirx.DeclBuffer:
        scope.buffers.append(buffer_of(node.buffer, "decl"))


def names_in(func: Any, tree: Tree) -> set[str]:
    """The names of all variables and buffers of `func`."""
    names = {str(name_of(param)) for param in params_of(func)}
    for site in tree.sites:
        kind = type(site.node)
        if kind is tirx.Var:
            names.add(str(site.node.name))
        elif kind is tirx.For:
            names.add(str(name_of(site.node.loop_var)))
        elif kind in (tirx.Bind, tirx.Let):
            names.add(str(name_of(site.node.var)))
        elif kind in (tirx.AllocBuffer, tirx.DeclBuffer):
            names.add(str(site.node.buffer.name))
    return names


@dataclass(slots=True)
class Names:
    """Fresh names for one child: `v0`, `v1`, ... that the parent does not use."""

    taken: set[str]
    counter: int = 0

    def fresh(self, stem: str) -> str:
        """A name that nothing in the function has."""
        while True:
            name = f"{stem}{self.counter}"
            self.counter += 1
            if name not in self.taken:
                self.taken.add(name)
                return name
