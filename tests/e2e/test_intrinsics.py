"""What the table of intrinsics says a target takes, its code generator takes: every dtype, one lane and four."""

from __future__ import annotations

from typing import Any

import pytest

from tzerlike.core.dtypes import DType
from tzerlike.mutators.intrinsics import INTRINSICS, Intrinsic
from tzerlike.processes.forked import each_in_child
from tzerlike.systems.tvm_api import module_of, tirx, tvm, well_formed
from tzerlike.systems.tvm_build import target_of
from tzerlike.tir import dtypes

TARGETS = {"llvm": '{"kind": "llvm", "opt-level": 0}', "cuda": '{"kind": "cuda", "arch": "sm_90"}'}

Trial = tuple[Intrinsic, DType]


def trials(target: str) -> list[Trial]:
    return [
        (entry, DType(scalar.base, scalar.bits, scalar.suffix, lanes))
        for entry in INTRINSICS
        if target in entry.targets
        for scalar in map(dtypes.parse, entry.dtypes)
        if scalar is not None
        for lanes in {"1": (1,), "n": (4,), "*": (1, 4)}[entry.lanes]
    ]


def kernel(target: str, entry: Intrinsic, dtype: DType) -> Any:
    """Store a call of `entry` on loaded operands, element by element: in a loop, or in threads."""
    index = tirx.Var("i", "int32")
    buffers: list[Any] = []

    def operand(text: str) -> Any:
        if text.startswith("$"):
            return tvm.ir.StringImm(text[1:])
        if text.startswith("#"):
            word = text[1:]
            return (
                tirx.IntImm("bool", word == "true") if word in ("true", "false") else dtypes.constant(dtype, int(word))
            )
        lanes = {"half": dtype.lanes // 2, "double": dtype.lanes * 2}.get(text, dtype.lanes)
        scalar = dtype.scalar if text in ("T", "half", "double") else text.removeprefix("=")
        if text == "bits":
            scalar = f"{'int' if dtype.is_float or dtype.base == 'uint' else 'uint'}{dtype.bits}"
        buffer = tirx.decl_buffer(
            (8,), dtypes.with_lanes(scalar, 1 if text.startswith("=") else lanes), "A", layout=None
        )
        buffers.append(buffer)
        return tirx.BufferLoad(buffer, [index])

    result = dtypes.with_lanes(entry.result if entry.result != "T" else dtype.scalar, dtype.lanes)
    operands = [operand(text) for text in entry.args]
    if entry.op == "tirx.call_llvm_pure_intrin":
        call = tirx.call_llvm_pure_intrin(result, str(operands[0].value), *operands[1:])
    else:
        call = tvm.ir.Call(entry.op, operands, ret_ty=result)
    out = tirx.decl_buffer((8,), result, "B", layout=None)
    store = tirx.BufferStore(out, call, [index])
    if target == "llvm":
        return tirx.PrimFunc([*buffers, out], tirx.For(index, 0, 8, tirx.ForKind.SERIAL, store))
    thread = tirx.IterVar(None, tirx.Var("t", "int32"), tirx.IterVar.ThreadIndex, "threadIdx.x")
    return tirx.PrimFunc([*buffers, out], tirx.For(index, 0, 8, tirx.ForKind.THREAD_BINDING, store, thread))


@pytest.mark.parametrize("target", TARGETS)
def test_every_listed_dtype_compiles(target: str) -> None:
    def compiles(trial: Trial) -> str:
        module = module_of(kernel(target, *trial))
        assert well_formed(module)
        try:
            tvm.compile(module, target_of(TARGETS[target]))
        except (tvm.error.InternalError, ValueError, TypeError, RuntimeError) as error:
            return str(error).strip().splitlines()[-1][:120]
        return ""

    tried = trials(target)
    answers = each_in_child(tried, compiles)
    refused = [
        f"{entry.op} of {dtype}: {text or number}"
        for (entry, dtype), (text, number) in zip(tried, answers, strict=True)
        if text or number
    ]
    assert len(tried) > 150
    assert refused == []
