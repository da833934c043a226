"""Passes that lose, repeat, reorder or misplace statements and accesses."""

from __future__ import annotations

from typing import Any

from tests.planted.rewrite import anywhere, constant, everywhere, first, is_int, last, loads_of, mentions, stores_of
from tzerlike.systems.tvm_api import array_items, s_tir, structural_equal, structural_map, tirx, tvm
from tzerlike.tir.node import Node, dtype_of, key, seq, substitute
from tzerlike.tir.tree import Site, Tree

NOTHING = tirx.Evaluate(tirx.IntImm("int32", 0))


def reads_itself(store: Node) -> bool:
    """Whether a store adds to what its element held."""
    return any(
        key(load.source) == key(store.buffer) and structural_equal(load.indices, store.indices)
        for load in loads_of(store.value)
    )


def first_store_dropped(func: Any) -> Any:
    """Takes the first store for dead."""
    return first(func, lambda tree, site: NOTHING if type(site.node) is tirx.BufferStore else None)


def last_store_dropped(func: Any) -> Any:
    """Takes the last store for dead."""
    return last(func, lambda tree, site: NOTHING if type(site.node) is tirx.BufferStore else None)


def dependent_statements_swapped(func: Any) -> Any:
    """Swaps the last two statements of which the second reads what the first writes."""

    def change(tree: Tree, site: Site) -> Node | None:
        if type(site.node) is not tirx.SeqStmt:
            return None
        parts = array_items(site.node.seq)
        for place in range(len(parts) - 1, 0, -1):
            written = {key(store.buffer) for store in stores_of(parts[place - 1])}
            if any(key(load.source) in written for load in loads_of(parts[place])) and stores_of(parts[place]):
                return seq([*parts[: place - 1], parts[place], parts[place - 1], *parts[place + 1 :]])
        return None

    return last(func, change)


def accumulated_twice(func: Any) -> Any:
    """Runs a store that reads its own element twice."""

    def change(tree: Tree, site: Site) -> Node | None:
        if type(site.node) is not tirx.BufferStore or not reads_itself(site.node):
            return None
        return seq([site.node, site.node])

    return first(func, change)


def accumulator_forgotten(func: Any) -> Any:
    """Stores x where x was to be added to the element."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.BufferStore or type(node.value) is not tirx.Add or not reads_itself(node):
            return None
        own = type(node.value.a) is tvm.ir.TensorLoad and key(node.value.a.source) == key(node.buffer)
        return tirx.BufferStore(node.buffer, node.value.b, node.indices) if own else None

    return everywhere(func, change, anywhere)


def guard_dropped(func: Any) -> Any:
    """Proves the condition of an if without else."""

    def change(node: Node) -> Node | None:
        return node.then_case if type(node) is tirx.IfThenElse and node.else_case is None else None

    return everywhere(func, change, anywhere)


def branches_swapped(func: Any) -> Any:
    """Takes the then for the else of an if that has both."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.IfThenElse or node.else_case is None:
            return None
        return tirx.IfThenElse(node.condition, node.else_case, node.then_case)

    return everywhere(func, change, anywhere)


def condition_hoisted(func: Any) -> Any:
    """Moves a condition out of its innermost loop as if it did not depend on it."""

    def change(tree: Tree, site: Site) -> Node | None:
        if type(site.node) is not tirx.IfThenElse:
            return None
        loop = next((above.node for above in site.ancestors() if type(above.node) is tirx.For), None)
        if loop is None or not mentions(site.node.condition, loop.loop_var):
            return None
        condition = substitute(site.node.condition, {key(loop.loop_var): loop.min})
        return tirx.IfThenElse(condition, site.node.then_case, site.node.else_case)

    return first(func, change)


def load_hoisted(func: Any) -> Any:
    """Loads what a loop changes once, before the loop."""

    def change(tree: Tree, site: Site) -> Node | None:
        loop = site.node
        if type(loop) is not tirx.For or type(loop.body) is not tirx.BufferStore or not reads_itself(loop.body):
            return None
        store = loop.body
        if any(mentions(index, loop.loop_var) for index in array_items(store.indices)):
            return None
        load = tirx.BufferLoad(store.buffer, store.indices)
        kept = tirx.Var("kept", dtype_of(load))
        value = structural_map(
            store.value, (tvm.ir.TensorLoad, lambda found: kept if structural_equal(found, load) else found)
        )
        body = tirx.BufferStore(store.buffer, value, store.indices)
        again = tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, loop.thread_binding, loop.annotations)
        return seq([tirx.Bind(kept, load), again])

    return first(func, change)


