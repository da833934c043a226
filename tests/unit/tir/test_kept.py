"""What a pass does not keep of a program's form, by what it was and is."""

from __future__ import annotations

from typing import Any

import pytest

from tzerlike.systems import tvm_api
from tzerlike.tir.kept import KEEPING, form_of, not_kept

HEAD = """\
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), n: T.int32):
"""
BLOCK = """
    C = T.sblock_alloc_buffer((8,), "int32", scope="{scope}")
    D = T.sblock_alloc_buffer(({extent},), "int32", scope="{scope}")
    for i in range(8):
        with T.sblock("b"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes({writes})
            T.sblock_attr({{"buffer_dim_align": [[0, 0, 8, 3]]}})
            C[vi] = A[vi]
            D[vi] = A[vi]
"""


def program(extent: str = "8", writes: str = "C[vi], D[vi]", scope: str = "global") -> Any:
    text = HEAD + BLOCK.format(extent=extent, writes=writes, scope=scope)
    return tvm_api.entry_of(tvm_api.module_of(tvm_api.parse_script(text)))


VIEW = """
    C = T.sblock_alloc_buffer((8, {extent}), "int32")
    for i in range(2):
        with T.sblock("b"):
            vi = T.axis.spatial(2, i)
            T.reads()
            T.writes(C[vi * 4 : vi * 4 + 4, 0:4])
            D = T.match_buffer(C[vi * 4 : vi * 4 + 4, 0:4], (4, 4), "int32", strides=({stride}, 1), offset_factor=1)
            D[0, 0] = n
"""


def viewed(extent: int, stride: str = "8") -> Any:
    text = HEAD + VIEW.format(extent=extent, stride=stride)
    return tvm_api.entry_of(tvm_api.module_of(tvm_api.parse_script(text)))


BROKEN = {
    "extent": (program(), program("2147483647")),
    "fixed size": (program(scope="local"), program("T.min(n, 8)", scope="local")),
    "annotation": (program(), program(writes="D[vi], C[vi]")),
    "region": (program(), program(writes="C[vi]")),
    "strides": (viewed(8), viewed(4)),
}


def test_each_rule_has_a_program() -> None:
    assert set(BROKEN) == set(KEEPING)


@pytest.mark.parametrize("rule", KEEPING)
def test_what_is_not_kept_has_a_rule_and_a_name(rule: str) -> None:
    before, after = map(form_of, BROKEN[rule])
    found, where = not_kept(before, after)
    assert found == rule
    assert "D" in where or "C" in where


@pytest.mark.parametrize("rule", KEEPING)
def test_who_is_given_it_does_not_break_it(rule: str) -> None:
    _, after = map(form_of, BROKEN[rule])
    assert not_kept(after, after) == ("", "")


def test_memory_of_the_program_may_be_sized_at_run_time() -> None:
    assert not_kept(form_of(program()), form_of(program("T.min(n, 8)"))) == ("", "")


def test_a_view_may_leave_its_strides_open() -> None:
    before, after = form_of(viewed(8, '"s"')), form_of(viewed(4, '"s"'))
    assert not_kept(before, after) == ("", "")
