"""Programs through their own text: what survives, and how what does not is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tzerlike.systems.tvm_api import first_mismatch, module_of, parse_script, tirx, well_formed
from tzerlike.testing import sample_functions
from tzerlike.tir.roundtrip import PARSER, UNEQUAL, path_text, round_trip

SCRIPTS = Path(__file__).parents[2] / "scripts"


def storing(value: object) -> object:
    """A function that stores `value` in an int32 buffer under a loop over `i`."""
    out = tirx.decl_buffer((8,), "int32", "B", layout=None)
    index = tirx.Var("i", "int32")
    func = tirx.PrimFunc([out], tirx.For(index, 0, 8, tirx.ForKind.SERIAL, tirx.BufferStore(out, value, [index])))
    assert well_formed(module_of(func))
    return module_of(func)


def test_the_samples_survive() -> None:
    for func in sample_functions():
        assert round_trip(module_of(func)) is None


def test_an_expression_that_the_parser_simplifies_is_named_by_its_type() -> None:
    one, two = tirx.IntImm("int32", 1), tirx.IntImm("int32", 2)
    fault = round_trip(storing(tirx.Max(one, two)))
    assert fault is not None
    assert (fault.stage, fault.cause) == (UNEQUAL, "Max is rewritten")
    assert "value" in fault.detail


def test_a_parser_that_raises_is_named_by_its_message_without_numbers() -> None:
    faults = []
    for number in (3, 4):
        var, size = tirx.Var(f"v{number}", "int32"), tirx.Var("n", "int32")
        extent = tirx.Let(var, tirx.IntImm("int32", number), tirx.Add(var, size))
        loop = tirx.For(tirx.Var("j", "int32"), 0, extent, tirx.ForKind.SERIAL, tirx.Evaluate(size))
        faults.append(round_trip(module_of(tirx.PrimFunc([size], loop))))
    assert [fault.stage for fault in faults if fault is not None] == [PARSER, PARSER]
    assert len({fault.cause for fault in faults if fault is not None}) == 1


def test_an_extent_that_comes_back_simplified_is_no_fault() -> None:
    def loops(extent: Any) -> Any:
        inner = tirx.For(tirx.Var("j", "int32"), 0, extent, tirx.ForKind.SERIAL, tirx.Evaluate(0))
        return module_of(tirx.PrimFunc([], tirx.For(i, 0, 2, tirx.ForKind.SERIAL, inner)))

    i = tirx.Var("i", "int32")
    assert round_trip(loops(tirx.FloorMod(tirx.Add(i, 3), tirx.IntImm("int32", 2)))) is None
    assert round_trip(loops(tirx.Add(i, tirx.Max(tirx.IntImm("int32", 1), tirx.IntImm("int32", 2))))) is None
    short = tirx.IntImm("int16", 2)
    loop = tirx.For(tirx.Var("i", "int16"), tirx.IntImm("int16", 0), short, tirx.ForKind.SERIAL, tirx.Evaluate(0))
    assert round_trip(module_of(tirx.PrimFunc([], loop))) is not None


def test_an_extent_that_tvm_cannot_simplify_comes_back_as_another() -> None:
    """Simplified, it has a constant that its dtype does not hold."""
    beyond = tirx.Cast("float32", tirx.Cast("float8_e5m2", tirx.FloatImm("float32", -3e38)))
    none = tirx.Min(tirx.FloatImm("float32", 0.0), tirx.FloatImm("float32", 0.0))
    extent = tirx.Cast("int32", tirx.Mul(beyond, none))
    loop = tirx.For(tirx.Var("j", "int32"), 0, extent, tirx.ForKind.SERIAL, tirx.Evaluate(0))
    fault = round_trip(module_of(tirx.PrimFunc([], loop)))
    assert fault is not None and fault.stage == UNEQUAL


def test_numbers_that_change_are_one_cause() -> None:
    causes = set()
    for number in (3, 4):
        body = tirx.Evaluate(tirx.IntImm("int32", 0))
        for value in (number, number + 5):
            body = tirx.AttrStmt(0, "pragma_auto_unroll_max_step", tirx.IntImm("int32", value), body)
        fault = round_trip(module_of(tirx.PrimFunc([], tirx.SeqStmt([body, tirx.Evaluate(1)]))))
        assert fault is not None
        causes.add(fault.cause)
    assert causes == {"value: <n> becomes <n>"}


def test_a_program_read_back_from_a_script_survives() -> None:
    script = "@T.prim_func\ndef main(B: T.Buffer((8,), 'int32')):\n    for i in range(8):\n        B[i] = T.max(i, 2)\n"
    assert round_trip(module_of(parse_script(script))) is None


@pytest.mark.long
def test_the_script_writes_a_repro_for_each_cause(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "print_parse_chains.py", tmp_path, "12", "10"],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert "of 12 programs come back" in done.stdout
    directories = sorted(tmp_path.iterdir())
    assert directories
    repro = subprocess.run([sys.executable, directories[0] / "repro.py"], capture_output=True, text=True, timeout=120)
    assert repro.returncode == 1


class _Unprintable:
    """An access path as tvm-ffi before 0.1.12 has it: it prints as its constructor."""

    def __init__(self, path: Any) -> None:
        self.to_steps = path.to_steps


def test_a_path_that_an_older_library_does_not_print_is_told_in_the_same_words() -> None:
    one, other = storing(tirx.IntImm("int32", 1)), storing(tirx.IntImm("int32", 2))
    path, _ = first_mismatch(one, other)
    assert path_text(path) == path_text(_Unprintable(path)) != ""
    assert path_text(path).startswith("<root>.functions[") and path_text(path).endswith(".body.body.value.value")
