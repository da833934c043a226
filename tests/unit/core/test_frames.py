from __future__ import annotations

from typing import Any

import pytest

from tzerlike.core.frames import cpp_frames, function_name, place_in, python_place
from tzerlike.core.observation import Frame
from tzerlike.findings.issue.layout import trace
from tzerlike.systems import tvm_api


def raised() -> ValueError:
    node = tvm_api.tirx.Cast("bool", tvm_api.tirx.IntImm("int32", 2))
    with pytest.raises(ValueError) as raised:
        tvm_api.tvm.sym.Analyzer().rewrite_simplify(node)
    return raised.value


def test_frames_have_the_place_that_tvm_says() -> None:
    innermost, *others = cpp_frames(raised())
    assert place_in(innermost).startswith("src/ir/expr.cc:")
    assert function_name(innermost) == "tvm::IntImm::IntImm"
    assert others and not any(map(place_in, others))
    shown = trace([Frame(name, "") for name in (innermost, *others)])
    assert shown[0] == f"tvm::IntImm::IntImm ({place_in(innermost)})"


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ("void tvm::A::f(int) const at include/tvm/a.h:7", "tvm::A::f"),
        ("const T& tvm::Seq::operator[](int) const at src/a.cc:1", "const T& tvm::Seq::operator[](int) const"),
        ("libtvm.so+0x12", "libtvm.so+0x12"),
    ],
)
def test_a_name_does_not_depend_on_the_line(frame: str, name: str) -> None:
    assert function_name(frame) == name


def test_what_the_compilers_python_raises_has_its_place() -> None:
    relax, on, off = tvm_api.part("relax"), *(tvm_api.tirx.FloatImm("float32", value) for value in (1.0, 0.0))
    builder, indices = relax.BlockBuilder(), relax.Var("i", relax.TensorType((1,), "int32"))
    with builder.function("main", [indices]):
        builder.emit_func_output(builder.emit(relax.op.one_hot(indices, on, off, 7, -2)))
    with pytest.raises(IndexError) as raised:
        relax.transform.LegalizeOps()(builder.get())
    assert python_place(raised.value).startswith("tvm/topi/"), python_place(raised.value)


def test_the_call_of_a_pass_is_no_place() -> None:
    """What the standard library of C++ raises comes without frames of C++."""
    relax = tvm_api.part("relax")
    builder, one = relax.BlockBuilder(), relax.Var("x", relax.TensorType((), "int32"))
    with builder.function("main", [one]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.stack([one], -1))
        builder.emit_func_output(result)
    with pytest.raises(Exception, match="basic_string") as raised:
        relax.transform.ConvertLayout({})(builder.finalize())
    assert cpp_frames(raised.value) == [] and python_place(raised.value) == ""


def test_what_cpp_raises_has_no_place_in_python() -> None:
    assert python_place(raised()) == ""

    @tvm_api.tvm.transform.module_pass(opt_level=0)
    def pipeline(module: Any, _: Any) -> Any:
        return tvm_api.tirx.transform.MakePackedAPI()(tvm_api.tirx.transform.SplitHostDevice()(module))

    func = tvm_api.parse_script("@T.prim_func\ndef main(A: T.Buffer((1,), 'int32')):\n    A[0] = 1\n")
    with pytest.raises(Exception, match="target") as within:
        pipeline(tvm_api.module_of(func))
    assert python_place(within.value) == ""
