"""Expressions in C, lane by lane: every value gets a name, so that it is computed in place, and once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tzerlike.tir.witness.buffers import Buffers, CBuffer
from tzerlike.tir.witness.graph import Node, NotCovered
from tzerlike.tir.witness.intrinsics import float_call, integer_call
from tzerlike.tir.witness.scalars import CScalar, scalar_of
from tzerlike.tir.witness.text import CText, literal

_ARITHMETIC: Mapping[str, str] = {
    "prim.Add": "add",
    "prim.Sub": "sub",
    "prim.Mul": "mul",
    "prim.Div": "div",
    "prim.Mod": "mod",
    "prim.FloorDiv": "floordiv",
    "prim.FloorMod": "floormod",
    "prim.Min": "min",
    "prim.Max": "max",
    "prim.LShift": "shl",
    "prim.RShift": "shr",
    "prim.BitwiseAnd": "and",
    "prim.BitwiseOr": "or",
    "prim.BitwiseXor": "xor",
}
_ON_FLOATS = ("add", "sub", "mul", "div", "min", "max")
_ON_BOOLS = ("and", "or", "xor")

_COMPARISONS: Mapping[str, str] = {
    "prim.EQ": "==",
    "prim.NE": "!=",
    "prim.LT": "<",
    "prim.LE": "<=",
    "prim.GT": ">",
    "prim.GE": ">=",
}

_THE_OPERAND = ("prim.likely", "tirx.tvm_thread_invariant", "tirx.ignore_loop_partition")


class Expressions:
    """Writes expressions to `text`; `name_of_intrinsic` is LLVM's name of a number, "" where it is not known."""

    def __init__(self, name_of_intrinsic: Callable[[int], str | None]) -> None:
        self.text = CText()
        self.buffers = Buffers(self.text, self.whole)
        self.name_of_intrinsic = name_of_intrinsic

    def whole(self, node: Node) -> str:
        """The value of an integer expression, without a loss."""
        if scalar_of(node.dtype).stem[0] not in "iu":
            raise NotCovered("an integer is wanted")
        return f"(wide){self.lane(node, 0)}"

    def lanes(self, node: Node) -> list[str]:
        return [self.lane(node, lane) for lane in range(node.dtype.lanes)]

    def lane(self, node: Node, lane: int) -> str:
        """The name of one lane's value; of a scalar, every lane is the same."""
        lane = 0 if node.dtype.lanes == 1 else lane
        for values in self.text.known:
            if (node.place, lane) in values:
                return values[node.place, lane]
        written = self._written(node, lane)
        name = written if written.isidentifier() else self.text.value(scalar_of(node.dtype).c, written)
        self.text.known[-1][node.place, lane] = name
        return name

    def _written(self, node: Node, lane: int) -> str:
        kind, scalar = node.kind, scalar_of(node.dtype)
        if kind in ("ir.IntImm", "ir.FloatImm"):
            return literal(node.integer if kind == "ir.IntImm" else node.raw("value"), scalar)
        if kind == "ir.Var":
            return self._variable(node)[lane]
        if kind in _ARITHMETIC:
            return self._arithmetic(_ARITHMETIC[kind], node, lane)
        if kind in _COMPARISONS:
            return self._comparison(_COMPARISONS[kind], node, lane)
        special = getattr(self, f"_{kind.partition('.')[2].lower()}", None)
        if special is None:
            raise NotCovered(f"expression {kind}")
        return str(special(node, lane))

    def _variable(self, node: Node) -> list[str]:
        found = self.text.variables.get(node.place)
        if found is None:
            raise NotCovered("a variable that nothing defines")
        return found

    def _arithmetic(self, name: str, node: Node, lane: int) -> str:
        scalar = scalar_of(node.dtype)
        first, second = node.at("a"), node.at("b")
        if {scalar_of(first.dtype), scalar_of(second.dtype)} != {scalar}:
            raise NotCovered("operands of different dtypes")
        allowed = (
            _ON_BOOLS if scalar.stem == "b1" else _ON_FLOATS if "f" in scalar.stem else tuple(_ARITHMETIC.values())
        )
        if name not in allowed:
            raise NotCovered(f"{name} of {node.dtype.scalar}")
        return f"{name}_{scalar.stem}({self.lane(first, lane)}, {self.lane(second, lane)})"

    def _comparison(self, sign: str, node: Node, lane: int) -> str:
        first, second = node.at("a"), node.at("b")
        if scalar_of(first.dtype) != scalar_of(second.dtype):
            raise NotCovered("a comparison of different dtypes")
        return f"(uint8_t)({self.lane(first, lane)} {sign} {self.lane(second, lane)})"

    def _and(self, node: Node, lane: int) -> str:
        return f"and_b1({self.truth(node.at('a'), lane)}, {self.truth(node.at('b'), lane)})"

    def _or(self, node: Node, lane: int) -> str:
        return f"or_b1({self.truth(node.at('a'), lane)}, {self.truth(node.at('b'), lane)})"

    def _not(self, node: Node, lane: int) -> str:
        return f"(uint8_t)!{self.truth(node.at('a'), lane)}"

    def truth(self, node: Node, lane: int = 0) -> str:
        if not node.dtype.is_bool:
            raise NotCovered("a condition that is no bool")
        return self.lane(node, lane)

    def _bitwisenot(self, node: Node, lane: int) -> str:
        if not node.dtype.is_int:
            raise NotCovered(f"~ of {node.dtype.scalar}")
        return f"not_{scalar_of(node.dtype).stem}({self.lane(node.at('a'), lane)})"

    def _select(self, node: Node, lane: int) -> str:
        condition = self.truth(node.at("condition"), lane)
        return f"{condition} ? {self.lane(node.at('true_value'), lane)} : {self.lane(node.at('false_value'), lane)}"

    def _cast(self, node: Node, lane: int) -> str:
        return self.converted(
            self.lane(node.at("value"), lane), scalar_of(node.at("value").dtype), scalar_of(node.dtype)
        )

    def converted(self, value: str, source: CScalar, target: CScalar) -> str:
        if source == target:
            return value
        if target.stem == "b1":
            return f"(uint8_t)({value} != 0)"
        if "f" in target.stem:
            # to bfloat16 by way of float32
            by = "(float)" if target.stem == "bf16" else ""
            finite = f"finite_{target.stem}({by}{value})"
            return f"isinf({value}) ? {value} : {finite}" if "f" in source.stem else finite
        return f"trunc_{target.stem}({value})" if "f" in source.stem else f'fit_{target.stem}({value}, "cast-range")'

    def _let(self, node: Node, lane: int) -> str:
        var = node.at("var")
        if var.place not in self.text.variables or (var.place, -1) not in self.text.known[-1]:
            self.text.bind(var, self.lanes(node.at("value")))
            self.text.known[-1][var.place, -1] = ""
        return self.lane(node.at("body"), lane)

    def _ramp(self, node: Node, lane: int) -> str:
        base, stride, stem = node.at("base"), node.at("stride"), scalar_of(node.dtype).stem
        if base.dtype.lanes != 1 or stem[0] not in "iu" or scalar_of(stride.dtype) != scalar_of(base.dtype):
            raise NotCovered("a ramp of vectors")
        step = f"mul_{stem}({literal(lane, scalar_of(base.dtype))}, {self.lane(stride, 0)})"
        return f"add_{stem}({self.lane(base, 0)}, {step})"

    def _broadcast(self, node: Node, lane: int) -> str:
        value = node.at("value")
        return self.lane(value, lane % value.dtype.lanes)

    def _shuffle(self, node: Node, lane: int) -> str:
        values = [name for vector in node.list("vectors") for name in self.lanes(vector)]
        index, array = self.whole(node.list("indices")[lane]), self.text.name("a")
        self.text.line(f"{scalar_of(node.dtype).c} {array}[] = {{{', '.join(values)}}};")
        return f"{array}[at({index}, {len(values)})]"

    def _tensorload(self, node: Node, lane: int) -> str:
        element = self.element(node.at("source"), node.list("indices"), lane)
        return f"load_{scalar_of(node.dtype).stem}({element})"

    def element(self, var: Node, indices: list[Node], lane: int, *, stores: bool = False) -> str:
        """Where a lane of an access lies."""
        if not var.is_buffer:
            raise NotCovered("an access to what is no buffer")
        within, part = divmod(lane, var.dtype.lanes)
        if any(index.dtype.lanes != 1 for index in indices[:-1]):
            raise NotCovered("a vector in an index that is not the last")
        places = [
            self.whole(index) if index.dtype.lanes == 1 else f"(wide){self.lane(index, within)}" for index in indices
        ]
        return self.buffers.element(var, places, part, stores=stores)

    def _call(self, node: Node, lane: int) -> str:
        name, args = node.operator(), node.list("args")
        if name == "prim.if_then_else":
            return self._lazy(node, args, lane)
        if name in _THE_OPERAND:
            return self.lane(args[0], lane)
        if name == "tirx.reinterpret":
            source, target = scalar_of(args[0].dtype), scalar_of(node.dtype)
            same = (args[0].dtype.bits, args[0].dtype.lanes) == (node.dtype.bits, node.dtype.lanes)
            if not same or source.c == target.c == "uint8_t":
                raise NotCovered("reinterpret to another width")
            return f"of_bits_{target.stem}(bits_{source.stem}({self.lane(args[0], lane)}))"
        if name in ("tirx.vectorlow", "tirx.vectorhigh"):
            return self.lane(args[-1], lane + (node.dtype.lanes if name == "tirx.vectorhigh" else 0))
        if name == "tirx.vectorcombine":
            half = args[0].dtype.lanes
            return self.lane(args[lane // half], lane % half)
        if name == "tirx.get_active_lane_mask":
            first, limit = (self.whole(arg) for arg in args)
            self.text.line(f'if ({first} < 0 || {limit} < 0) undefined("intrinsic-domain");')
            return f"(uint8_t)({first} + {lane} < {limit})"
        if name == "tirx.masked_load":
            return self._masked(node, args, lane)
        return self._computed(name, node, args, lane)

    def _lazy(self, node: Node, args: list[Node], lane: int) -> str:
        condition, name = self.truth(args[0], lane), self.text.name()
        self.text.line(f"{scalar_of(node.dtype).c} {name};")
        for head, arm in ((f"if ({condition})", args[1]), ("else", args[2])):
            with self.text.block(head):
                self.text.line(f"{name} = {self.lane(arm, lane)};")
        return name

    def _masked(self, node: Node, args: list[Node], lane: int) -> str:
        *indices, mask = args[1:]
        name = self.text.name()
        self.text.line(f"{scalar_of(node.dtype).c} {name} = 0;")
        with self.text.block(f"if ({self.truth(mask, lane)})"):
            element = self.element(args[0], indices, lane)
            self.text.line(f"{name} = load_{scalar_of(node.dtype).stem}({element});")
        return name

    def _computed(self, name: str, node: Node, args: list[Node], lane: int) -> str:
        """An intrinsic that computes a number of numbers."""
        if name in ("tirx.call_pure_extern", "tirx.call_extern") and args[0].kind == "ir.StringImm":
            name, args = args[0].text("value"), args[1:]
        if name == "tirx.call_llvm_pure_intrin":
            name, args = self.name_of_intrinsic(args[0].integer) or "an intrinsic of LLVM", args[1:]
        if not args:
            raise NotCovered(f"call of {name}")
        scalar = scalar_of(args[0].dtype)
        written: str | None = None
        if "f" in scalar.stem and name == "tirx.ldexp":
            written = f"finite_{scalar.stem}(ldexp({self.lane(args[0], lane)}, {self.lane(args[1], lane)}))"
        elif "f" in scalar.stem and {scalar_of(arg.dtype) for arg in args} == {scalar}:
            written = float_call(name, [self.lane(arg, lane) for arg in args], scalar)
        elif scalar.stem[0] in "iu":
            written = integer_call(name, [self.lane(arg, lane) for arg in args], scalar, scalar_of(node.dtype))
        if written is None:
            raise NotCovered(f"call of {name} on {args[0].dtype.scalar}")
        return written

    def memory(self, node: Node) -> CBuffer:
        """What a pointer points to: the memory of a buffer."""
        if node.kind == "ir.Call" and node.operator() == "tirx.buffer_data":
            return self.buffers.of(node.list("args")[0])
        if node.is_buffer:
            return self.buffers.of(node)
        found = self.buffers.views.get(node.place)
        if found is None:
            raise NotCovered(f"a pointer that comes of {node.operator() if node.kind == 'ir.Call' else node.kind}")
        return found
