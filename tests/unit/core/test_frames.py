from __future__ import annotations

import pytest

from tzerlike.core.frames import cpp_frames, function_name, place_in
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
