"""What tvm_ffi.structural_map is where there is none: any object is made anew of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

_make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")

_APART = not hasattr(tvm.ir, "Expr")
"""Whether a buffer is no variable here, but has one that points at its data."""

_WHOLE = (tvm.ir.Op, tvm.target.Target, tvm.ir.Span)
"""What stays as it is."""

Replacing = Callable[[Any], Any]

_identity = tvm_ffi.Object.__hash__
"""Some objects that are compared by what they hold have no hash."""


def structural_map(root: Any, change: Any) -> Any:
    """`root` with each node of a type as the function of that type returns it, where it is defined too.

    `change` is one or more pairs of a type and a function. Nodes come children first, but for variables; a buffer
    counts as one.
    """
    calls = dict(pairs(change))
    mapping = _Map(calls)
    if _APART and tirx.Var in calls:
        mapping.follow_data(root)
    return mapping.of(root)


def buffer_named(buffer: Any, name: str, of: Replacing) -> Any:
    """A new buffer like another one, with its own data, and what `of` returns for extents, strides and offset."""
    given = {field: of(getattr(buffer, field)) for field in ("shape", "strides", "elem_offset")}
    data = tirx.Var(name, buffer.data.type_annotation)
    return _with_fields(buffer, {**given, "name": name, "data": data})


def pairs(change: Any) -> Iterator[tuple[Any, Replacing]]:
    """The pairs in one, in several, or in a tuple of them."""
    if callable(change[-1]):
        yield change
    else:
        for entry in change:
            yield from pairs(entry)


class _Map:
    """A map under way; what has been seen once is the same everywhere."""

    def __init__(self, calls: dict[Any, Replacing]) -> None:
        self._calls = calls
        self._made: dict[int, tuple[Any, Any]] = {}
        self._views: set[int] = set()

    def of(self, node: Any) -> Any:
        if not isinstance(node, tvm_ffi.Object) or isinstance(node, _WHOLE):
            return node
        known = self._made.get(_identity(node))
        if known is None:
            known = self._made[_identity(node)] = (node, self._mapped(node))
        old, new = known
        return node if new is old else new

    def follow_data(self, root: Any) -> None:
        """Have the pointers of buffers that are replaced go with these, also where others are views of their data."""
        buffers: dict[int, Any] = {}

        def note(node: Any) -> Any:
            if isinstance(node, tirx.DeclBuffer):
                self._views.add(_identity(node.buffer))
            if isinstance(node, tirx.Buffer):
                buffers[_identity(node)] = node
            return node

        _Map({tirx.Buffer: note, tirx.DeclBuffer: note}).of(root)
        for buffer in (one for number, one in buffers.items() if number not in self._views):
            new = self._calls[tirx.Var](buffer)
            if not new.same_as(buffer):
                self._made[_identity(buffer)] = (buffer, new)
                self._made[_identity(buffer.data)] = (buffer.data, new.data)

    def _mapped(self, node: Any) -> Any:
        call = self._calls.get(type(node))
        if isinstance(node, tirx.Var) or (_APART and isinstance(node, tirx.Buffer)):
            call = self._calls.get(tirx.Var, call)
            new = node if call is None else call(node)
            if new.same_as(node):
                return self._with_parts(node)
            return _with_fields(new, {"data": self.of(node.data)}) if _identity(node) in self._views else new
        made = self._with_parts(node)
        return made if call is None else call(made)

    def _with_parts(self, node: Any) -> Any:
        if isinstance(node, tvm_ffi.Array):
            items = list(node)
            made = [self.of(item) for item in items]
            return node if all(map(_is, made, items)) else tvm_ffi.convert(made)
        if isinstance(node, tvm_ffi.Map):
            entries = list(node.items())
            changed = [(self.of(name), self.of(value)) for name, value in entries]
            same = all(_is(name, n) and _is(value, v) for (name, value), (n, v) in zip(changed, entries, strict=True))
            return node if same else tvm_ffi.convert(dict(changed))
        parts = {name: get(node) for name, get in _fields(type(node))}
        others = {name: made for name, part in parts.items() if not _is(made := self.of(part), part)}
        return _with_fields(node, others) if others else node


def _is(one: Any, other: Any) -> bool:
    return one is other


def _with_fields(node: Any, others: dict[str, Any]) -> Any:
    given = {name: get(node) for name, get in _fields(type(node))} | others
    return _make(type(node).__tvm_ffi_type_info__.type_key, *(part for field in given.items() for part in field))


def _fields(kind: Any) -> tuple[tuple[str, Replacing], ...]:
    """The names of the fields of a type, and how to get them."""
    info, found = kind.__tvm_ffi_type_info__, []
    while info is not None:
        found += [(field.name, field.getter) for field in info.fields or ()]
        info = info.parent_type_info
    return tuple(found)
