"""The tables against the real TVM: what may not run is found before lowering and after it, and its twin runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.mutators.annotate import BLOCK_ANNOTATIONS, FUNCTION_ANNOTATIONS
from tzerlike.systems import tvm_api, tvm_build
from tzerlike.systems.tvm_api import tvm
from tzerlike.tir.allowlist import names, native
from tzerlike.tir.allowlist.module import DEVICE, HOST, SOURCE, llvm_intrinsics, objection
from tzerlike.tir.allowlist.stored import require_allowed
from tzerlike.tir.interpreter import expressions, statements
from tzerlike.tir.interpreter.intrinsics import FLOAT, INTEGER

HEAD = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
"""


def program(body: str) -> Any:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return tvm_api.module_of(tvm_api.parse_script(HEAD + lines))


def built(module: Any) -> tvm_build.Built:
    target = tvm_build.target_of("llvm")
    with target:
        return tvm_build.build(tvm_build.bind_target(module, target), target)


CALLS = (
    ('T.evaluate(T.call_extern("int32", "system", "true"))', "B[0] = T.call_extern('float32', 'cosf', A[0])", "system"),
    (
        'B[0] = T.call_pure_extern("float32", "getpid", A[0])',
        'B[0] = T.call_pure_extern("float32", "fabsf", A[0])',
        "getpid",
    ),
    ('T.evaluate(T.call_packed("testing.echo", 1))', "T.evaluate(T.float32(1))", "testing.echo"),
    ('T.evaluate(T.call_packed("runtime.module.loadfile", "x.so"))', "T.evaluate(0)", "runtime.module.loadfile"),
    ('T.evaluate(T.call_cpacked("system", 1, T.int64(0)))', "T.evaluate(0)", "call_cpacked"),
    (
        'T.evaluate(T.call_llvm_pure_intrin("int64", "llvm.readcyclecounter"))',
        'T.evaluate(T.call_llvm_pure_intrin("int32", "llvm.ctpop.i32", 3))',
        "call_llvm_pure_intrin",
    ),
    (
        'T.evaluate(T.call_llvm_intrin("void", "llvm.trap"))',
        'T.evaluate(T.call_llvm_pure_intrin("float32", "llvm.fma", A[0], A[1], A[2]))',
        "call_llvm_intrin",
    ),
    ("T.evaluate(T.address_of(A[0]))", "T.evaluate(T.exp(A[0]))", "address_of"),
    (
        'with T.attr(0, "pragma_import_llvm", "x.ll"):\n    B[0] = A[0]',
        'with T.attr(0, "pragma_scope", 0):\n    B[0] = A[0]',
        "pragma_import_llvm",
    ),
    (
        'with T.attr(0, "pragma_import_c", "int f() { return 1; }"):\n    B[0] = A[0]',
        'with T.attr(0, "pragma_unroll_explicit", 1):\n    B[0] = A[0]',
        "pragma_import_c",
    ),
    (
        'with T.attr(0, "compute_scope", "system"):\n    B[0] = A[0]',
        'with T.attr(0, "device_scope", 0):\n    B[0] = A[0]',
        "system",
    ),
    (
        'for i in T.serial(4, annotations={"pragma_import_llvm": "x.ll"}):\n    B[i] = A[i]',
        'for i in T.serial(4, annotations={"pragma_unroll_explicit": 1}):\n    B[i] = A[i]',
        "pragma_import_llvm",
    ),
    (
        'C = T.alloc_buffer((4,), "float32", scope="global.texture")\nC[0] = A[0]',
        'C = T.alloc_buffer((4,), "float32", scope="local")\nC[0] = A[0]',
        "global.texture",
    ),
    ('T.func_attr({"some.callback": 1})\nB[0] = A[0]', 'T.func_attr({"tirx.noalias": True})\nB[0] = A[0]', "callback"),
)


@pytest.mark.parametrize(("evil", "twin", "named"), CALLS, ids=[f"{n}-{case[2]}" for n, case in enumerate(CALLS)])
def test_what_is_in_no_table_is_named_and_its_twin_runs(evil: str, twin: str, named: str) -> None:
    assert named in objection(program(evil), SOURCE)
    innocent = program(twin)
    assert objection(innocent, SOURCE) == ""
    arguments = [tvm.runtime.tensor(numpy.ones(4, "float32")) for _ in range(2)]
    native.entry_point(innocent, built(innocent))(*arguments)


