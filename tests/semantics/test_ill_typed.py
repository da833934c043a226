"""IR that no constructor of TVM builds, as a loaded file may hold it, is not interpreted."""

from __future__ import annotations

import numpy
import pytest

from tzerlike.reference import Verdict, interpret
from tzerlike.tvm_api import entry_of, module_of, parse_script, structural_map, tirx

SOURCE = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        A[i] = {value}
"""


@pytest.mark.parametrize(
    ("dtype", "value", "kind", "change"),
    [
        ("int32", "7", tirx.IntImm, lambda node: tirx.FloatImm("float32", 7.5) if int(node.value) == 7 else node),
        ("float32", "T.float32(7)", tirx.FloatImm, lambda node: tirx.IntImm("int32", 7)),
    ],
)
def test_a_value_of_another_dtype_is_unknown(dtype: str, value: str, kind: type, change: object) -> None:
    func = entry_of(module_of(parse_script(SOURCE.format(dtype=dtype, value=value))))
    zeros = numpy.zeros(4, numpy.int64 if dtype == "int32" else numpy.float64)
    assert interpret(func, [zeros]).verdict is Verdict.DEFINED
    judgement = interpret(structural_map(func, (kind, change)), [zeros])
    assert (judgement.verdict, judgement.rule) == (Verdict.UNKNOWN, "unsupported")
