"""A module checked against the tables, before lowering or when code is generated from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from tzerlike.core.untrusted import one_line
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import array_items, s_tir, structural_walk, tirx, tvm, type_of
from tzerlike.tir.allowlist import names

_KERNEL = r"main_kernel(_[0-9]+)?"
_COMPUTE = re.compile(r"[A-Za-z0-9_]{0,64}_compute_?")

_EXTERNAL = ("tirx.call_extern", "tirx.call_pure_extern")
_OF_LLVM = ("tirx.call_llvm_intrin", "tirx.call_llvm_pure_intrin")
_PACKED = ("tirx.tvm_call_packed", "tirx.tvm_call_packed_lowered")


@dataclass(frozen=True, slots=True)
class Allowlist:
    """What a module may hold: operators by name, callees of calls that name one, names of functions, and symbols."""

    calls: frozenset[str]
    external: frozenset[str]
    packed: re.Pattern[str]
    functions: re.Pattern[str]
    symbols: re.Pattern[str]


SOURCE = Allowlist(
    names.SOURCE_CALLS,
    names.LIBRARY_FUNCTIONS,
    packed=re.compile("(?!)"),
    functions=re.compile("main"),
    symbols=re.compile("main"),
)
"""A program as a case has it: one function."""

HOST = Allowlist(
    names.LOWERED_CALLS,
    names.LIBRARY_FUNCTIONS,
    packed=re.compile(rf"__tvm_set_device|device_api\.cpu\.dma_(copy|wait|start_group|end_group)|{_KERNEL}"),
    functions=re.compile(rf"main|{_KERNEL}"),
    symbols=re.compile(rf"(__tvm_ffi_)?main|{_KERNEL}"),
)
"""What LLVM code is generated from. No TVM has the functions for copies by DMA on a CPU: calling one is an error."""

DEVICE = Allowlist(
    names.DEVICE_CALLS,
    names.LIBRARY_FUNCTIONS | names.CUDA_FUNCTIONS,
    packed=re.compile("(?!)"),
    functions=re.compile(_KERNEL),
    symbols=re.compile(_KERNEL),
)
"""What CUDA source is generated from."""


def objection(module: Any, table: Allowlist) -> str:
    """Return something in an IRModule that is not in `table`, "" where everything is."""
    visitor = _Visitor(module, table)
    visitor.look()
    return one_line(visitor.found, 200)


_ALLOCATIONS = tuple(getattr(tirx, name) for name in ("AllocBuffer", "Allocate", "DeclBuffer") if hasattr(tirx, name))


class _Visitor:
    """Walks over a module; `found` is the last thing met that is not in the table."""

    def __init__(self, module: Any, table: Allowlist) -> None:
        self.module = module
        self.table = table
        self.operators = _operators(table.calls)
        self.intrinsics = llvm_intrinsics()
        self.found = ""
        self._of_type = {
            tirx.AttrStmt: self._attribute,
            tirx.For: lambda node: self._annotations(node.annotations),
            s_tir.SBlock: self._block,
            **dict.fromkeys(_ALLOCATIONS, self._allocation),
        }

    def look(self) -> None:
        attributes = self.module.attrs
        for key in () if attributes is None else attributes.keys():
            self.found = f"the module has the attribute {str(key)!r}"
        for variable, func in self.module.functions.items():
            if self.table.functions.fullmatch(variable.name_hint) is None:
                self.found = f"defines the function {variable.name_hint!r}"
            self._function(func)
            # One callback for all statements: each further type is looked for at every node.
            structural_walk(func, ((tvm.ir.Call, self._call), (tirx.Stmt, self._statement)))

    def _function(self, func: Any) -> None:
        if not isinstance(func, tvm_api.PrimFunc):
            self.found = f"holds a {type(func).__name__}"
            return
        for key, value in () if func.attrs is None else func.attrs.items():
            if key not in names.FUNCTION_ATTRIBUTES:
                self.found = f"the function has the attribute {str(key)!r}"
            elif key == "global_symbol" and self.table.symbols.fullmatch(str(value)) is None:
                self.found = f"defines the symbol {str(value)!r}"

    def _statement(self, node: Any) -> None:
        look = self._of_type.get(type(node))
        if look is not None:
            look(node)

    def _call(self, node: Any) -> None:
        operator = node.op
        if operator.__chandle__() in self.operators:
            return
        arguments = array_items(node.args)
        if type(operator) is tvm.ir.GlobalVar and operator in self.module.functions:
            return
        name = str(getattr(operator, "name", "")) or str(getattr(operator, "name_hint", type(operator).__name__))
        if type(operator) is not tvm.ir.Op or not self._allows_callee(name, arguments):
            callee = getattr(arguments[0], "value", None) if arguments else None
            self.found = f"calls {name}" + (f" of {callee!r}" if isinstance(callee, str | int) else "")

    def _allows_callee(self, name: str, arguments: Sequence[Any]) -> bool:
        """Whether a call of what the first argument names is in the table."""
        named: Any = arguments[0] if arguments else None
        if name in _OF_LLVM:
            return type(named) is tirx.IntImm and int(named.value) in self.intrinsics
        if type(named) is not tvm.ir.StringImm:
            return False
        if name in _EXTERNAL:
            return str(named.value) in self.table.external
        return name in _PACKED and self.table.packed.fullmatch(str(named.value)) is not None

    def _attribute(self, node: Any) -> None:
        key = str(node.attr_key)
        if key not in names.ATTRIBUTES:
            self.found = f"the attribute {key!r}"
        elif type(node.value) is tvm.ir.StringImm and key.endswith("compute_scope"):
            # It names the function that code generation makes of its body.
            name = str(node.value.value)
            if _COMPUTE.fullmatch(name) is None:
                self.found = f"defines the function {name!r}"

    def _block(self, node: Any) -> None:
        self._annotations(node.annotations)
        for buffer in array_items(node.alloc_buffers):
            self._memory(buffer)

    def _allocation(self, node: Any) -> None:
        if hasattr(node, "annotations"):
            self._annotations(node.annotations)
        if hasattr(node, "buffer"):
            self._memory(node.buffer)

    def _annotations(self, annotations: Any) -> None:
        if len(annotations):
            unknown = [str(key) for key in annotations if key not in names.ANNOTATIONS]
            self.found = f"the annotation {unknown[0]!r}" if unknown else self.found

    def _memory(self, buffer: Any) -> None:
        scope = str(type_of(buffer).storage_scope)
        if scope not in names.SCOPES and not scope.startswith(names.SCOPE_PREFIXES):
            self.found = f"memory of the scope {scope!r}"


@cache
def _operators(calls: frozenset[str]) -> frozenset[int]:
    """The addresses of the operators that `calls` has without their namespace; there is one object of each."""
    registered = [str(name).partition(".") for name in tvm.ir.Op.list_op_names()]
    return frozenset(
        tvm.ir.Op.get(f"{namespace}.{name}").__chandle__()
        for namespace, _, name in registered
        if namespace in names.NAMESPACES and name in calls
    )


@cache
def llvm_intrinsics() -> Mapping[int, str]:
    """Return the intrinsics of LLVM in the table, by the numbers that this LLVM gives them.

    Asked for the name of a number that it does not have, LLVM may kill the process.
    """
    find = tvm.target.codegen.llvm_lookup_intrinsic_id
    return MappingProxyType({number: name for name in names.LLVM_INTRINSICS if (number := int(find(name)))})
