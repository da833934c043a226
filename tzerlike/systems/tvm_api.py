"""The one interface to TVM: no other module imports it, and version differences end here.

Everything here acts on live TVM objects. Importing this module imports TVM (about
0.9 s) and therefore happens only in processes that need the compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import inspect
import os
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy

from tzerlike.systems import under_test
from tzerlike.systems.hidden import hidden

with hidden("torch"):  # tvm_ffi imports PyTorch where it is, and that starts CUDA and its thread where there is a GPU
    import tvm as tvm
    import tvm_ffi as tvm_ffi
    from tvm import s_tir as s_tir
    from tvm import tirx as tirx

from tzerlike.systems import older_map, older_tvm

SYSTEM = under_test()

TVM_VERSION = str(tvm.__version__)

LLVM_VERSION: int | None = (
    int(tvm.target.codegen.llvm_version_major())
    if tvm_ffi.get_global_func("target.build.llvm", allow_missing=True) is not None
    else None
)
"""Of the LLVM that is compiled in, None where there is none: C source is then what the CPU's code is made as."""

KNOWN_IR = hasattr(tirx, "BitwiseAnd")
"""Whether the nodes of this TVM are those that mutators and the interpreter are written for: 0.27's."""

_TYPED = hasattr(tvm.ir, "Expr")
"""Whether expressions have types here, and buffers are variables; what else is missing comes from `older_tvm`."""

if not KNOWN_IR:
    tvm, tirx, s_tir = older_tvm.views()

type_of: Callable[[Any], Any] = attrgetter("ty") if _TYPED else older_tvm.type_of
"""The type of an expression, a variable or a buffer."""

source_of: Callable[[Any], Any] = attrgetter("source" if KNOWN_IR else "buffer")
"""The buffer that a load or a region is of."""

name_of: Callable[[Any], Any] = attrgetter("name") if _TYPED else older_tvm.name_of
"""The name of a variable or a buffer."""

memory_var_of: Callable[[Any], Any] = (lambda buffer: buffer) if _TYPED else attrgetter("data")
"""The variable that stands for the memory of a buffer: since buffers are variables, that itself."""

predicate_of: Callable[[Any], Any] = (lambda node: None) if KNOWN_IR else attrgetter("predicate")
"""The predicate of a load or a store that has one as a part of its own; later versions call a function for those."""

CALLED_NODES: Mapping[str, Any] = {} if KNOWN_IR else older_tvm.called_nodes(tirx)
"""Operators that are called here and are nodes in the latest version: name -> node."""

_OF_THIS_VERSION = f'"metadata":{{"tvm_version":"{TVM_VERSION}"}}}}'
"""How the text of a module ends that this version has written."""

ENTRY = "main"
"""The name of the function under test in every module."""

IRModule = tvm.IRModule
PrimFunc = tirx.PrimFunc
structural_equal = tvm_ffi.structural_equal
first_mismatch = tvm_ffi.get_first_structural_mismatch
structural_hash = tvm_ffi.structural_hash
read_json_graph = tvm_ffi.serialization.from_json_graph_str
# What follows is missing from older versions; who needs it there finds out when it is called.
structural_walk: Any = getattr(tvm_ffi, "structural_walk", None) or older_tvm.structural_walk
structural_map: Any = getattr(tvm_ffi, "structural_map", None) or older_map.structural_map


_array_size = tvm_ffi.get_global_func("ffi.ArraySize")
_array_item = tvm_ffi.get_global_func("ffi.ArrayGetItem")

CONSTRUCTION_ERRORS = (TypeError, ValueError, OverflowError, tvm.error.InternalError)
"""What TVM's node constructors raise for operands that do not fit."""


def array_items(array: Any) -> list[Any]:
    """Return the elements of an ffi Array; three times faster than iterating over it."""
    return [_array_item(array, index) for index in range(_array_size(array))]


def module_of(func: Any) -> Any:
    """Return the IRModule that holds `func` alone, under the name and global symbol `main`."""
    return tvm.IRModule({ENTRY: func.with_attr("global_symbol", ENTRY)})


