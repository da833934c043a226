"""What a call on a schedule looks like in a script."""

from __future__ import annotations

from tzerlike.oracles.schedule_trace import Tape, without_refused
from tzerlike.systems.tvm_api import structural_equal, tirx, tvm


def test_what_has_no_name_is_written_as_its_json() -> None:
    mapping = tirx.IndexMap.from_func(lambda i, j: [j, i])
    tape = Tape(lambda line: None)
    assert structural_equal(eval(tape.text(mapping), {"tvm": tvm}), mapping)
    tape.name(mapping, "v1")
    assert tape.text([mapping, 3]) == "[v1, 3]"


def test_a_refused_call_is_left_out() -> None:
    lines = ["v1 = sch.a()", "v2 = sch.b(tvm.ir.load_json('x'))", "# the call above was refused: v2", "v3 = sch.c(v1)"]
    assert without_refused(lines) == ["v1 = sch.a()", "v3 = sch.c(v1)"]
