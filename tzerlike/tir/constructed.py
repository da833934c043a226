"""A program as calls of TVM's own constructors, for programs that TVMScript does not give back unchanged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import array_items, tvm, tvm_ffi

_WIDTH = 100
_INDENT = 4
_ALIGNMENT = 64
_LINES = 500
"""Lines of source that are more to a reader than JSON."""


def constructed(module: Any) -> str:
    """Return statements that make an IRModule of PrimFuncs and bind it to `Module`; "" where none do.

    They take the names `tvm`, `tirx` and `s_tir`, and were run: what they make is structurally equal to the module.
    """
    if not tvm_api.KNOWN_IR:
        return ""
    try:
        sources = (_Source(bare).of_module(module) for bare in (True, False))
        return next((source for source in sources if len(source.splitlines()) <= _LINES and _makes(source, module)), "")
    except (_NoSource, RecursionError):
        return ""


def _makes(source: str, module: Any) -> bool:
    """Whether statements of our own writing make a module."""
    found: dict[str, Any] = {"tvm": tvm, "tirx": tvm_api.tirx, "s_tir": tvm_api.s_tir}
    try:
        ask_compiler(lambda: exec(source, found))
    except CompilerRefused:
        return False
    return bool(tvm_ffi.structural_equal(found["Module"], module))


_IMPORTED = (
    *("tvm", "tirx", "s_tir", "tvm_ffi", "I", "T", "R", "np", "ml_dtypes", "pytest", "nvcc", "contextlib", "Module"),
    *("base64", "io", "json", "pathlib", "resource", "signal", "sys", "zlib"),
    "float",
)
"""Names that scripts around such source may have, and that it uses itself."""


def is_calls(source: str) -> bool:
    """Whether a text is what `constructed` returns, and not TVMScript."""
    return "\nModule = tvm.IRModule({" in source


def parts_called(source: str) -> str:
    """Return the parts of TVM that such source has to import, as a list for `from tvm import`."""
    return ", ".join(name for name in ("s_tir", "tirx") if f"{name}." in source)


class _NoSource(Exception):
    """A node that no call here makes."""


class _Source:
    """The source of a module under construction: what has a name comes first, each name once.

    With `bare`, numbers of type int32 and truth values are Python's own, which most constructors take.
    """

    def __init__(self, bare: bool) -> None:
        self._bare = bare
        self._lines: list[str] = []
        self._names: dict[int, str] = {}
        self._taken = set(_IMPORTED)
        self._held: list[Any] = []

    def of_module(self, module: Any) -> str:
        functions = {str(key.name_hint): self._function(func) for key, func in module.functions.items()}
        entries = ", ".join(f"{_quoted(name)}: {variable}" for name, variable in functions.items())
        return "\n".join([*self._lines, f"Module = tvm.IRModule({{{entries}}})"]) + "\n"

    def _function(self, func: Any) -> str:
        if type(func) is not tvm_api.PrimFunc:
            raise _NoSource
        params = [self._of(param) for param in array_items(func.params)]
        text = _call("tirx.PrimFunc", [_listed(params), self._of(func.body)])
        attributes = {str(key): _plain(value) for key, value in func.attrs.items()} if func.attrs else {}
        name = self._free(str(attributes.get("global_symbol", "main")))
        self._lines.append(f"{name} = {text}" + (f".with_attr({_literal(attributes)})" if attributes else ""))
        return name

    def _of(self, node: Any) -> str:
        if node is None:
            return "None"
        kind = type(node).__name__
        if kind == "Var":
            return self._variable(node)
        if kind in _WRITTEN:
            return _WRITTEN[kind](self, node)
        if hasattr(node, "a") and hasattr(node, "b"):
            return _call(f"tirx.{kind}", [self._of(node.a), self._of(node.b)])
        raise _NoSource

    def _all(self, nodes: Iterable[Any]) -> str:
        return _listed([self._of(node) for node in array_items(nodes)])

    def _variable(self, node: Any) -> str:
        handle = node.__chandle__()
        if handle not in self._names:
            self._held.append(node)
            text = self._buffer(node) if hasattr(node.ty, "shape") else self._scalar(node)
            if len(self._lines) > _LINES:
                raise _NoSource
            name = self._names[handle] = self._free(str(node.name))
            self._lines.append(f"{name} = {text}")
        return self._names[handle]

    def _scalar(self, node: Any) -> str:
        return _call("tirx.Var", [_quoted(node.name), _type(node.ty)])

    def _buffer(self, node: Any) -> str:
        ty = node.ty
        parts = [self._all(ty.shape), _quoted(ty.dtype.dtype), _quoted(node.name)]
        more = {
            "strides": self._all(ty.strides) if len(ty.strides) else "",
            "elem_offset": "" if _is_zero(ty.elem_offset) else self._of(ty.elem_offset),
            "scope": "" if ty.storage_scope == "global" else _quoted(ty.storage_scope),
            "data_alignment": "" if ty.data_alignment == _ALIGNMENT else str(ty.data_alignment),
            "offset_factor": "" if ty.offset_factor == 1 else str(ty.offset_factor),
            "layout": "None" if ty.layout is None and len(ty.shape) else "",
        }
        return _call("tirx.decl_buffer", [*parts, *_keywords(more)])

    def _free(self, name: str) -> str:
        """A name of Python's that nothing has yet."""
        plain = re.sub(r"\W", "_", name) or "v"
        tries = (plain, *(f"{plain}_{number}" for number in range(1, len(self._taken) + 2)))
        free = (one for one in tries if one.isidentifier() and not iskeyword(one) and one not in self._taken)
        name = next(free)
        self._taken.add(name)
        return name

    def _integer(self, node: Any) -> str:
        dtype, value = _dtype(node.ty), int(node.value)
        if self._bare and dtype in ("int32", "bool"):
            return str(value) if dtype == "int32" else str(bool(value))
        return f'tirx.IntImm("{dtype}", {value})'

    def _loop(self, node: Any) -> str:
        parts = [self._of(node.loop_var), self._of(node.min), self._of(node.extent)]
        kind = f"tirx.ForKind.{tvm_api.tirx.ForKind(node.kind).name}"
        more = {
            "thread_binding": "" if node.thread_binding is None else self._of(node.thread_binding),
            "annotations": _notes(node.annotations),
            "step": "" if node.step is None else self._of(node.step),
        }
        return _call("tirx.For", [*parts, kind, self._of(node.body), *_keywords(more)])

    def _block(self, node: Any) -> str:
        views, buffers = self._all(node.match_buffers), self._all(node.alloc_buffers)
        more = {
            "init": "" if node.init is None else self._of(node.init),
            "alloc_buffers": "" if buffers == "[]" else buffers,
            "match_buffers": "" if views == "[]" else views,
            "annotations": _notes(node.annotations),
        }
        axes, regions = self._all(node.iter_vars), [self._all(each) for each in (node.reads, node.writes)]
        return _call("s_tir.SBlock", [axes, *regions, _quoted(node.name_hint), self._of(node.body), *_keywords(more)])

    def _axis(self, node: Any) -> str:
        tag = [_quoted(node.thread_tag)] if node.thread_tag else []
        return _call("tirx.IterVar", [self._of(node.dom), self._of(node.var), str(int(node.iter_type)), *tag])

    def _called(self, node: Any) -> str:
        if node.attrs is not None or len(node.ty_args or ()):
            raise _NoSource
        name = getattr(node.op, "name", None)
        if name is None or type(node.op).__name__ != "Op":
            raise _NoSource
        operator = f"tvm.ir.Op.get({_quoted(name)})"
        return _call("tvm.ir.Call", [operator, self._all(node.args), f"ret_ty={_type(node.ty)}"])


