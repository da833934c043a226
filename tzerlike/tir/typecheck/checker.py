"""The walk over a function: each node once, its operands first.

Nodes are never changed while somebody holds them, so a checker that keeps what it has seen need not look again at what
two functions share: along the passes of a compilation that is most of them.
"""

from __future__ import annotations

from typing import Any

from tzerlike.systems.tvm_api import KNOWN_IR, PrimFunc, array_items, params_of, tirx, tvm
from tzerlike.tir.typecheck import expressions, statements
from tzerlike.tir.typecheck.rule import BadType

POINTER = "handle"
"""The dtype of a pointer, whatever it points to."""


class TypeChecker:
    """Checks functions; it keeps alive all that it has seen, and remembers what is well-typed."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._dtypes: dict[int, str] = {}
        self._laid_out: set[int] = set()
        self._held: list[Any] = []

    def check(self, func: Any) -> BadType | None:
        """Return the first rule that a PrimFunc breaks; None where the function is nested too deeply to say, and for an
        older TVM, whose nodes are others."""
        if not KNOWN_IR or func.__chandle__() in self._known:
            return None
        self._held.append(func)
        try:
            for param in params_of(func):
                self.visit_buffer(param)
            self.visit(func.body)
            self._known[func.__chandle__()] = ""
        except BadType as bad:
            return bad
        except RecursionError:
            return None
        return None

    def check_module(self, module: Any) -> BadType | None:
        """Return the first rule that a PrimFunc of an IRModule breaks."""
        if module.__chandle__() in self._known:
            return None
        self._held.append(module)
        funcs = (func for func in module.functions.values() if isinstance(func, PrimFunc))
        found = next((bad for bad in map(self.check, funcs) if bad is not None), None)
        if found is None:
            self._known[module.__chandle__()] = ""
        return found

    def visit_buffer(self, buffer: Any) -> None:
        """Check the type of what is a buffer."""
        if self.element(buffer) and buffer.__chandle__() not in self._laid_out:
            try:
                statements.check_layout(self, buffer.ty)
            except BadType as bad:
                raise bad.at(f"the buffer {buffer.name}") from None
            self._laid_out.add(buffer.__chandle__())

    def visit(self, stmt: Any) -> None:
        """Check a statement and what is below it; BadType for the first rule that is broken."""
        look = statements.RULES.get(type(stmt))
        if look is not None and stmt.__chandle__() not in self._known:
            try:
                look(self, stmt)
            except BadType as bad:
                raise bad.at(f"the store to {stmt.buffer.name}" if type(stmt) is tirx.BufferStore else "") from None
            self._known[stmt.__chandle__()] = ""

    def dtype(self, expr: Any) -> str:
        """Check an expression and what is below it, and return its dtype: with lanes, `handle` for a pointer, "" for
        what has none."""
        identity = expr.__chandle__()
        known = self._known.get(identity)
        if known is None:
            look = expressions.RULES.get(type(expr))
            known = self.stated(expr)
            if look is not None:
                look(self, expr, known)
            self._known[identity] = known
        return known

    def dtypes(self, array: Any) -> list[str]:
        return [self.dtype(expr) for expr in array_items(array)]

    def stated(self, expr: Any) -> str:
        """The dtype that an expression says it has."""
        ty = expr.ty
        known = self._dtypes.get(ty.__chandle__())
        if known is None:
            kind = type(ty)
            known = str(ty.dtype) if kind is tvm.ir.PrimType else POINTER if kind is tvm.ir.PointerType else ""
            self._dtypes[ty.__chandle__()] = known
        return known

    def element(self, buffer: Any) -> str:
        """The dtype of the elements of a buffer; "" for what is none."""
        known = self._dtypes.get(buffer.__chandle__())
        if known is None:
            ty = buffer.ty
            known = str(ty.dtype.dtype) if type(ty) is tirx.BufferType else ""
            self._dtypes[buffer.__chandle__()] = known
        return known
