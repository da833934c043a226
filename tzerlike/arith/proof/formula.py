"""Expressions as z3's terms over unbounded integers, with the conditions under which they are defined.

A quotient and its remainder are two unknowns with the equation that defines them. Whether a value fits its dtype is
part of being defined, not of the arithmetic: there are no bit-vectors but below `&`, `|` and `^` of two values that
are both unknown. What every term means is what `tzerlike.arith.evaluate` says, mode by mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import z3

from tzerlike.arith.evaluate import Mode
from tzerlike.arith.model import Expr, Variable, bits, lanes, limits, scalar

_LADDER = 16
"""Values of a factor, a divisor or an amount at most that are told apart one by one, so that all stays linear."""

TermBounds = tuple[int | None, int | None]
_ANY: TermBounds = (None, None)


class IntTerm(NamedTuple):
    """One lane: a term of z3 (a truth for bool), bounds that hold where it is defined, and where that is."""

    term: Any
    bounds: TermBounds
    fine: Any

    @property
    def number(self) -> int | None:
        """The number that it is, whatever the assignment."""
        return self.bounds[0] if self.bounds[0] == self.bounds[1] else None


def counted_range(dtype: str) -> tuple[int, int]:
    """The limits of a lane, as enumeration takes them: numbers from 2^63 on do not count."""
    least, greatest = limits(dtype)
    return least, min(greatest, (1 << 63) - 1)


@dataclass(slots=True)
class Formula:
    """Translates expressions over some variables, and collects the facts that its unknowns rest on."""

    variables: Mapping[str, Variable]
    facts: list[Any] = field(default_factory=list)
    unknowns: dict[str, Any] = field(default_factory=dict)
    _known: dict[tuple[Expr, Mode], tuple[IntTerm, ...]] = field(default_factory=dict)
    _shared: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def lanes_of(self, node: Expr, mode: Mode) -> tuple[IntTerm, ...]:
        """One term per lane."""
        found = self._known.get((node, mode))
        if found is None:
            found = self._known[node, mode] = tuple(self._translated(node, mode))
        return found

    def truth(self, node: Expr, mode: Mode) -> IntTerm:
        """The only lane of a condition."""
        (lane,) = self.lanes_of(node, mode)
        return lane

    def _translated(self, node: Expr, mode: Mode) -> Iterator[IntTerm]:
        op, count = node.op, lanes(node.dtype)
        if op == "Var":
            yield self._variable(self.variables[str(node.value)])
            return
        if op == "IntImm":
            yield _constant(int(node.value or 0), node.dtype, mode)
            return
        args = [self.lanes_of(arg, mode) for arg in node.args]
        if op == "Ramp":
            (base,), (stride,) = args
            for lane in range(count):
                step = self._fit(_times(stride, lane), node.dtype, mode)
                yield self._fit(_plus(base, step), node.dtype, mode) if lane else base
        elif op == "Broadcast":
            yield from args[0] * count
        else:
            for row in zip(*(arg * (count // len(arg)) for arg in args), strict=True):
                yield self._lane(node, row, mode)

    def _variable(self, variable: Variable) -> IntTerm:
        name = variable.name
        if name not in self.unknowns:
            x = self.unknowns[name] = z3.Int(name)
            low, high = self._domain(variable)
            self.facts += [x >= low, x <= high]
            if variable.told == "steps" and variable.step > 1:
                self.facts.append(x == low + variable.step * self._fresh())
        x = self.unknowns[name]
        bounds = self._domain(variable)
        return IntTerm(x != 0, (0, 1), True) if variable.dtype == "bool" else IntTerm(x, bounds, True)

    @staticmethod
    def _domain(variable: Variable) -> tuple[int, int]:
        if variable.told == "nothing":
            return counted_range(variable.dtype)
        return variable.values[0], variable.values[-1]

    def _fresh(self) -> Any:
        return z3.FreshInt("u")

    def _lane(self, node: Expr, args: tuple[IntTerm, ...], mode: Mode) -> IntTerm:
        op = node.op
        lazy = mode is not Mode.STRICT and lanes(node.dtype) == 1
        if op == "likely":
            return args[0]
        if op == "if_then_else" or op == "Select":
            return _chosen(*args, lazy=lazy or op == "if_then_else")
        if op in ("And", "Or"):
            return _short(op, *args) if lazy else _eager(op, *args)
        fine = _all(arg.fine for arg in args)
        if op == "Not":
            return IntTerm(z3.Not(args[0].term), (0, 1), fine)
        if op in _COMPARED:
            left, right = map(_as_number, args)
            return IntTerm(_COMPARED[op](left.term, right.term), (0, 1), fine)
        if op == "Cast":
            return self._cast(args[0], node.dtype, mode)
        dtype = node.dtype
        if op in ("Add", "Sub", "Mul"):
            made = {"Add": _plus, "Sub": _minus, "Mul": self._product}[op](*args)
            return self._fit(made, dtype, mode)
        if op in ("Min", "Max"):
            return _extreme(op, *args)
        if op in ("FloorDiv", "FloorMod", "Div", "Mod"):
            return self._divided(op, args[0], args[1], dtype, mode)
        if op in ("LShift", "RShift"):
            return self._shifted(op, args[0], args[1], dtype, mode)
        if op == "BitwiseNot":
            greatest = limits(dtype)[1] if not limits(dtype)[0] else -1
            return self._fit(_minus(_number(greatest), args[0]), dtype, mode)
        return self._bitwise(op, args[0], args[1], dtype)

    def _fit(self, value: IntTerm, dtype: str, mode: Mode) -> IntTerm:
        """The value in its dtype: it has to be, it wraps, or nobody minds."""
        low, high = counted_range(dtype)
        if mode is Mode.UNBOUNDED or _inside(value.bounds, low, high):
            return value
        if mode is Mode.STRICT:
            inside = z3.And(value.term >= low, value.term <= high)
            return IntTerm(value.term, _cut(value.bounds, low, high), _both(value.fine, inside))
        return self._wrapped(value, dtype)

    def _wrapped(self, value: IntTerm, dtype: str) -> IntTerm:
        low, high = limits(dtype)
        found = self._shared.get(("wrap", value.term.get_id(), dtype))
        if found is None:
            found = self._shared["wrap", value.term.get_id(), dtype] = (self._fresh(), value.term)
            self.facts += [value.term == found[0] + (1 << bits(dtype)) * self._fresh()]
            self.facts += [found[0] >= low, found[0] <= high]
        return IntTerm(found[0], (low, high), value.fine)

    def _cast(self, value: IntTerm, dtype: str, mode: Mode) -> IntTerm:
        value = _as_number(value)
        if scalar(dtype) == "bool":
            return IntTerm(value.term != 0, (0, 1), value.fine)
        if _inside(value.bounds, *counted_range(dtype)):
            return value
        return self._fit(value, dtype, mode) if mode is Mode.STRICT else self._wrapped(value, dtype)

    def _product(self, a: IntTerm, b: IntTerm) -> IntTerm:
        if a.number is not None:
            a, b = b, a
        bounds = _product_bounds(a.bounds, b.bounds)
        if b.number is not None:
            return IntTerm(a.term * b.number, bounds, _both(a.fine, b.fine))
        if _width(a.bounds) < _width(b.bounds):
            a, b = b, a
        term = a.term * b.term
        if _width(b.bounds) < _LADDER:
            term = _ladder(b, lambda value: a.term * value)
        return IntTerm(term, bounds, _both(a.fine, b.fine))

    def _divided(self, op: str, a: IntTerm, b: IntTerm, dtype: str, mode: Mode) -> IntTerm:
        fine = _both(a.fine, b.fine)
        if b.number is None and _width(b.bounds) < _LADDER:
            values = [_number(value) for value in _steps(b.bounds) if value]
            if not values:
                return IntTerm(z3.IntVal(0), (0, 0), False)
            parts = {value.number: self._divided(op, a._replace(fine=True), value, dtype, mode) for value in values}
            every = list(parts.values())
            term = _ladder(b, lambda value: parts[value].term if value else z3.IntVal(0))
            fits = _all(_implied(b.term == value, part.fine) for value, part in parts.items())
            bounds = reduce(_joined, (part.bounds for part in every))
            return IntTerm(term, bounds, _all((fine, b.term != 0, fits)))
        if b.number is None and not _apart_from_zero(b.bounds):
            fine = _both(fine, b.term != 0)
        elif b.number == 0:
            return IntTerm(z3.IntVal(0), (0, 0), False)
        floor = op.startswith("Floor") or _same_sign(a.bounds, b.bounds)
        quotient, remainder = self._quotient(a, b, floor=floor)
        least = limits(dtype)[0]
        if least and _reaches(a.bounds, least) and _reaches(b.bounds, -1):
            # The remainder of the least integer by -1 is as undefined as the quotient.
            fine = _both(fine, quotient != -least)
        if op in ("FloorDiv", "Div"):
            return self._fit(IntTerm(quotient, _quotient_bounds(a.bounds, b.bounds), fine), dtype, mode)
        return IntTerm(remainder, _remainder_bounds(a.bounds, b.bounds, floor=floor), fine)

    def _quotient(self, a: IntTerm, b: IntTerm, *, floor: bool) -> tuple[Any, Any]:
        """Quotient and remainder, the same ones for the same operands; some numbers where the divisor is 0."""
        divisor = ("number", b.number) if b.number is not None else ("term", b.term.get_id())
        key = ("div", a.term.get_id(), divisor, floor)
        if key not in self._shared:
            q, r = self._fresh(), self._fresh()
            x, y = a.term, b.term if b.number is None else z3.IntVal(b.number)
            up, down = z3.And(r >= 0, r < y), z3.And(r <= 0, r > y)
            if not floor:
                size = z3.If(y > 0, y, -y)
                rule = z3.If(x >= 0, z3.And(r >= 0, r < size), z3.And(r <= 0, r > -size))
            elif b.number is None:
                rule = z3.If(y > 0, up, down)
            else:
                rule = up if b.number > 0 else down
            equation = z3.And(x == y * q + r, rule)
            self.facts.append(equation if b.number is not None else z3.Implies(y != 0, equation))
            self._shared[key] = (q, r, a.term, b.term)
        return self._shared[key][:2]  # type: ignore[no-any-return]

    def _shifted(self, op: str, a: IntTerm, b: IntTerm, dtype: str, mode: Mode) -> IntTerm:
        low, high = _cut(b.bounds, 0, bits(dtype) - 1)
        assert low is not None and high is not None
        fine = _both(a.fine, b.fine)
        if low > high:
            return IntTerm(z3.IntVal(0), (0, 0), False)
        if not _inside(b.bounds, 0, bits(dtype) - 1):
            fine = _all((fine, b.term >= 0, b.term < bits(dtype)))

        def by(amount: int) -> Any:
            power = _number(1 << amount)
            return a.term * (1 << amount) if op == "LShift" else self._quotient(a, power, floor=True)[0]

        term = _ladder(b._replace(bounds=(low, high)), by)
        if op == "LShift":
            return self._fit(IntTerm(term, _product_bounds(a.bounds, (1 << low, 1 << high)), fine), dtype, mode)
        return IntTerm(term, _quotient_bounds(a.bounds, (1 << low, 1 << high)), fine)

    def _bitwise(self, op: str, a: IntTerm, b: IntTerm, dtype: str) -> IntTerm:
        low, high = counted_range(dtype)
        fine = _both(a.fine, b.fine)
        for each in (a, b):
            if not _inside(each.bounds, low, high):
                # Stronger than it need be: beyond their dtype nothing is said of bits.
                fine = _all((fine, each.term >= low, each.term <= high))
        if a.number is not None:
            a, b = b, a
        common = self._masked(a, b.number) if b.number is not None else self._common(a, b, dtype)
        x, y = a.term, b.term
        term = {"BitwiseAnd": common, "BitwiseOr": x + y - common, "BitwiseXor": x + y - 2 * common}[op]
        at_least = 0 if _positive(a.bounds) and _positive(b.bounds) else low
        if op == "BitwiseAnd" and (_positive(a.bounds) or _positive(b.bounds)):
            tops = [each.bounds[1] for each in (a, b) if _positive(each.bounds) and each.bounds[1] is not None]
            return IntTerm(term, (0, min(tops, default=high)), fine)
        return IntTerm(term, (at_least, high), fine)

    def _masked(self, a: IntTerm, mask: int) -> Any:
        """`a & mask`: each run of ones in the mask is a remainder of a quotient."""
        if mask < 0:
            return a.term - self._masked(a, ~mask)
        total = z3.IntVal(0)
        start = 0
        while mask >> start:
            if not mask >> start & 1:
                start += 1
                continue
            length = 0
            while mask >> (start + length) & 1:
                length += 1
            part = self._quotient(a, _number(1 << start), floor=True)[0] if start else a.term
            total += self._quotient(IntTerm(part, _ANY, True), _number(1 << length), floor=True)[1] * (1 << start)
            start += length
        return total

    def _common(self, a: IntTerm, b: IntTerm, dtype: str) -> Any:
        """`a & b` by bits, as few as may differ."""
        tops = [each.bounds[1] for each in (a, b)]
        if _positive(a.bounds) and _positive(b.bounds) and None not in tops:
            width = max(1, max(int(top or 0) for top in tops).bit_length())
            return z3.BV2Int(z3.Int2BV(a.term, width) & z3.Int2BV(b.term, width))
        signed = bool(limits(dtype)[0])
        return z3.BV2Int(z3.Int2BV(a.term, bits(dtype)) & z3.Int2BV(b.term, bits(dtype)), is_signed=signed)


_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


def _constant(value: int, dtype: str, mode: Mode) -> IntTerm:
    if scalar(dtype) == "bool":
        return IntTerm(z3.BoolVal(bool(value)), (value, value), True)
    return _number(value)._replace(fine=mode is not Mode.STRICT or value <= counted_range(dtype)[1])


def _number(value: int) -> IntTerm:
    return IntTerm(z3.IntVal(value), (value, value), True)


def _as_number(value: IntTerm) -> IntTerm:
    return value if z3.is_int(value.term) else value._replace(term=z3.If(value.term, 1, 0))


def condition(fine: Any) -> Any:
    """Where a term is defined, as z3's."""
    return z3.BoolVal(fine) if isinstance(fine, bool) else fine