_Writer = Callable[[_Source, Any], str]


def _fields(head: str, *names: str) -> _Writer:
    """A call with what these fields hold."""

    def write(source: _Source, node: Any) -> str:
        return _call(head, [source._of(getattr(node, name)) for name in names])

    return write


def _typed(head: str) -> _Writer:
    return lambda source, node: _call(head, [_quoted(_dtype(node.ty)), source._of(node.value)])


_WRITTEN: Mapping[str, _Writer] = {
    "IntImm": _Source._integer,
    "FloatImm": lambda source, node: f'tirx.FloatImm("{_dtype(node.ty)}", {_float(node.value)})',
    "StringImm": lambda source, node: f"tvm.ir.StringImm({_quoted(node.value)})",
    "Cast": _typed("tirx.Cast"),
    "Not": _fields("tirx.Not", "a"),
    "BitwiseNot": _fields("tirx.BitwiseNot", "a"),
    "Select": _fields("tirx.Select", "condition", "true_value", "false_value"),
    "Let": _fields("tirx.Let", "var", "value", "body"),
    "Ramp": _fields("tirx.Ramp", "base", "stride", "lanes"),
    "Broadcast": _fields("tirx.Broadcast", "value", "lanes"),
    "Shuffle": lambda s, node: _call("tirx.Shuffle", [s._all(node.vectors), s._all(node.indices)]),
    "TensorLoad": lambda s, node: _call("tirx.BufferLoad", [s._of(node.source), s._all(node.indices)]),
    "TensorRegion": lambda s, node: _call("tirx.BufferRegion", [s._of(node.source), s._all(node.region)]),
    "Range": _fields("tvm.ir.Range.from_min_extent", "min", "extent"),
    "IterVar": _Source._axis,
    "Call": _Source._called,
    "For": _Source._loop,
    "While": _fields("tirx.While", "condition", "body"),
    "SeqStmt": lambda s, node: _call("tirx.SeqStmt", [s._all(node.seq)]),
    "Evaluate": _fields("tirx.Evaluate", "value"),
    "IfThenElse": _fields("tirx.IfThenElse", "condition", "then_case", "else_case"),
    "Bind": _fields("tirx.Bind", "var", "value"),
    "AllocBuffer": lambda s, node: _call(
        "tirx.AllocBuffer", [s._of(node.buffer), *_keywords({"annotations": _notes(node.annotations)})]
    ),
    "AssertStmt": lambda s, node: _call(
        "tirx.AssertStmt", [s._of(node.condition), s._of(node.error_kind), s._all(node.message_parts)]
    ),
    "Break": _fields("tirx.Break"),
    "Continue": _fields("tirx.Continue"),
    "Return": _fields("tirx.Return", "value"),
    "DeclBuffer": lambda s, node: _call("tirx.DeclBuffer", [s._of(node.buffer), f"data={s._of(node.data)}"]),
    "MatchBufferRegion": _fields("s_tir.MatchBufferRegion", "buffer", "source"),
    "BufferStore": lambda s, node: _call(
        "tirx.BufferStore", [s._of(node.buffer), s._of(node.value), s._all(node.indices)]
    ),
    "AttrStmt": lambda s, node: _call(
        "tirx.AttrStmt", [_noted(s, node.node), _quoted(node.attr_key), s._of(node.value), s._of(node.body)]
    ),
    "SBlock": _Source._block,
    "SBlockRealize": lambda s, node: _call(
        "s_tir.SBlockRealize", [s._all(node.iter_values), s._of(node.predicate), s._of(node.block)]
    ),
}
"""How each kind of node is written."""