def test_a_second_function_and_a_symbol_of_the_library_are_found() -> None:
    innocent = program("B[0] = A[0]")
    func = tvm_api.entry_of(innocent)
    assert "memcpy" in objection(tvm_api.IRModule({"main": func.with_attr("global_symbol", "memcpy")}), SOURCE)
    other = tvm_api.IRModule({"main": func, "expf": func.with_attr("global_symbol", "expf")})
    assert "expf" in objection(other, SOURCE)
    assert "system_lib_prefix" in objection(innocent.with_attr("system_lib_prefix", "x"), SOURCE)


def test_what_only_the_lowered_form_holds_does_not_run_either() -> None:
    innocent = program("B[0] = A[0]")
    for body, named in (
        ('T.evaluate(T.call_packed("testing.echo", 1))', "testing.echo"),
        ('T.evaluate(T.call_extern("int32", "getpid"))', "getpid"),
    ):
        with pytest.raises(native.NotAllowed, match=f"{named}.*, as lowered"):
            native.entry_point(innocent, built(program(body)))


SYSTEM = """\
declare i32 @system(ptr)
@order = private constant [{size} x i8] c"{order}\\00"
define float @cosf(float %x) {{
  %status = call i32 @system(ptr @order)
  ret float %x
}}
"""


def test_native_code_under_the_name_of_a_function_of_the_table_does_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    order = f"touch {marker}"
    code = SYSTEM.format(size=len(order) + 1, order=order)
    body = f'with T.attr(0, "pragma_import_llvm", {code!r}):\n    B[0] = T.call_pure_extern("float32", "cosf", A[0])'
    module = program(body)
    evil = built(module)
    arguments = [tvm.runtime.tensor(numpy.ones(4, "float32")) for _ in range(2)]
    for source in (module, program("B[0] = A[0]")):
        with pytest.raises(native.NotAllowed, match="pragma_import_llvm"):
            native.entry_point(source, evil)(*arguments)
    assert not marker.exists()
    with pytest.raises(UserError, match="pragma_import_llvm"):
        require_allowed(Case(tvm_api.dump_ir(module)))
    # What it would have done.
    tvm_build.compiled_main(evil)(*arguments)
    assert marker.exists()


def test_kernels_have_tables_of_their_own() -> None:
    module = program('for i in T.thread_binding(4, "threadIdx.x"):\n    B[i] = T.exp(A[i])')
    target = tvm_build.target_of("cuda")
    with target:
        kernel = tvm_build.build(tvm_build.bind_target(module, target), target)
    assert objection(module, SOURCE) == objection(kernel.host, HOST) == ""
    assert [objection(device, DEVICE) for device in kernel.devices] == [""]
    assert objection(kernel.host, SOURCE) != ""


def test_what_programs_are_saved_as_is_allowed() -> None:
    for _, twin, _ in CALLS:
        require_allowed(Case(tvm_api.dump_ir(program(twin))))


def test_the_tables_hold_what_the_interpreter_knows() -> None:
    operators = {*expressions._CALLS, *expressions._TRANSPARENT, *FLOAT, *INTEGER, *statements._NOTHING}
    operators |= {"tirx.assume", "tirx.masked_store", "tirx.break_loop", "tirx.continue_loop", "tirx.buffer_data"}
    operators |= {"tirx.tvm_storage_sync"}
    of_llvm = {name for name in operators if name.startswith("llvm.")}
    assert of_llvm <= names.LLVM_INTRINSICS == set(llvm_intrinsics().values())
    known = {name.partition(".")[2] for name in operators - of_llvm}
    assert known <= names.SOURCE_CALLS
    assert names.SOURCE_CALLS - known == {
        "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "fmod", "isfinite", "isinf", "large_uint_imm",
        "nextafter", "q_multiply_shift", "q_multiply_shift_per_axis", "ret", "shift_left", "shift_right", "undef",
        "vscale",
    }  # fmt: skip
    assert set(expressions._EXTERN) <= names.LIBRARY_FUNCTIONS
    assert {*statements._HINTS, "thread_extent", "virtual_thread"} <= names.ATTRIBUTES


def test_the_tables_hold_what_the_mutators_add() -> None:
    assert {name for name, _ in BLOCK_ANNOTATIONS} <= names.ANNOTATIONS
    assert {name for name, _ in FUNCTION_ANNOTATIONS} <= names.FUNCTION_ATTRIBUTES


def test_no_function_is_behind_the_names_of_copies_that_host_code_may_call() -> None:
    registered = tvm_api.tvm_ffi.registry.list_global_func_names()
    assert [name for name in registered if HOST.packed.fullmatch(name)] == ["__tvm_set_device"]