def _all(conditions: Any) -> Any:
    """All of some conditions, True where they say nothing."""
    told = [each for each in conditions if each is not True]
    if any(each is False for each in told):
        return False
    return True if not told else told[0] if len(told) == 1 else z3.And(*told)


def _both(a: Any, b: Any) -> Any:
    return _all((a, b))


def _implied(where: Any, consequence: Any) -> Any:
    return True if consequence is True else z3.Implies(where, consequence)


def _chosen(which: IntTerm, a: IntTerm, b: IntTerm, *, lazy: bool) -> IntTerm:
    term = z3.If(which.term, a.term, b.term)
    bounds = _joined(a.bounds, b.bounds)
    if not lazy:
        return IntTerm(term, bounds, _all((which.fine, a.fine, b.fine)))
    taken = (_implied(which.term, a.fine), _implied(z3.Not(which.term), b.fine))
    return IntTerm(term, bounds, _all((which.fine, *taken)))


def _eager(op: str, a: IntTerm, b: IntTerm) -> IntTerm:
    term = z3.And(a.term, b.term) if op == "And" else z3.Or(a.term, b.term)
    return IntTerm(term, (0, 1), _both(a.fine, b.fine))


def _short(op: str, a: IntTerm, b: IntTerm) -> IntTerm:
    """An operand that decides the result decides it, whatever the other does."""
    if a.fine is True and b.fine is True:
        return _eager(op, a, b)
    either = z3.Or(*(condition(_both(each.fine, each.term if op == "Or" else z3.Not(each.term))) for each in (a, b)))
    return IntTerm(either if op == "Or" else z3.Not(either), (0, 1), z3.Or(either, condition(_both(a.fine, b.fine))))