def entry_of(module: Any) -> Any:
    """Return the PrimFunc `main` of `module`; KeyError when there is none."""
    for name, func in module.functions.items():
        if name.name_hint == ENTRY:
            return func
    raise KeyError(ENTRY)


def params_of(func: Any) -> list[Any]:
    """Return the parameters of a PrimFunc: variables and, for buffers, the buffers."""
    return array_items(func.params) if _TYPED else older_tvm.params_of(func)


def operator_name(call: Any) -> str:
    """Return the name of the operator that a call is of, as the latest version has it; "" where it has none."""
    name = str(getattr(call.op, "name", ""))
    return name if KNOWN_IR else older_tvm.LATER_NAMES.get(name, name)


def buffer_type(node: Any) -> Any:
    """Return the type of a buffer, None of what is no buffer: dtype, shape, strides, elem_offset, storage_scope."""
    if not _TYPED:
        return older_tvm.type_of(node) if isinstance(node, tirx.Buffer) else None
    return node.ty if type(node.ty) is tirx.BufferType else None


def variable_like(var: Any, name: str, values: Callable[[Any], Any] = lambda part: part) -> Any:
    """Return a new variable or buffer of what `values` makes of the type of `var`."""
    if is_buffer(var) and not _TYPED:
        return older_map.buffer_named(var, name, values)
    return tirx.Var(name, values(type_of(var)))


def function_with(func: Any, body: Any, *, params: Sequence[Any] | None = None, attrs: Any = None) -> Any:
    """Return `func` with another body and, where they are given, other parameters and attributes."""
    attrs = func.attrs if attrs is None else attrs
    if not _TYPED:
        return older_tvm.function(func, body, params, attrs)
    return tirx.PrimFunc(func.params if params is None else params, body, func.ret_type, attrs)


def op_call(op: Any, args: Any, dtype: str) -> Any:
    """Return a call of an operator, or of one by its name, that gives a `dtype`."""
    return tvm.ir.Call(op, args, ret_ty=dtype) if _TYPED else older_tvm.call(op, args, dtype)


def call_with(node: Any, args: Any, ty: Any = None) -> Any:
    """Return the call `node` with other arguments, and of another type where one is given."""
    if not _TYPED:
        return older_tvm.call_with(node, args, ty)
    return tvm.ir.Call(node.op, args, attrs=node.attrs, ret_ty=node.ty if ty is None else ty)


def dump_ir(module: Any) -> str:
    """Return the JSON text of an IRModule; saving what was loaded gives the same text."""
    return str(tvm.ir.save_json(module))


def load_ir(text: str) -> Any:
    """Return the IRModule that `dump_ir` wrote; TVM's own exceptions on bad text.

    What this version has written is read as it is: `load_json` first takes it apart and writes it anew, in Python, for
    texts of older versions, which takes six times as long as the reading.
    """
    return (read_json_graph if text.endswith(_OF_THIS_VERSION) else tvm.ir.load_json)(text)


def part(name: str) -> Any:
    """Return a module of TVM that is imported on demand: `topi`, `te`, `relax`, `sym`, `s_tir.dlight`."""
    return importlib.import_module(f"tvm.{older_tvm.MODULES.get(name, name) if not KNOWN_IR else name}")


def has_attribute(operator: str, name: str) -> bool:
    """Whether an operator that is known has an attribute registered."""
    return operator in tvm.ir.Op.list_op_names() and tvm.ir.Op.get(operator).get_attr(name) is not None


def expression_constructor(name: str) -> Any:
    """Return the function that makes the expression node `name` of its operands and None, without folding.

    Three times faster than the Python class; it raises CONSTRUCTION_ERRORS for operands that do not fit.
    """
    return tvm_ffi.get_global_func(f"prim.{name}") if KNOWN_IR else older_tvm.expression_constructor(tirx, name)


