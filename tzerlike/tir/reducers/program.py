"""Common parts of the reducers of programs: a program as a tree, its buffers, and removing parts of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.dtypes import parse
from tzerlike.core.shrink import Attempt, Reducer
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import (
    array_items,
    function_with,
    is_buffer,
    params_of,
    s_tir,
    source_of,
    structural_hash,
    structural_map,
    tirx,
    tvm,
    type_of,
    uses_blocks,
)
from tzerlike.tir.dtypes import constant
from tzerlike.tir.node import accessed_by, definitions, dtype_of, fits, key, seq
from tzerlike.tir.tree import SHAPES, Kind, Site, Tree, refresh_regions

Node = Any
Make = Callable[[], Node | None]
"""Makes another function in place of one; None, or what TVM raises, where that is not possible."""

ProgramReducer = Callable[[Tree], Iterator[Make]]
"""Functions in place of one, the most promising first."""


def program_of(ir: str) -> Node:
    """Return the function of a case's program; TVM's own exceptions where it cannot be read."""
    return tvm_api.entry_of(tvm_api.load_ir(ir))


def on_program(reducer: ProgramReducer) -> Reducer[Case]:
    """Return the reducer of cases that changes the program as `reducer` does and leaves the rest."""

    def changed(case: Case) -> Iterator[Attempt[Case]]:
        for make in reducer(Tree(program_of(case.ir))):
            yield partial(with_program, case, make)

    return changed


def with_program(case: Case, make: Make) -> Case | None:
    """The case with the function that `make` makes; None where TVM has no such program."""
    try:
        func = make()
        if func is None or not _indexed_right(func):
            return None
        return replace(case, ir=tvm_api.dump_ir(tvm_api.module_of(func)))
    except Exception as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        return None


def _indexed_right(func: Node) -> bool:
    """Whether every access has an index for each dimension, which neither constructors nor verifiers look at."""
    for site in Tree(func).of_type(tvm.ir.TensorLoad, tirx.BufferStore):
        if len(site.node.indices) != len(type_of(accessed_by(site.node)).shape):
            return False
    return True


def number(dtype: str, value: int) -> Node | None:
    """Return the constant of a dtype with lanes; None for a pointer, or where it does not fit."""
    parsed = parse(dtype)
    if parsed is None or parsed.base == "handle" or not (parsed.is_float or parsed.low <= value <= parsed.high):
        return None
    return constant(parsed, value)


def scalar_type(var: Node) -> str:
    """The dtype of a variable that holds a number, else ""."""
    return str(type_of(var).dtype) if type(type_of(var)) is tvm.ir.PrimType else ""


def buffers_of(tree: Tree) -> list[Node]:
    """All buffers that a function defines: parameters, allocations, views, those of blocks; in order."""
    found = [param for param in params_of(tree.func) if is_buffer(param)]
    for site in tree.sites:
        found += [var for var in definitions(site.node) if is_buffer(var)]
    return found


def with_layout(buffer: Node) -> Node:
    """A buffer as `buffer`, with the layout that TVM gives one by itself."""
    ty = type_of(buffer)
    return tirx.decl_buffer(
        array_items(ty.shape),
        str(ty.dtype.dtype),
        str(buffer.name),
        strides=array_items(ty.strides),
        elem_offset=ty.elem_offset,
        scope=str(ty.storage_scope),
        data_alignment=int(ty.data_alignment),
        offset_factor=int(ty.offset_factor),
    )


def unusually_laid_out(tree: Tree) -> list[Node]:
    """The buffers whose layout is not what TVM gives them by itself; S-TIR has no layouts."""

    def layout(buffer: Node) -> int | None:
        return None if type_of(buffer).layout is None else structural_hash(type_of(buffer).layout)

    def unusual(buffer: Node) -> bool:
        # Passes leave buffers with vectors for extents, of which there are no layouts.
        vectors = any("x" in dtype_of(extent) for extent in array_items(type_of(buffer).shape))
        return not vectors and layout(buffer) != layout(with_layout(buffer))

    return [] if uses_blocks(tree.func) else list(filter(unusual, buffers_of(tree)))


def mapped(func: Node, *callbacks: tuple[Any, Callable[[Node], Node]], params: Sequence[Node] | None = None) -> Node:
    """`func` with each node of a type replaced by what its callback returns, everywhere: in shapes and regions too.

    `params` are the parameters to keep; all of them when not given. Raises what TVM's constructors raise when the new
    nodes do not fit together.
    """
    new = structural_map(function_with(func, func.body, params=params), callbacks)
    made = function_with(func, new.body, params=params_of(new))
    _check_types(made)
    return made


def _check_types(func: Node) -> None:
    """Put each node through its constructor once: the map does not, and TVM's verifiers look at no types."""
    for site in Tree(func).sites:
        kind = type(site.node)
        if kind in SHAPES and kind is not s_tir.SBlock:
            SHAPES[kind].build(site.node, partial(getattr, site.node))