def _plus(a: IntTerm, b: IntTerm) -> IntTerm:
    bounds = tuple(None if x is None or y is None else x + y for x, y in zip(a.bounds, b.bounds, strict=True))
    return IntTerm(a.term + b.term, (bounds[0], bounds[1]), _both(a.fine, b.fine))


def _minus(a: IntTerm, b: IntTerm) -> IntTerm:
    (low, high), (least, most) = a.bounds, b.bounds
    bounds = (
        None if low is None or most is None else low - most,
        None if high is None or least is None else high - least,
    )
    return IntTerm(a.term - b.term, bounds, _both(a.fine, b.fine))


def _times(a: IntTerm, factor: int) -> IntTerm:
    return IntTerm(a.term * factor, _product_bounds(a.bounds, (factor, factor)), a.fine)


def _extreme(op: str, a: IntTerm, b: IntTerm) -> IntTerm:
    choose: Callable[..., int] = min if op == "Min" else max
    term = z3.If(a.term <= b.term if op == "Min" else a.term >= b.term, a.term, b.term)
    ends = [choose(x, y) if x is not None and y is not None else None for x, y in zip(a.bounds, b.bounds, strict=True)]
    return IntTerm(term, (ends[0], ends[1]), _both(a.fine, b.fine))


def _ladder(b: IntTerm, by: Callable[[int], Any]) -> Any:
    """A value for each number that `b` may be."""
    *others, last = _steps(b.bounds)
    term = by(last)
    for value in reversed(others):
        term = z3.If(b.term == value, by(value), term)
    return term