def script_of(module: Any) -> str:
    """Return the TVMScript text of an IRModule or PrimFunc, in the form that any Python parses, not just this one."""
    text = module.script(extra_config=_ANY_PYTHON) if KNOWN_IR else module.script()
    return _INNER_IMPORT.sub("", str(text))


_ANY_PYTHON = {"script.use_pep695": False}
"""No type parameters, which are syntax from Python 3.12 on: there they are the default of the printer."""

_INNER_IMPORT = re.compile(r"^ +# from tvm\.script import .*\n(?: *\n)*", re.MULTILINE)
"""What TVM prints above a function within another one."""


def parse_script(text: str) -> Any:
    """Return the IRModule or PrimFunc that TVMScript `text` defines."""
    with _without_frames():
        return tvm.script.from_source(older_tvm.unmarked(text))


@contextlib.contextmanager
def _without_frames() -> Iterator[None]:
    """Spare TVM's decorators their look at the calling frames: it takes half the time of parsing a small program, and
    is for functions of Python, which a text has none of (tvm/tirx/script/parser/entry.py)."""
    kept = inspect.stack
    inspect.stack = lambda context=1: []
    try:
        yield
    finally:
        inspect.stack = kept


def uses_blocks(func: Any) -> bool:
    """Whether `func` is in S-TIR, the dialect with SBlock nodes."""
    return bool(func.attrs is not None and func.attrs.get("s_tir", False)) or older_tvm.has_blocks(func)


def scheduling(module: Any, seed: int | None = None) -> Any:
    """Return a schedule of a module that checks nothing and renders no errors; what TVM raises where it makes none."""
    return s_tir.Schedule(module, seed=seed, debug_mask=0, error_render_level="none")


def packed(func: Any) -> bool:
    """Whether `func` takes its arguments packed, as TVM's runtime hands them over."""
    return bool(func.attrs is not None and func.attrs.get("calling_conv", 0))


def well_formed(module: Any) -> bool:
    """Whether TVM's own verifiers accept `module` (tirx or s_tir VerifyWellFormed, and VerifySSA)."""
    for func in module.functions.values():
        verify = s_tir.analysis.verify_well_formed if uses_blocks(func) else tirx.analysis.verify_well_formed
        try:
            # verify_well_formed of 0.27 segfaults on a variable defined twice, which verify_ssa mostly refuses
            if not tirx.analysis.verify_ssa(func) or not verify(func, assert_mode=False):
                return False
        except (tvm.error.InternalError, ValueError, TypeError, RuntimeError):
            return False
    return True


def is_buffer(param: Any) -> bool:
    """Whether a parameter of a PrimFunc is a buffer."""
    return bool(tirx.is_buffer_var(param))


def is_variable(expr: Any) -> bool:
    return type(expr) is tirx.Var


def parameter_types(func: Any) -> list[tuple[str, tuple[int | None, ...] | None]]:
    """Return the dtype of each parameter of a PrimFunc and, of a buffer, its shape, None for an extent that varies.

    Up to 0.26 a buffer's parameter is a handle, and `buffer_map` has the buffer.
    """
    older = getattr(func, "buffer_map", None)
    found: list[tuple[str, tuple[int | None, ...] | None]] = []
    for param in array_items(func.params):
        if older is None and is_buffer(param):
            dtype, shape = str(param.ty.dtype.dtype), array_items(param.ty.shape)
        elif older is not None and param in older:
            dtype, shape = str(older[param].dtype), array_items(older[param].shape)
        else:
            found.append((scalar_dtype(param) if older is None else str(param.dtype), None))
            continue
        found.append((dtype, tuple(shape_arithmetic(extent, {}) for extent in shape)))
    return found


def given_variables(func: Any) -> list[Any]:
    """Return the parameters of a PrimFunc, and the variables that the buffers among them give: extents, and, up to
    0.26, where their data is."""
    older = getattr(func, "buffer_map", None)
    params = array_items(func.params)
    buffers = [one.ty for one in params if is_buffer(one)] if older is None else list(older.values())
    extents = [one for buffer in buffers for one in array_items(buffer.shape) if is_variable(one)]
    return [*params, *extents, *([] if older is None else [one.data for one in buffers])]


