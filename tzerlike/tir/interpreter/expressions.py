"""Expressions of TIR as closures.

`Compiler.compile(node)` returns a function without arguments. A scalar gives an int, a bool or a Float; a vector
gives the list of its lanes. Both operands of `And`, `Or` and `Select` are evaluated, as LLVM code does: what is
undefined in one of them is undefined, whatever the condition says. Only `if_then_else` chooses first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.dtypes import DType, parse, with_lanes
from tzerlike.systems.tvm_api import (
    CALLED_NODES,
    array_items,
    operator_name,
    predicate_of,
    source_of,
    tirx,
    tvm,
    type_of,
)
from tzerlike.tir.allowlist.module import llvm_intrinsics
from tzerlike.tir.interpreter import floats, integers
from tzerlike.tir.interpreter.accesses import load_step, scalar_access, store_step, vector_access
from tzerlike.tir.interpreter.conversions import conversion, reinterpretation
from tzerlike.tir.interpreter.fault import BrokenRule, raising
from tzerlike.tir.interpreter.formats import FLOATS, FloatFormat
from tzerlike.tir.interpreter.intrinsics import FLOAT, INTEGER, POISONED
from tzerlike.tir.interpreter.state import Node, Slots, State, dtype_text, shown_name
from tzerlike.tir.interpreter.wellformed import access_misfit, dtype_of, misfit

Thunk = Callable[[], Any]

_INTEGER_BINARY: Mapping[Any, Callable[[int, int], Callable[[int, int], int]]] = {
    tirx.Add: integers.add,
    tirx.Sub: integers.subtract,
    tirx.Mul: integers.multiply,
    tirx.Div: integers.divide,
    tirx.Mod: integers.modulo,
    tirx.FloorDiv: integers.floor_divide,
    tirx.FloorMod: integers.floor_modulo,
    tirx.LShift: integers.shift_left,
    tirx.RShift: integers.shift_right,
    tirx.Min: lambda low, high: min,
    tirx.Max: lambda low, high: max,
    tirx.BitwiseAnd: lambda low, high: operator.and_,
    tirx.BitwiseOr: lambda low, high: operator.or_,
    tirx.BitwiseXor: lambda low, high: operator.xor,
}

_FLOAT_BINARY: Mapping[Any, Callable[[FloatFormat], floats.Binary]] = {
    tirx.Add: floats.add,
    tirx.Sub: floats.subtract,
    tirx.Mul: floats.multiply,
    tirx.Div: floats.divide,
    tirx.Min: lambda form: floats.minimum,
    tirx.Max: lambda form: floats.maximum,
}

_BOOL_BINARY: Mapping[Any, Callable[[bool, bool], bool]] = {
    tirx.And: lambda a, b: a and b,
    tirx.Or: lambda a, b: a or b,
    tirx.BitwiseAnd: operator.and_,
    tirx.BitwiseOr: operator.or_,
    tirx.BitwiseXor: operator.xor,
}

_COMPARISONS: Mapping[Any, tuple[Callable[[Any, Any], bool], floats.Comparison]] = {
    tirx.EQ: (operator.eq, floats.equal),
    tirx.NE: (operator.ne, floats.not_equal),
    tirx.LT: (operator.lt, floats.less),
    tirx.LE: (operator.le, floats.less_equal),
    tirx.GT: (operator.gt, floats.greater),
    tirx.GE: (operator.ge, floats.greater_equal),
}

_TRANSPARENT = frozenset(("prim.likely", "tirx.ignore_loop_partition", "tirx.tvm_thread_invariant"))
"""Operators that return their operand."""

_OF_TWO = frozenset(
    (
        "tirx.pow",
        "tirx.atan2",
        "tirx.hypot",
        "tirx.copysign",
        "tirx.ldexp",
        "llvm.smax",
        "llvm.umin",
        "llvm.sadd.sat",
        "llvm.uadd.sat",
    )
)
"""The functions of the tables that take two operands; the others take one."""

_COUNTS = ("tirx.popcount", "prim.clz")
"""The functions of the tables that count bits: at most 64, whatever the dtype of the operand."""

_SIGNED = {"llvm.smax": True, "llvm.sadd.sat": True, "llvm.umin": False, "llvm.uadd.sat": False}
"""How LLVM's functions read the bits of their operands, whose dtype may say otherwise."""