def _steps(bounds: TermBounds) -> range:
    assert bounds[0] is not None and bounds[1] is not None
    return range(bounds[0], bounds[1] + 1)


def _width(bounds: TermBounds) -> float:
    return float("inf") if bounds[0] is None or bounds[1] is None else bounds[1] - bounds[0]


def _inside(bounds: TermBounds, low: int, high: int) -> bool:
    return bounds[0] is not None and bounds[1] is not None and low <= bounds[0] and bounds[1] <= high


def _cut(bounds: TermBounds, low: int, high: int) -> TermBounds:
    """What of some bounds lies within others; these where nothing does, for then nobody asks for the value."""
    least = low if bounds[0] is None else max(low, bounds[0])
    greatest = high if bounds[1] is None else min(high, bounds[1])
    return (least, greatest) if least <= greatest else (low, high)


def _joined(a: TermBounds, b: TermBounds) -> TermBounds:
    return (
        None if a[0] is None or b[0] is None else min(a[0], b[0]),
        None if a[1] is None or b[1] is None else max(a[1], b[1]),
    )


def _product_bounds(a: TermBounds, b: TermBounds) -> TermBounds:
    ends = (*a, *b)
    if any(end is None for end in ends):
        return _ANY
    corners = [int(x or 0) * int(y or 0) for x in a for y in b]
    return min(corners), max(corners)