def with_values(func: Node, values: Mapping[int, Node], params: Sequence[Node] | None = None) -> Node:
    """`func` with `values[key(v)]` in place of each variable or buffer v, where it is defined too."""
    return mapped(func, (tirx.Var, lambda var: values.get(key(var), var)), params=params)


def without(
    tree: Tree, sites: Iterable[Site] = (), buffers: Iterable[Node] = (), values: Mapping[int, Node] | None = None
) -> Node:
    """The function without the statements at `sites` and without `buffers`, and without what cannot be without them.

    What is read of something that goes becomes 0; a statement that takes its address goes too, and so does every view
    of it. `values` are put in place of variables, by key; a parameter that has one goes.
    """
    cut = _Cut(tree, values or {})
    for site in sites:
        cut.drop(site)
    for buffer in buffers:
        cut.gone.add(key(buffer))
    return cut.made()


class _Cut:
    """What goes: statements by number, buffers and pointers by key; and the numbers that stand for variables."""

    def __init__(self, tree: Tree, values: Mapping[int, Node]) -> None:
        self.tree = tree
        self.values = dict(values)
        self.gone: set[int] = set()
        self._dead: set[int] = set()
        self._covered: set[int] = set()

    def drop(self, site: Site) -> None:
        """Have a statement go with everything below it; what it defines goes or becomes 0."""
        self._dead.add(site.number)
        for inner in self.tree.below(site):
            self._covered.add(inner.number)
            for var in definitions(inner.node):
                zero = None if is_buffer(var) else number(scalar_type(var), 0)
                if zero is None:
                    self.gone.add(key(var))
                else:
                    self.values.setdefault(key(var), zero)

    def made(self) -> Node:
        while self._spread():
            pass
        tree = self.tree
        params = [p for p in params_of(tree.func) if key(p) not in self.gone and key(p) not in self.values]
        func = tree.rewrite(self._change, params)
        return with_values(func, self.values) if self.values else func

    def _spread(self) -> bool:
        """Have everything go that cannot do without what goes already; False when there was nothing more."""
        before = len(self.gone), len(self._dead)
        for site in self.tree.sites:
            if site.number in self._covered:
                continue
            if type(site.node) is tirx.Var and key(site.node) in self.gone:
                self.drop(_statement_of(site))
            elif type(site.node) is s_tir.SBlock:
                for match in array_items(site.node.match_buffers):
                    if key(source_of(match.source)) in self.gone:
                        self.gone.add(key(match.buffer))
        return (len(self.gone), len(self._dead)) != before

    def _change(self, site: Site, node: Node) -> Node:
        if site.number in self._covered:
            return seq([]) if site.number in self._dead else node
        kind = type(node)
        if kind in (tirx.BufferStore, tirx.AllocBuffer, tirx.DeclBuffer) and key(node.buffer) in self.gone:
            return seq([])
        if kind is tirx.Bind and key(node.var) in self.values:
            return seq([])
        if kind is tvm.ir.TensorLoad and key(source_of(node)) in self.gone:
            zero = number(site.dtype, 0)
            return node if zero is None else zero
        if kind is s_tir.SBlock:
            return self._changed_block(node)
        return node

    def _changed_block(self, node: Node) -> Node:
        allocated = [buffer for buffer in array_items(node.alloc_buffers) if key(buffer) not in self.gone]
        matched = [match for match in array_items(node.match_buffers) if key(match.buffer) not in self.gone]
        if len(allocated) == len(node.alloc_buffers) and len(matched) == len(node.match_buffers):
            return node
        return block_with(node, alloc_buffers=allocated, match_buffers=matched)


def _statement_of(site: Site) -> Site:
    """The innermost statement around an expression."""
    return next(above for above in site.ancestors() if above.kind is Kind.STMT)


_BLOCK_FIELDS = (
    "iter_vars",
    "reads",
    "writes",
    "name_hint",
    "body",
    "init",
    "alloc_buffers",
    "match_buffers",
    "annotations",
)

_REGIONS = ("reads", "writes")


def block_with(node: Node, *, refresh: bool = True, **fields: Any) -> Node:
    """The SBlock `node` with other fields, and with the regions that its body then reads and writes; without `refresh`
    with those it had."""
    fitting = {name: [region for region in array_items(getattr(node, name)) if fits(region)] for name in _REGIONS}
    given = fitting | fields
    block = s_tir.SBlock(*(given[name] if name in given else getattr(node, name) for name in _BLOCK_FIELDS))
    return refresh_regions(block) if refresh else block


def with_domains(realize: Node, extents: Mapping[int, Node | int]) -> Node:
    """An SBlockRealize with other extents of the axes at some places; a number gets the dtype of its axis."""
    axes = array_items(realize.block.iter_vars)
    for place, extent in extents.items():
        old = axes[place]
        until = tirx.IntImm(type_of(old.var).dtype, extent) if isinstance(extent, int) else extent
        domain = tvm.ir.Range.from_min_extent(old.dom.min, until)
        axes[place] = tirx.IterVar(domain, old.var, old.iter_type, old.thread_tag)
    block = block_with(realize.block, iter_vars=axes)
    return s_tir.SBlockRealize(array_items(realize.iter_values), realize.predicate, block)