def _noted(source: _Source, node: Any) -> str:
    """What an attribute is about: a node, or a number or text."""
    return _literal(_plain(node)) if isinstance(node, str | int) else source._of(node)


def _call(head: str, parts: Sequence[str]) -> str:
    """A call on one line, or with each argument on its own."""
    return _wrapped(f"{head}(", parts, ")")


def _listed(parts: Sequence[str]) -> str:
    return _wrapped("[", parts, "]")


def _wrapped(start: str, parts: Sequence[str], end: str) -> str:
    line = f"{start}{', '.join(parts)}{end}"
    if len(line) <= _WIDTH - _INDENT and "\n" not in line:
        return line
    pad = " " * _INDENT
    inner = "".join(pad + part.replace("\n", f"\n{pad}") + ",\n" for part in parts)
    return f"{start}\n{inner}{end}"


def _keywords(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items() if value]


def _notes(annotations: Any) -> str:
    values = {str(key): _plain(value) for key, value in annotations.items()} if annotations else {}
    return _literal(values) if values else ""


def _plain(value: Any) -> Any:
    """A value of an annotation as Python has it."""
    if isinstance(value, bool | int | float | str):
        return str(value) if isinstance(value, str) else value
    if type(value).__name__ == "Array":
        return [_plain(item) for item in value]
    raise _NoSource


def _literal(value: Any) -> str:
    """Source of a plain value, with the quotes of TVM's own files."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(key)}: {_literal(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: object) -> str:
    return json.dumps(str(text))


def _dtype(ty: Any) -> str:
    if type(ty) is not tvm.ir.PrimType:
        raise _NoSource
    return str(ty.dtype)


def _type(ty: Any) -> str:
    """Source of the type of a variable or a call: the text of a dtype, or a pointer."""
    if type(ty) is tvm.ir.PointerType:
        return f'tvm.ir.PointerType(tvm.ir.PrimType("{_dtype(ty.element_type)}"), {_quoted(ty.storage_scope)})'
    return _quoted(_dtype(ty))


def _float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def _is_zero(node: Any) -> bool:
    return type(node).__name__ == "IntImm" and int(node.value) == 0
