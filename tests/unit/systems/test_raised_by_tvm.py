"""Whose exception it is: TVM's, or that of code which uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest

from tzerlike.systems.tvm_api import parse_script, raised_by_tvm, structural_map, tirx, tvm, tvm_ffi

ONE = tirx.const(1, "int32")
LOOP = parse_script("""
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = i + 1
""").body


def nothing(node: Any) -> Any:
    return [][3]


def error_of(step: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:
        step()
    return caught.value


@pytest.mark.parametrize(
    "step",
    [
        lambda: tirx.Add(1, "x"),
        lambda: tirx.Var(3, "x"),
        lambda: tirx.PrimFunc([1], None),
        lambda: tirx.const(1, "int33x"),
        lambda: ONE // 0,
        lambda: tvm_ffi.get_global_func("no.such.function"),
        lambda: tvm.ir.load_json("{"),
        lambda: structural_map(LOOP, [(tirx.For, lambda node: tirx.Add(1, "x"))]),
        lambda: parse_script("""
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for i in T.thread_binding(1, thread="blockIdx.x", unroll=1):
        A[i] = i
"""),
    ],
)
def test_what_tvm_raises_is_its_own(step: Callable[[], object]) -> None:
    assert raised_by_tvm(error_of(step))


@pytest.mark.parametrize(
    "step",
    [
        lambda: len(3),  # type: ignore[arg-type]
        lambda: Random(0).choice([]),
        lambda: json.loads("{"),
        lambda: numpy.zeros(3) + numpy.zeros(4),
        lambda: structural_map(LOOP, [(tirx.For, nothing)]),
        lambda: structural_map(LOOP, [(tirx.For, lambda node: Random(0).choice([]))]),
    ],
)
def test_what_others_raise_is_theirs(step: Callable[[], object]) -> None:
    assert not raised_by_tvm(error_of(step))


def test_a_plug_in_is_not_tvm_wherever_it_lies(tmp_path: Path) -> None:
    source = tmp_path / "plugin.py"
    source.write_text("def broken():\n    return len(3)\n")
    space: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    assert not raised_by_tvm(error_of(space["broken"]))
