"""An input or output of a row: the tensors that it accepts, and the variables that they bind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.graph.model import TensorType
from tzerlike.graph.spec.domains import DTYPES, EXTENT, RANK, ROOM, Chance, Choice, Dtypes, NewExtent
from tzerlike.graph.spec.language import Port
from tzerlike.graph.spec.shapes import Shapes
from tzerlike.graph.spec.terms import Bindings, Integer, Integers, Symbol, Term, compiled, tuple_source


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The limits of what is made anew, and the dtypes to prefer."""

    rank: int = 5
    extent: int = 32
    elements: int = 2048
    dtypes: tuple[str, ...] = ()

    def bindings(self) -> Bindings:
        return {RANK: self.rank, EXTENT: self.extent, ROOM: self.elements, DTYPES: self.dtypes}


@dataclass(frozen=True, slots=True)
class Wanted:
    """An input that is to be made: its type, and where its values have to lie."""

    type: TensorType
    low: float
    high: float
    must: bool
    """Whether the call has no meaning on other values."""


class Place:
    """An input or output of a row with what is compiled of it."""

    def __init__(self, port: Port, where: Mapping[str, Choice], known: set[str]) -> None:
        self.port = port
        self.new: list[tuple[str, Choice]] = []
        self.dtypes: tuple[str, ...] = (port.dtype,) if isinstance(port.dtype, str) else ()
        if isinstance(port.dtype, Symbol) and port.dtype.name and port.dtype.name not in known:
            self._introduce(port.dtype, where, known, ())
            domain = self.new[0][1]
            self.dtypes = domain.dtypes if isinstance(domain, Dtypes) else ()
        for position, part in enumerate(port.shape):
            if isinstance(part, Term) and part.name and part.name not in known:
                self._introduce(part, where, known, port.shape[:position])
        self._parts = [_part(part) for part in port.shape]
        self.shape: Callable[[Bindings], tuple[int, ...]] = compiled(tuple_source(port.shape))
        self.dtype: Callable[[Bindings], str] = compiled(
            port.dtype.source if isinstance(port.dtype, Symbol) else repr(port.dtype)
        )
        self.bound = not self.new
        self._lists = [index for index, part in enumerate(port.shape) if isinstance(part, Integers)]
        ends = (port.values.low, port.values.high)
        self._values: Callable[[Bindings], tuple[float, float]] = compiled(tuple_source(ends))
        self.whole = port.shape[0].name if len(port.shape) == 1 and isinstance(port.shape[0], Integers) else ""

    def type_of(self, known: Bindings) -> TensorType:
        return TensorType(self.shape(known), self.dtype(known))

    def draw(self, known: Bindings, chance: Chance) -> TensorType:
        """Bind what is new here, and return the type of the tensor to make."""
        for name, domain in self.new:
            known[name] = domain.draw(known, chance)
        return self.type_of(known)

    def wanted(self, known: Bindings, kind: TensorType | None = None) -> Wanted:
        """Describe the tensor to make, once everything is bound."""
        return Wanted(kind or self.type_of(known), *self._values(known), self.must(known))

    def takes(self, known: Bindings, found: TensorType) -> bool:
        """Bind what is new here to what a tensor has; False, with nothing bound, where it does not fit."""
        bound: Bindings = {}
        if self._bind(known, bound, found):
            known.update(bound)
            return True
        return False

    def must(self, known: Bindings) -> bool:
        """Whether values have to be made for this place, as those that are there may lie anywhere."""
        must = self.port.values.must
        return bool(must) and (self.dtype(known) in must if self._dtype_known(known) else True)

    def takes_rank(self, rank: int) -> bool:
        """Whether a tensor of this rank can fit at all."""
        fixed = len(self.port.shape) - len(self._lists)
        if not self._lists:
            return rank == fixed
        domain = dict(self.new).get(self.whole)
        return rank >= fixed and (not isinstance(domain, Shapes) or domain.low <= rank <= domain.high)

    def _bind(self, known: Bindings, bound: Bindings, found: TensorType) -> bool:
        if self.bound:
            return found.dtype == self.dtype(known) and found.shape == self.shape(known)
        scope = known.copy()
        if self.new and isinstance(self.port.dtype, Symbol) and self.new[0][0] == self.port.dtype.name:
            if found.dtype not in self.dtypes:
                return False
            scope[self.new[0][0]] = bound[self.new[0][0]] = found.dtype
        elif found.dtype != self.dtype(known):
            return False
        pieces = self._pieces(scope, found.shape)
        if pieces is None:
            return False
        domains = dict(self.new)
        for (name, value_of), piece in zip(self._parts, pieces, strict=True):
            if name in domains and name not in scope:
                if not domains[name].has(scope, piece):
                    return False
                scope[name] = bound[name] = piece
            elif value_of(scope) != piece:
                return False
        return True

    def _pieces(self, scope: Bindings, extents: tuple[int, ...]) -> list[Any] | None:
        """Cut a shape into what the parts stand for: one list takes what the others leave."""
        if self.whole:
            return [extents]
        unknown = [i for i in self._lists if self._parts[i][0] and self._parts[i][0] not in scope]
        lengths = [1] * len(self._parts)
        for i in self._lists:
            if i not in unknown:
                lengths[i] = len(self._parts[i][1](scope))
        if unknown:
            lengths[unknown[0]] = len(extents) - sum(lengths) + 1
        if min(lengths, default=0) < 0 or sum(lengths) != len(extents):
            return None
        pieces: list[Any] = []
        start = 0
        for i, length in enumerate(lengths):
            pieces.append(extents[start : start + length] if i in self._lists else extents[start])
            start += length
        return pieces

    def _dtype_known(self, known: Bindings) -> bool:
        return isinstance(self.port.dtype, str) or self.port.dtype.name in known

    def _introduce(self, part: Term, where: Mapping[str, Choice], known: set[str], before: Sequence[Any]) -> None:
        domain = where.get(part.name)
        if domain is None:
            domain = Shapes() if isinstance(part, Integers) else NewExtent(*before)
        self.new.append((part.name, domain))
        known.add(part.name)


def _part(part: Integer | Integers | int) -> tuple[str, Callable[[Bindings], Any]]:
    """The name of a part that is a variable, and what computes the part."""
    return ("", compiled(repr(part))) if isinstance(part, int) else (part.name, compiled(part.source))
