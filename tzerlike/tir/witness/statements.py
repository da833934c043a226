"""Statements in C: loops of all kinds run one iteration after another, blocks with their axes, uncleared memory."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from tzerlike.tir.witness.buffers import OpenBlock, Region
from tzerlike.tir.witness.expressions import Expressions
from tzerlike.tir.witness.graph import Node, NotCovered
from tzerlike.tir.witness.scalars import scalar_of

_SERIAL: Final = (0, 3)
"""Kinds of loops with an order: serial, and unrolled."""
_REDUCTION: Final = 2
_HINTS = (
    "pragma_",
    "storage_alignment",
    "buffer_dim_align",
    "async_",
    "volatile_scope",
    "compute_scope",
    "device_scope",
)
_NOTHING = ("tirx.prefetch", "tirx.start_profile_intrinsic", "tirx.end_profile_intrinsic")


class Statements(Expressions):
    """Writes statements; `loops` says of each around whether it is serial, `threads` whether any was of threads, and
    `nested` whether there is a block around."""

    loops: tuple[bool, ...] = ()
    threads: bool = False
    nested: bool = False

    def write(self, node: Node) -> None:
        if node.kind == "tirx.SeqStmt":
            for part in node.list("seq"):
                self.write(part)
            return
        writer = getattr(self, f"_write_{node.kind.partition('.')[2].lower()}", None)
        if writer is None:
            raise NotCovered(f"statement {node.kind}")
        with self.text.statement():
            writer(node)

    def _write_bufferstore(self, node: Node) -> None:
        var, value = node.at("buffer"), node.at("value")
        values = self.lanes(value)
        if len(values) != var.dtype.lanes * max((index.dtype.lanes for index in node.list("indices")), default=1):
            raise NotCovered("a store of more or fewer lanes than there are places")
        places = [self.element(var, node.list("indices"), lane, stores=True) for lane in range(len(values))]
        scalar = scalar_of(var.dtype)
        if scalar != scalar_of(value.dtype):
            raise NotCovered("a store of another dtype")
        pointers = [self.text.value(f"{scalar.memory} *", f"&{place}") for place in places]
        for pointer, name in zip(pointers, values, strict=True):
            self.text.line(f"*{pointer} = store_{scalar.stem}({name});")
        for place, pointer in enumerate(pointers):
            for other in pointers[:place]:
                self.text.line(f'if ({pointer} == {other}) undefined("race");')

    def _write_evaluate(self, node: Node) -> None:
        value = node.at("value")
        name = value.operator() if value.kind == "ir.Call" else ""
        if name in _NOTHING:
            for argument in value.list("args"):
                if argument.at("ty").kind == "ir.PrimType":
                    self.lanes(argument)
            return
        if name in ("tirx.break_loop", "tirx.continue_loop"):
            self._jump("break" if name == "tirx.break_loop" else "continue")
        elif name == "tirx.assume":
            self.text.line(f'if (!{self.truth(value.list("args")[0])}) undefined("assume");')
        elif name == "tirx.masked_store":
            self._masked_store(value.list("args"))
        elif name == "tirx.tvm_storage_sync":
            raise NotCovered("threads that wait for one another")
        else:
            self.lanes(value)

    def _masked_store(self, args: list[Node]) -> None:
        var, value, *indices, mask = args
        values, scalar = self.lanes(value), scalar_of(var.dtype)
        # Nothing is stored before all of the mask, and the indices of its active lanes, have been read.
        active = [self.truth(mask, lane) for lane in range(len(values))]
        pointers = [self.text.value(f"{scalar.memory} *", "0") for _ in values]
        for lane, pointer in enumerate(pointers):
            with self.text.block(f"if ({active[lane]})"):
                self.text.line(f"{pointer} = &{self.element(var, indices, lane, stores=True)};")
        for pointer, name in zip(pointers, values, strict=True):
            self.text.line(f"if ({pointer}) *{pointer} = store_{scalar.stem}({name});")

    def _write_break(self, node: Node) -> None:
        self._jump("break")

    def _write_continue(self, node: Node) -> None:
        self._jump("continue")

    def _jump(self, word: str) -> None:
        if not self.loops or not self.loops[-1]:
            raise NotCovered(f"{word} where there is no serial loop")
        self.text.line(f"{word};")

    def _write_bind(self, node: Node) -> None:
        var, value = node.at("var"), node.at("value")
        if var.at("ty").kind == "ir.PointerType":
            self.buffers.views[var.place] = self.memory(value)
        else:
            self.text.bind(var, self.lanes(value))

    def _write_allocbuffer(self, node: Node) -> None:
        self._allocate(node.at("buffer"))

    def _allocate(self, var: Node) -> None:
        if self.threads and var.at("ty").text("storage_scope").startswith("shared"):
            raise NotCovered("memory that threads share")
        self.buffers.allocate(var)

    def _write_declbuffer(self, node: Node) -> None:
        self.buffers.declare(node.at("buffer"), self.memory(node.at("data")))

    def _write_ifthenelse(self, node: Node) -> None:
        with self.text.block(f"if ({self.truth(node.at('condition'))})"):
            self.write(node.at("then_case"))
        otherwise = node.optional("else_case")
        if otherwise is not None:
            with self.text.block("else"):
                self.write(otherwise)

    def _write_assertstmt(self, node: Node) -> None:
        self.text.line(f'if (!{self.truth(node.at("condition"))}) undefined("assert");')

    def _write_while(self, node: Node) -> None:
        with self.text.block("for (;;)"):
            self.text.line(f"if (!{self.truth(node.at('condition'))}) break;")
            self._body(node.at("body"), serial=True)

    def _body(self, node: Node, *, serial: bool) -> None:
        before, self.loops = self.loops, (*self.loops, serial)
        self.write(node)
        self.loops = before

    def _write_for(self, node: Node) -> None:
        binding, kind = node.optional("thread_binding"), int(node.raw("kind"))
        variables = [node.at("loop_var")] + ([] if binding is None else [binding.at("var")])
        if binding is not None:
            self.threads = self.threads or not binding.text("thread_tag").startswith("vthread")
        step = node.optional("step")
        least, extent = self.text.value("wide", self.whole(node.at("min"))), self.whole(node.at("extent"))
        by = self.text.value("wide", "1" if step is None else self.whole(step))
        self._loop(variables, least, extent, by, node.at("body"), ordered=kind in _SERIAL, serial=kind == 0)

    def _loop(
        self, variables: Sequence[Node], least: str, extent: str, step: str, body: Node, *, ordered: bool, serial: bool
    ) -> None:
        until = self.text.value("wide", f"extent_of({extent})")
        self.text.line(f'if ({step} <= 0) unknown("a step that is not positive");')
        rounds = self.text.value("wide", f"({until} + {step} - 1) / {step}")
        k, v = self.text.name("k"), self.text.name("v")
        turn = k if ordered else f"(backwards ? {rounds} - 1 - {k} : {k})"
        with self.text.block(f"for (wide {k} = 0; {k} < {rounds}; {k}++)"):
            self.text.line(f"wide {v} = {least} + {step} * {turn};")
            for var in variables:
                scalar = scalar_of(var.dtype)
                self.text.bind(var, [self.text.value(scalar.c, f'fit_{scalar.stem}({v}, "integer-overflow")')])
            self._body(body, serial=serial)

    def _write_attrstmt(self, node: Node) -> None:
        key, owner = node.text("attr_key"), node.at("node")
        if key in ("thread_extent", "virtual_thread") and owner.kind == "tirx.IterVar":
            self.threads = self.threads or key == "thread_extent"
            var = owner.at("var")
            if var.place in self.text.variables:
                self.write(node.at("body"))
            else:
                one = self.text.value("wide", "1")
                self._loop([var], "0", self.whole(node.at("value")), one, node.at("body"), ordered=False, serial=False)
                # Another launch after this one may be of the same variable.
                del self.text.variables[var.place]
        elif key.removeprefix("tirx.").startswith(_HINTS):
            self.write(node.at("body"))
        else:
            raise NotCovered(f"attribute {key}")

    def _write_sblockrealize(self, node: Node) -> None:
        block = node.at("block")
        with self.text.block(f"if ({self.truth(node.at('predicate'))})"):
            starts = []
            for axis, value in zip(block.list("iter_vars"), node.list("iter_values"), strict=True):
                start = self._axis(axis, value)
                if int(axis.raw("iter_type")) == _REDUCTION:
                    starts.append(start)
            self._block(block, starts)

    def _axis(self, axis: Node, value: Node) -> str:
        """Give an axis its value; returns in C whether it is at the start of its domain."""
        domain = axis.at("dom")
        least = self.text.value("wide", self.whole(domain.at("min")))
        extent, place = self.whole(domain.at("extent")), self.text.value("wide", self.whole(value))
        self.text.line(f'if ({place} < {least} || {place} >= {least} + {extent}) undefined("block-domain");')
        var = axis.at("var")
        scalar = scalar_of(var.dtype)
        self.text.bind(var, [self.text.value(scalar.c, f'fit_{scalar.stem}({place}, "cast-range")')])
        return f"{place} == {least}"

    def _block(self, block: Node, starts: Sequence[str]) -> None:
        outside = frozenset(self.buffers.views)
        frames, nested = self.buffers.frames, self.nested
        # What the bounds of a declared region load is no access.
        self.buffers.frames = []
        reads, writes = (self._regions(block.list(name)) for name in ("reads", "writes"))
        self.buffers.frames = frames
        # The root, the outermost block, has neither axes nor regions.
        declares = bool(self.nested or block.list("iter_vars") or reads or writes)
        # Lowering takes init and axes away: of a block without axes, nobody can tell whether it was a reduction.
        reduces = bool(starts) or not block.list("iter_vars") or block.optional("init") is not None
        self.nested = True
        if declares:
            self.buffers.frames = [*frames, OpenBlock(outside, reduces, reads, writes)]
        for var in block.list("alloc_buffers"):
            self._allocate(var)
        for match in block.list("match_buffers"):
            source = match.at("source")
            self.buffers.match(match.at("buffer"), self.buffers.of(source.at("source")), self._bounds(source))
        init = block.optional("init")
        if init is not None:
            with self.text.block(f"if ({' && '.join(starts) or 1})"):
                self.write(init)
        self.write(block.at("body"))
        self.buffers.frames, self.nested = frames, nested

    def _regions(self, regions: Sequence[Node]) -> Mapping[int, list[Region]]:
        """The declared regions by the place of their buffer; one whose bounds have no value holds nothing."""
        found: dict[int, list[Region]] = {}
        for region in regions:
            kept = [(self.text.name(), self.text.name()) for _ in region.list("region")]
            for name in itertools.chain.from_iterable(kept):
                self.text.line(f"volatile int64_t {name} = 0;")
            with self.text.block("if ((declaring = !_setjmp(no_value)))"):
                for (least, extent), (low, size) in zip(kept, self._bounds(region), strict=True):
                    self.text.line(f"{least} = {low}, {extent} = {size};")
            self.text.line("declaring = 0;")
            found.setdefault(region.at("source").place, []).append(kept)
        return found

    def _bounds(self, region: Node) -> Region:
        return [(self._index(extent.at("min")), self._index(extent.at("extent"))) for extent in region.list("region")]

    def _index(self, node: Node) -> str:
        return self.text.value("int64_t", self.whole(node))
