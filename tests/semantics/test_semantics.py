"""The interpreter gives each program of the corpus the verdict, and the rule, that the contract demands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import pytest

from tests.semantics import floats, integers, limits, memory, order, promises
from tests.semantics.corpus import Program, Value
from tzerlike.tir.interpreter.verdict import RULES, Argument, Verdict

SECTIONS = (integers, floats, memory, order, promises, limits)
PROGRAMS = [program for section in SECTIONS for program in section.PROGRAMS]


def argument(parameter: Any, value: Value) -> Argument:
    """`value` as the interpreter takes it for `parameter`."""
    if not isinstance(value, Sequence):
        return value
    dtype = str(parameter.ty.dtype.dtype)
    kind = {"f": "float64", "b": "bool" if dtype == "bool" else "float64", "u": "uint64"}.get(dtype[0], "int64")
    return numpy.array(value, kind)


def label(program: Program) -> str:
    return f"{program.rule or 'defined'}: {program.name}"


@pytest.mark.parametrize("program", PROGRAMS, ids=label)
def test_verdict(program: Program) -> None:
    from tzerlike.systems.tvm_api import parse_script
    from tzerlike.tir.interpreter import interpret

    func = parse_script(program.text)
    arguments = [argument(*pair) for pair in zip(func.params, program.arguments, strict=True)]
    judged = interpret(func, arguments)
    assert (judged.verdict, judged.rule) == (program.verdict, program.rule), judged.where


def test_the_corpus_covers_every_rule() -> None:
    broken = {program.rule for program in PROGRAMS if program.rule}
    assert broken == set(RULES)
    undefined = [program for program in PROGRAMS if program.verdict is Verdict.UNDEFINED]
    assert len(undefined) >= 60
    assert len({label(program) for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.parametrize(("poison", "rule"), [(True, "intrinsic-domain"), (False, "")])
def test_trailing_zeros_of_none_are_as_their_flag_says(poison: bool, rule: str) -> None:
    from tzerlike.systems.tvm_api import parse_script
    from tzerlike.tir.interpreter import interpret

    func = parse_script(f"""
@T.prim_func
def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    for i in range(2):
        B[i] = T.call_llvm_pure_intrin("int32", "llvm.cttz", A[i], T.bool({poison}))
""")
    judged = interpret(func, [numpy.array([8, 0]), numpy.zeros(2, "int64")])
    assert judged.rule == rule
    assert rule or judged.expected[1].values.tolist() == [3, 32]


@pytest.mark.parametrize(
    ("dtype", "name", "rule"),
    [
        ("int32", "smax", ""),
        ("uint32", "smax", "unsupported"),
        ("uint32", "umin", ""),
        ("int32", "umin", "unsupported"),
    ],
)
def test_llvm_reads_signs_as_its_functions_say(dtype: str, name: str, rule: str) -> None:
    from tzerlike.systems.tvm_api import parse_script
    from tzerlike.tir.interpreter import interpret

    func = parse_script(f"""
@T.prim_func
def main(A: T.Buffer((2,), "{dtype}"), B: T.Buffer((1,), "{dtype}")):
    B[0] = T.call_llvm_pure_intrin("{dtype}", "llvm.{name}", A[0], A[1])
""")
    assert interpret(func, [numpy.array([8, 1]), numpy.zeros(1, "int64")]).rule == rule