_EXTERN = {"fabsf": "tirx.fabs", "cosf": "tirx.cos", "fabs": "tirx.fabs", "cos": "tirx.cos"}
_LLVM = {"llvm.fabs": "tirx.fabs"}


def unsupported(what: str) -> Thunk:
    """A closure for what is not modelled: a BrokenRule when it is reached."""
    return raising("unsupported", what)


@dataclass(frozen=True, slots=True)
class Operands:
    """A call that stands for a node, with the fields of that."""

    a: Node
    b: Node
    ty: Any


@dataclass(slots=True)
class Compiler:
    """Compiles expressions against the slots of one program.

    `allow` is asked about every access, before it is compiled: the buffer variable, whether it is a store, and the
    index expressions; it may return a check that runs before each access.
    """

    state: State
    slots: Slots
    tracked: bool
    allow: Callable[[Node, bool, Sequence[Node]], Thunk | None]
    cost: int = 0
    """Scalar operations compiled since the owner last set it to zero."""

    def compile(self, node: Node) -> Thunk:
        """The closure of `node`; nodes that are not modelled give one that raises BrokenRule."""
        kind = type(node)
        compiler = _TABLE.get(kind)
        if compiler is None:
            return unsupported(kind.__name__)
        wrong = misfit(node)
        return unsupported(wrong) if wrong else compiler(self, node)

    def number(self, node: Node) -> Thunk:
        """The closure of an expression where one integer or truth value is meant: extents, bounds, conditions."""
        dtype = dtype_of(node)
        if dtype is None or dtype.lanes != 1 or not (dtype.is_int or dtype.is_bool):
            return unsupported(f"{dtype_text(node) or 'something'} where one number is meant")
        return self.compile(node)

    def binary(self, node: Node) -> Thunk:
        return self._operation(type(node), node)

    def _operation(self, kind: Any, node: Node) -> Thunk:
        dtype = parse(dtype_text(node.a))
        function: Any = None
        if dtype is None or dtype.scalable:
            return unsupported(f"{kind.__name__} of {dtype_text(node.a)}")
        if kind in _COMPARISONS:
            function = _COMPARISONS[kind][1 if dtype.is_float else 0]
            if dtype.is_float and dtype.scalar not in FLOATS:
                function = None
        elif dtype.is_bool:
            function = _BOOL_BINARY.get(kind)
        elif dtype.is_int:
            factory = _INTEGER_BINARY.get(kind)
            function = factory(dtype.low, dtype.high) if factory else None
        elif dtype.scalar in FLOATS:
            make = _FLOAT_BINARY.get(kind)
            function = make(FLOATS[dtype.scalar]) if make else None
        if function is None:
            return unsupported(f"{kind.__name__} of {dtype}")
        left, right = self.compile(node.a), self.compile(node.b)
        self.cost += dtype.lanes
        return _apply(function, (left, right), dtype.lanes)

    def unary_not(self, node: Node) -> Thunk:
        dtype = parse(dtype_text(node.a))
        value = self.compile(node.a)
        if dtype is None or not dtype.is_bool or dtype.scalable:
            return unsupported(f"Not of {dtype}")
        self.cost += dtype.lanes
        return _apply(operator.not_, (value,), dtype.lanes)

    def bitwise_not(self, node: Node) -> Thunk:
        dtype = parse(dtype_text(node.a))
        value = self.compile(node.a)
        if dtype is None or not dtype.is_int or dtype.scalable:
            return unsupported(f"BitwiseNot of {dtype}")
        self.cost += dtype.lanes
        return _apply(integers.complement(dtype.low, dtype.high), (value,), dtype.lanes)

    def integer(self, node: Node) -> Thunk:
        value: Any = int(node.value)
        dtype = dtype_text(node)
        if dtype == "bool":
            value = bool(value)
        elif dtype == "uint64" and value < 0:
            value += 1 << 64
        return lambda: value

    def float_constant(self, node: Node) -> Thunk:
        dtype = dtype_text(node)
        if dtype not in FLOATS:
            return unsupported(f"a constant of {dtype}")
        number = float(node.value)
        if math.isinf(number):
            return lambda: (number, 0.0)
        form = FLOATS[dtype]
        try:
            value = floats.converted_float(number, 0.0, form)
        except BrokenRule as broken:
            return raising(broken.rule, broken.detail)
        return lambda: value

    def variable(self, node: Node) -> Thunk:
        slot = self.slots.find(node)
        if slot is None or not dtype_text(node):
            return unsupported(f"the variable {shown_name(node)}")
        frame, name = self.state.frame, shown_name(node)
        if slot in self.slots.bound:
            return lambda: frame[slot]

        def run() -> Any:
            value = frame[slot]
            if value is None:
                raise BrokenRule("unsupported", f"the variable {name} before it has a value")
            return value

        return run

    def select(self, node: Node) -> Thunk:
        condition = self.compile(node.condition)
        first, second = self.compile(node.true_value), self.compile(node.false_value)
        lanes = _lanes(node)
        self.cost += lanes
        if _lanes(node.condition) > 1:
            return lambda: [a if c else b for c, a, b in zip(condition(), first(), second(), strict=True)]

        def run() -> Any:
            chosen, a, b = condition(), first(), second()
            return a if chosen else b

        return run

    def let(self, node: Node) -> Thunk:
        value = self.compile(node.value)
        slot = self.slots.define(node.var)
        with self.slots.binding(slot):
            body = self.compile(node.body)
        frame = self.state.frame

        def run() -> Any:
            frame[slot] = value()
            return body()

        return run

    def ramp(self, node: Node) -> Thunk:
        dtype = parse(dtype_text(node))
        if dtype is None or not dtype.is_int or dtype.scalable or _lanes(node.base) > 1:
            return unsupported(f"Ramp of {dtype}")
        base, stride = self.compile(node.base), self.compile(node.stride)
        lanes, low, high = dtype.lanes, dtype.low, dtype.high
        self.cost += lanes

        def run() -> list[int]:
            first, step = base(), stride()
            values = [first + k * step for k in range(lanes)]
            if not (low <= values[-1] <= high):
                raise BrokenRule("integer-overflow", "in a Ramp")
            return values

        return run

    def broadcast(self, node: Node) -> Thunk:
        dtype = parse(dtype_text(node))
        if dtype is None or dtype.scalable:
            return unsupported(f"Broadcast of {dtype}")
        value = self.compile(node.value)
        lanes, inner = dtype.lanes, _lanes(node.value)
        self.cost += lanes
        if inner > 1:
            return lambda: value() * (lanes // inner)
        return lambda: [value()] * lanes

    def shuffle(self, node: Node) -> Thunk:
        vectors = [self.compile(vector) for vector in array_items(node.vectors)]
        widths = [_lanes(vector) for vector in array_items(node.vectors)]
        picks = [self.compile(index) for index in array_items(node.indices)]
        total = sum(widths)
        single = _lanes(node) == 1
        self.cost += total

        def run() -> Any:
            pool: list[Any] = []
            for vector, width in zip(vectors, widths, strict=True):
                pool.extend(vector() if width > 1 else [vector()])
            chosen = []
            for pick in picks:
                index = pick()
                if not 0 <= index < total:
                    raise BrokenRule("out-of-bounds", f"lane {index} of {total}")
                chosen.append(pool[index])
            return chosen[0] if single else chosen

        return run

    def cast(self, node: Node) -> Thunk:
        source, target = parse(dtype_text(node.value)), parse(dtype_text(node))
        value = self.compile(node.value)
        if source is None or target is None or source.scalable:
            return unsupported(f"a cast to {dtype_text(node)}")
        function = conversion(source, target)
        if function is None:
            return unsupported(f"a cast from {source} to {target}")
        self.cost += target.lanes
        return _apply(function, (value,), target.lanes)

    def load(self, node: Node) -> Thunk:
        if predicate_of(node) is not None:
            return unsupported("a predicated load")
        return self.access(source_of(node), array_items(node.indices), None, dtype_of(node))

    def access(self, buffer: Node, indices: Sequence[Node], value: Thunk | None, dtype: DType | None) -> Thunk:
        """The load of a `dtype` from `buffer`, or the store of what `value` gives to it."""
        slot, wrong = self.slots.find(buffer), access_misfit(buffer, indices, dtype)
        if slot is None or dtype is None or wrong:
            return unsupported(wrong or f"the buffer {shown_name(buffer)}")
        lanes = dtype.lanes
        check = self.allow(buffer, value is not None, indices)
        frame, state = self.state.frame, self.state
        places = [self.compile(index) for index in indices]
        widths = [_lanes(index) for index in indices]
        self.cost += max(1, lanes) * (1 + len(places))
        step = store_step(state, self.tracked) if value is not None else load_step(state, self.tracked)
        if max(widths, default=1) == 1 and lanes == 1:
            return scalar_access(frame, slot, places, value, step, check)
        return vector_access(frame, slot, places, widths, value, step, check)

    def call(self, node: Node) -> Thunk:
        name = operator_name(node)
        arguments = array_items(node.args)
        if name in CALLED_NODES:
            return self._called_node(CALLED_NODES[name], node, arguments)
        if name in ("tirx.call_llvm_pure_intrin", "tirx.call_pure_extern", "tirx.call_extern"):
            return self._named_call(node, name, arguments)
        special, least = _CALLS.get(name, (None, 0))
        if special is not None:
            return special(self, node, arguments) if len(arguments) >= least else unsupported(name)
        if name in _TRANSPARENT and len(arguments) == 1 and dtype_text(arguments[0]) == dtype_text(node):
            return self.compile(arguments[0])
        return self._function(node, name, arguments)

    def _called_node(self, kind: Any, node: Node, arguments: list[Node]) -> Thunk:
        """What is a node of its own in the latest version, and a call here."""
        if kind not in (*_INTEGER_BINARY, tirx.BitwiseNot) or not arguments:
            return unsupported(operator_name(node))
        operands = Operands(arguments[0], arguments[-1], type_of(node))
        wrong = misfit(operands, kind)
        if wrong:
            return unsupported(wrong)
        return self.bitwise_not(operands) if kind is tirx.BitwiseNot else self._operation(kind, operands)

    def _named_call(self, node: Node, name: str, arguments: list[Node]) -> Thunk:
        named: Any = arguments[0] if arguments else None
        if name == "tirx.call_llvm_pure_intrin" and type(named) is tirx.IntImm:
            function = llvm_intrinsics().get(int(named.value), f"the LLVM intrinsic {named.value}")
            function = _LLVM.get(function, function)
        elif type(named) is tvm.ir.StringImm:
            function = _EXTERN.get(str(named.value), "")
        else:
            return unsupported(name)
        operands = arguments[1:]
        if function in ("llvm.abs", "llvm.cttz"):
            operands, flags = operands[:1], operands[1:]
            if function in POISONED and not all(type(flag) is tirx.IntImm and not flag.value for flag in flags):
                return self._function(node, function, operands, POISONED)
        return self._function(node, function, operands)

    def _function(self, node: Node, name: str, arguments: list[Node], integers: Mapping[str, Any] = INTEGER) -> Thunk:
        """A call of one of the tables of intrinsics, lane by lane."""
        dtype = parse(dtype_text(node))
        given = [parse(dtype_text(argument)) for argument in arguments]
        function: Any = None
        if dtype is not None and not dtype.scalable and len(given) == (2 if name in _OF_TWO else 1):
            first, last = given[0], given[-1]
            if dtype.scalar in FLOATS and name in FLOAT and first == dtype:
                power = name == "tirx.ldexp" and last is not None and last.is_int and last.lanes == dtype.lanes
                if last == dtype or power:
                    function = FLOAT[name](FLOATS[dtype.scalar])
            elif dtype.is_int and name in integers and first is not None and first.is_int and first == last:
                # What is counted fits every dtype; the other functions stay in theirs.
                counted = name in _COUNTS and first.lanes == dtype.lanes
                meant = _SIGNED.get(name, first.low < 0) == (first.low < 0)
                function = integers[name](first.low, first.high) if meant and (counted or first == dtype) else None
        if function is None or dtype is None:
            return unsupported(f"{name or 'a call'} of {dtype_text(node)}")
        operands = [self.compile(argument) for argument in arguments]
        self.cost += dtype.lanes * 2
        return _apply(function, tuple(operands), dtype.lanes)

    def if_then_else(self, node: Node, arguments: list[Node]) -> Thunk:
        own = dtype_text(node)
        if [dtype_text(argument) for argument in arguments] != ["bool", own, own]:
            return unsupported("if_then_else")
        condition, first, second = (self.compile(argument) for argument in arguments[:3])
        return lambda: first() if condition() else second()

    def fused(self, node: Node, arguments: list[Node]) -> Thunk:
        form = FLOATS.get(str(getattr(parse(dtype_text(node)), "scalar", "")))
        if form is None or any(dtype_text(argument) != dtype_text(node) for argument in arguments[:3]):
            return unsupported("fma")
        multiply, add = floats.multiply(form), floats.add(form)
        a, b, c = (self.compile(argument) for argument in arguments[:3])
        return _apply(lambda x, y, z: add(multiply(x, y), z), (a, b, c), _lanes(node))

    def is_nan(self, node: Node, arguments: list[Node]) -> Thunk:
        """False: an exceptional value ends the interpretation where it arises."""
        if dtype_text(node) != with_lanes("bool", _lanes(arguments[0])):
            return unsupported("isnan")
        value = self.compile(arguments[0])
        return _apply(lambda x: False, (value,), _lanes(node))

    def reinterpret(self, node: Node, arguments: list[Node]) -> Thunk:
        source, target = parse(dtype_text(arguments[0])), parse(dtype_text(node))
        value = self.compile(arguments[0])
        if source is None or target is None or source.lanes != target.lanes or source.bits != target.bits:
            return unsupported("a reinterpretation of another width")
        function = reinterpretation(source, target)
        if function is None:
            return unsupported(f"reinterpret from {source} to {target}")
        return _apply(function, (value,), target.lanes)

    def vector_half(self, node: Node, arguments: list[Node]) -> Thunk:
        whole, own = dtype_of(arguments[0]), dtype_of(node)
        if whole is None or own is None or whole.scalar != own.scalar or whole.lanes != 2 * own.lanes:
            return unsupported("half of a vector")
        value, half = self.compile(arguments[0]), own.lanes
        low = operator_name(node).endswith("low")
        single = half == 1

        def run() -> Any:
            lanes = value()[:half] if low else value()[half:]
            return lanes[0] if single else lanes

        return run

    def combine(self, node: Node, arguments: list[Node]) -> Thunk:
        own, given = dtype_of(node), [dtype_of(argument) for argument in arguments]
        widths = [part.lanes for part in given if part is not None and own is not None and part.scalar == own.scalar]
        if own is None or len(widths) < len(given) or sum(widths) != own.lanes:
            return unsupported("a vector combined of others")
        parts = [(self.compile(argument), width) for argument, width in zip(arguments, widths, strict=True)]
        return lambda: [lane for part, width in parts for lane in (part() if width > 1 else [part()])]

    def lane_mask(self, node: Node, arguments: list[Node]) -> Thunk:
        lanes = _lanes(node)
        if len(arguments) != 2 or lanes == 1 or dtype_text(node) != with_lanes("bool", lanes):
            return unsupported("an active lane mask")
        base, limit = (self.number(argument) for argument in arguments)

        def run() -> list[bool]:
            first, end = base(), limit()
            if first < 0 or end < 0:
                raise BrokenRule("intrinsic-domain", "a negative bound of an active lane mask")
            return [first + k < end for k in range(lanes)]

        return run

    def masked_load(self, node: Node, arguments: list[Node]) -> Thunk:
        """A predicated load; what a lane that is switched off holds is not defined, so all have to be on."""
        buffer, *indices, mask = arguments
        dtype = dtype_of(node)
        if dtype is None or dtype.lanes == 1 or dtype_text(mask) != with_lanes("bool", dtype.lanes):
            return unsupported("a predicated load")
        active = self.compile(mask)
        load = self.access(buffer, indices, None, dtype)

        def run() -> Any:
            if not all(active()):
                raise BrokenRule("unsupported", "a predicated load with lanes switched off")
            return load()

        return run

    def not_null(self, node: Node, arguments: list[Node]) -> Thunk:
        pointer = arguments[0]
        if type(pointer) is tvm.ir.Call and operator_name(pointer) == "tirx.buffer_data":
            return lambda: False
        return unsupported("isnullptr")


_TABLE: Mapping[Any, Callable[[Compiler, Node], Thunk]] = {
    **{kind: Compiler.binary for kind in (*_INTEGER_BINARY, *_COMPARISONS, tirx.And, tirx.Or)},
    tirx.Not: Compiler.unary_not,
    tirx.BitwiseNot: Compiler.bitwise_not,
    tirx.IntImm: Compiler.integer,
    tirx.FloatImm: Compiler.float_constant,
    tirx.Var: Compiler.variable,
    tirx.Select: Compiler.select,
    tirx.Let: Compiler.let,
    tirx.Ramp: Compiler.ramp,
    tirx.Broadcast: Compiler.broadcast,
    tirx.Shuffle: Compiler.shuffle,
    tirx.Cast: Compiler.cast,
    tvm.ir.TensorLoad: Compiler.load,
    tvm.ir.Call: Compiler.call,
}

_CALLS: Mapping[str, tuple[Callable[[Compiler, Node, list[Node]], Thunk] | None, int]] = {
    "prim.if_then_else": (Compiler.if_then_else, 3),
    "tirx.fma": (Compiler.fused, 3),
    "tirx.isnan": (Compiler.is_nan, 1),
    "tirx.reinterpret": (Compiler.reinterpret, 1),
    "tirx.vectorlow": (Compiler.vector_half, 1),
    "tirx.vectorhigh": (Compiler.vector_half, 1),
    "tirx.vectorcombine": (Compiler.combine, 2),
    "tirx.get_active_lane_mask": (Compiler.lane_mask, 2),
    "tirx.masked_load": (Compiler.masked_load, 2),
    "tirx.isnullptr": (Compiler.not_null, 1),
}
"""Calls with a meaning of their own, and how many operands they take at least."""


def _lanes(node: Node) -> int:
    dtype = parse(dtype_text(node))
    return dtype.lanes if dtype is not None else 1


def _apply(function: Callable[..., Any], operands: tuple[Thunk, ...], lanes: int) -> Thunk:
    """`function` of the operands, once or for each lane; an operand that is a scalar counts for every lane."""
    if lanes > 1:
        if len(operands) == 1:
            (only,) = operands
            return lambda: [function(x) for x in only()]
        if len(operands) == 2:
            left, right = operands
            return lambda: [function(x, y) for x, y in zip(left(), right(), strict=True)]
        return lambda: [function(*xs) for xs in zip(*(operand() for operand in operands), strict=True)]
    if len(operands) == 1:
        (only,) = operands
        return lambda: function(only())
    if len(operands) == 2:
        left, right = operands
        return lambda: function(left(), right())
    return lambda: function(*(operand() for operand in operands))