def binding_off_by_one(func: Any) -> Any:
    """Binds one more than the value."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.Bind or dtype_of(node.value) not in ("int32", "int64", "float32", "float64"):
            return None
        return tirx.Bind(node.var, tirx.Add(node.value, constant(node.value, 1)))

    return everywhere(func, change, anywhere)


def _square(buffer: Node) -> bool:
    shape = array_items(buffer.ty.shape)
    return len(shape) >= 2 and structural_equal(shape[-1], shape[-2])


def store_transposed(func: Any) -> Any:
    """Swaps the last two indices of the stores to a square buffer."""

    def change(node: Node) -> Node | None:
        if type(node) is not tirx.BufferStore or not _square(node.buffer):
            return None
        *outer, i, j = array_items(node.indices)
        return tirx.BufferStore(node.buffer, node.value, [*outer, j, i])

    return everywhere(func, change, anywhere)


def load_transposed(func: Any) -> Any:
    """Swaps the last two indices of the loads from a square buffer."""

    def change(node: Node) -> Node | None:
        if type(node) is not tvm.ir.TensorLoad or not _square(node.source):
            return None
        *outer, i, j = array_items(node.indices)
        return tirx.BufferLoad(node.source, [*outer, j, i])

    return everywhere(func, change, anywhere)


def first_index_lost(func: Any) -> Any:
    """Loads from the first row whatever the row."""

    def change(node: Node) -> Node | None:
        if type(node) is not tvm.ir.TensorLoad or not array_items(node.indices):
            return None
        first_index, *rest = array_items(node.indices)
        if dtype_of(first_index) not in ("int32", "int64"):
            return None
        return tirx.BufferLoad(node.source, [constant(first_index, 0), *rest])

    return everywhere(func, change, anywhere)


def last_index_rotated(func: Any) -> Any:
    """Loads the next element of the row, from the start again at its end."""

    def change(node: Node) -> Node | None:
        if type(node) is not tvm.ir.TensorLoad or not array_items(node.indices):
            return None
        *outer, index = array_items(node.indices)
        extent = array_items(node.source.ty.shape)[-1]
        if dtype_of(index) != dtype_of(extent):
            return None
        return tirx.BufferLoad(node.source, [*outer, tirx.FloorMod(tirx.Add(index, constant(index, 1)), extent)])

    return everywhere(func, change, anywhere)


def row_stride_off(func: Any) -> Any:
    """Flattens loads of two indices with a row that is one element too short."""

    def change(node: Node) -> Node | None:
        if type(node) is not tvm.ir.TensorLoad or len(array_items(node.indices)) != 2:
            return None
        i, j = array_items(node.indices)
        extent = array_items(node.source.ty.shape)[1]
        if {dtype_of(i), dtype_of(j), dtype_of(extent)} != {"int32"}:
            return None
        flat = tirx.Add(tirx.Mul(i, tirx.Sub(extent, constant(i, 1))), j)
        return tirx.BufferLoad(node.source, [tirx.FloorDiv(flat, extent), tirx.FloorMod(flat, extent)])

    return everywhere(func, change, anywhere)


def while_runs_once(func: Any) -> Any:
    """Takes a while for an if."""

    def change(node: Node) -> Node | None:
        return tirx.IfThenElse(node.condition, node.body, None) if type(node) is tirx.While else None

    return everywhere(func, change, anywhere)


def init_dropped(func: Any) -> Any:
    """Forgets to start a reduction."""

    def change(node: Node) -> Node | None:
        return _block(node, node.body, None) if type(node) is s_tir.SBlock and node.init is not None else None

    return everywhere(func, change, anywhere)


def init_in_every_step(func: Any) -> Any:
    """Starts a reduction anew in each of its steps."""

    def change(node: Node) -> Node | None:
        if type(node) is not s_tir.SBlock or node.init is None:
            return None
        return _block(node, seq([node.init, node.body]), None)

    return everywhere(func, change, anywhere)


def init_in_the_last_step(func: Any) -> Any:
    """Starts a reduction in its last step."""

    def change(node: Node) -> Node | None:
        if type(node) is not s_tir.SBlock or node.init is None:
            return None
        reduced = [axis for axis in array_items(node.iter_vars) if int(axis.iter_type) == 2]
        if not reduced:
            return None
        condition = None
        for axis in reduced:
            end = tirx.Sub(tirx.Add(axis.dom.min, axis.dom.extent), constant(axis.dom.extent, 1))
            here = tirx.EQ(axis.var, end)
            condition = here if condition is None else tirx.And(condition, here)
        return _block(node, seq([tirx.IfThenElse(condition, node.init, None), node.body]), None)

    return everywhere(func, change, anywhere)


def _block(node: Node, body: Node, init: Node | None) -> Node:
    return s_tir.SBlock(
        node.iter_vars,
        node.reads,
        node.writes,
        node.name_hint,
        body,
        init,
        node.alloc_buffers,
        node.match_buffers,
        node.annotations,
    )


def predicate_dropped(func: Any) -> Any:
    """Runs a block whatever its predicate."""

    def change(node: Node) -> Node | None:
        if type(node) is not s_tir.SBlockRealize or type(node.predicate) is tirx.IntImm:
            return None
        return s_tir.SBlockRealize(node.iter_values, tirx.IntImm("bool", 1), node.block)

    return everywhere(func, change, anywhere)


def axes_confused(func: Any) -> Any:
    """Gives an axis of a block the value of another one that has the same domain."""

    def change(tree: Tree, site: Site) -> Node | None:
        node = site.node
        if type(node) is not s_tir.SBlockRealize:
            return None
        values, axes = array_items(node.iter_values), array_items(node.block.iter_vars)
        for i, one in enumerate(axes):
            for j in range(i + 1, len(axes)):
                if structural_equal(one.dom.extent, axes[j].dom.extent) and not structural_equal(values[i], values[j]):
                    values[j] = values[i]
                    return s_tir.SBlockRealize(values, node.predicate, node.block)
        return None

    return first(func, change)


def axis_stuck(func: Any) -> Any:
    """Binds the first axis of a block to the start of its domain."""

    def change(node: Node) -> Node | None:
        if type(node) is not s_tir.SBlockRealize or not array_items(node.iter_values):
            return None
        _, *rest = array_items(node.iter_values)
        return s_tir.SBlockRealize([array_items(node.block.iter_vars)[0].dom.min, *rest], node.predicate, node.block)

    return everywhere(func, change, anywhere)


def narrow_store(func: Any) -> Any:
    """Stores integers through two bits, the sign kept."""

    def change(node: Node) -> Node | None:
        if (
            type(node) is not tirx.BufferStore
            or not is_int(node.value)
            or dtype_of(node.value) not in ("int32", "int64")
        ):
            return None
        value = tirx.Mod(node.value, constant(node.value, 4))
        return tirx.BufferStore(node.buffer, value, node.indices)

    return everywhere(func, change, anywhere)