def _quotient_bounds(a: TermBounds, b: TermBounds) -> TermBounds:
    """By a divisor that is not 0: nothing grows but by its sign."""
    if a[0] is None or a[1] is None:
        return _ANY
    if b[0] is not None and b[0] > 0:
        return min(a[0], 0), max(a[1], 0)
    size = max(abs(a[0]), abs(a[1]))
    return -size, size


def _remainder_bounds(a: TermBounds, b: TermBounds, *, floor: bool) -> TermBounds:
    if b[0] is None or b[1] is None:
        return _ANY
    size = max(abs(b[0]), abs(b[1])) - 1
    if floor:
        return (0 if b[0] > 0 else -size), (0 if b[1] < 0 else size)
    return -size, size


def _positive(bounds: TermBounds) -> bool:
    """Whether it is never negative."""
    return bounds[0] is not None and bounds[0] >= 0


def _apart_from_zero(bounds: TermBounds) -> bool:
    return (bounds[0] is not None and bounds[0] > 0) or (bounds[1] is not None and bounds[1] < 0)


def _same_sign(a: TermBounds, b: TermBounds) -> bool:
    """Whether division rounds down whichever way it truncates."""
    return _positive(a) and b[0] is not None and b[0] > 0


def _reaches(bounds: TermBounds, value: int) -> bool:
    return (bounds[0] is None or bounds[0] <= value) and (bounds[1] is None or value <= bounds[1])