def scalar_dtype(param: Any) -> str:
    """Return the dtype of a parameter that is passed by value; "" for a handle."""
    ty = type_of(param)
    return str(ty.dtype) if type(ty) is tvm.ir.PrimType else ""


def shape_arithmetic(expr: Any, sizes: Mapping[Any, int]) -> int | None:
    """Return the value of an extent: constants, variables in `sizes`, sums, differences and products; else None."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, tirx.IntImm):
        return int(expr.value)
    if is_variable(expr):
        return sizes.get(expr)
    operator = {tirx.Add: int.__add__, tirx.Sub: int.__sub__, tirx.Mul: int.__mul__}.get(type(expr))
    if operator is None:
        return None
    first, second = shape_arithmetic(expr.a, sizes), shape_arithmetic(expr.b, sizes)
    return None if first is None or second is None else operator(first, second)


@cache
def llvm_intrinsic_name(number: int) -> str | None:
    """Return the name of an intrinsic of the LLVM that is compiled in, `llvm.bswap`.

    "" where it cannot be told; None where LLVM has no such number, which it must not be asked about: it reads beyond
    the end of its table and may kill the process. The table is sorted by name, and ends with those of XCore.
    """
    name_of = tvm_ffi.get_global_func("target.llvm_get_intrinsic_name", allow_missing=True)
    last = 0 if name_of is None else int(tvm.target.codegen.llvm_lookup_intrinsic_id("llvm.xcore.zext"))
    if last == 0:
        return ""
    return str(name_of(number)) if 0 < number <= last else None


def compiler_library() -> Path:
    """Return the path of the loaded library that holds the compiler: in the package, or where a tree was built."""
    mapped = (line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines())
    usual = Path(tvm.__file__).resolve().parent / "lib" / SYSTEM.code.library
    return next((Path(path) for path in mapped if path.endswith(f"/{SYSTEM.code.library}")), usual)


_EXTENSIONS = tuple(
    ctypes.CDLL(str(path))
    for path in (compiler_library().with_name(name) for name in SYSTEM.code.extensions)
    if path.is_file()
)
"""Libraries of the compiler besides its own, which `import tvm` does not load."""

HAS_TILES = "tl.tileop.copy" in tvm.ir.Op.list_op_names()
"""Whether this is TileLang's fork, with its dialect of operators on tiles, which the library beside TVM's registers."""


def compiler_libraries() -> tuple[Path, ...]:
    """Return the paths of the loaded libraries that hold the compiler's own code, the compiler's first."""
    return (compiler_library(), *(Path(loaded._name) for loaded in _EXTENSIONS))


_ITS_PACKAGES = tuple(str(Path(str(package.__file__)).parent) + os.sep for package in (tvm, tvm_ffi))
_COMPILED = (".pxi", ".pyx", ".cc", ".cpp", ".h", ".hpp", "<unknown>")
"""How the files of frames end that the ffi adds for compiled code."""

_NEUTRAL = tuple(
    f"{directory}{os.sep}"
    for directory in (sysconfig.get_path("stdlib"), *(str(Path(str(p.__file__)).parent) for p in (ml_dtypes, numpy)))
)


def raised_by_tvm(error: BaseException) -> bool:
    """Whether TVM raised `error`, and not code of ours, of a plug-in or of a test.

    The innermost frame decides that belongs to TVM or to somebody who uses it: the standard library, NumPy and code
    without a file, such as the lines of a script that TVM's parser evaluates, act on behalf of their caller.
    """
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    for file in reversed(files):
        if file.startswith(_ITS_PACKAGES) or file.endswith(_COMPILED):
            return True
        if not _neutral(file):
            return False
    return False


def _neutral(file: str) -> bool:
    return file.startswith("<") or (
        file.startswith(_NEUTRAL) and ("site-packages" not in file or file.startswith(_NEUTRAL[1:]))
    )
