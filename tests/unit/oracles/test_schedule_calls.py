"""The calls of a bundle made again: what `schedule_trace` writes, and nothing else."""

from __future__ import annotations

import contextlib

import pytest

from tests.puzzles.conftest import BLOCKS
from tzerlike.core.errors import UserError
from tzerlike.oracles.schedule_calls import fewer_calls, make_calls, read_calls
from tzerlike.oracles.schedule_trace import record_schedule_calls
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import s_tir, tirx

CALLS = [
    "v1 = sch.get_sblock('b')",
    "v2 = sch.get_loops(v1)",
    "v3 = sch.split(v2[0], [4, None])",
    "v4 = sch.reorder(v3[1], v3[0])",
    "v5 = sch.annotate(v1, 'key', [1, -2])",
    "v6 = sch.add_unit_loop(block_or_loop=v1)",
]

PLANE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 2), "int32")):
    for i, j in T.grid(4, 2):
        with T.sblock("b"):
            x, y = T.axis.remap("SS", [i, j])
            A[x, y] = x
"""


def schedule() -> s_tir.Schedule:
    return s_tir.Schedule(tvm_api.module_of(tvm_api.parse_script(BLOCKS)), debug_mask=0)


def test_calls_do_what_python_would() -> None:
    ours, theirs = schedule(), schedule()
    make_calls(ours, read_calls(CALLS))
    exec("\n".join(CALLS), {"sch": theirs})
    tvm_api.tvm.ir.assert_structural_equal(ours.mod, theirs.mod)


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "v1 = os.system('true')",
        "v1 = sch.mod.get('b')",
        "v1 = sch.__init__(3)",
        "v1 = sch.show()",
        "v1 = sch.get_sblock(open('x'))",
        "v1 = sch.get_sblock(*['b'])",
        "v1 = sch.get_sblock('b'); v2 = 1",
        "v1 = sch.get_loops(v9)",
        "v1 = sch.get_loops('b'[0].x)",
        'v1 = sch.get(tvm.ir.load_json(\'{"nodes":[{"type":"ffi.Module"}]}\'))',
        "v1 = sch.get_sblock(lambda *i: exit(1))",
        "raise RuntimeError('no text for a function')",
        "v1 = (" * 200,
        "",
    ],
)
def test_what_is_no_such_call_is_refused(line: str) -> None:
    with pytest.raises(UserError, match=r"environment\.calls"):
        make_calls(schedule(), read_calls([line]))


def test_the_last_call_is_always_made() -> None:
    offered = list(fewer_calls(CALLS))
    assert offered[0] == [CALLS[0], CALLS[-1]]
    assert all(lines[-1] == CALLS[-1] and len(lines) < len(CALLS) for lines in offered)
    assert {len(lines) for lines in offered} == {2, 3, 5}
    assert list(fewer_calls([])) == list(fewer_calls(CALLS[-1:])) == []


def test_whoever_is_offered_can_be_called() -> None:
    """Who takes the result of what is left out is left out too, or is given what that was given: a loop twice, say."""
    for lines in fewer_calls(CALLS):
        with contextlib.suppress(s_tir.ScheduleError):
            make_calls(schedule(), read_calls(lines))


def test_who_only_looks_on_nobodys_behalf_goes_first() -> None:
    idle = ["v1 = sch.get_sblock('b')", "v2 = sch.get(v1)", "v3 = sch.get_loops(v1)", "v4 = sch.annotate(v1, 'k', 1)"]
    last = "v9 = sch.get_producers(v1)"
    assert next(fewer_calls([*idle, last])) == [idle[0], idle[3], last]


def test_what_a_call_is_given_takes_the_place_of_what_it_gives() -> None:
    looks = ["v1 = sch.get_sblock('b')", "v2 = sch.get_loops(v1)"]
    split, last = "v3 = sch.split(v2[0], factors=[None, 1])", "v4 = sch.rfactor(v3[1], 0)"
    assert [*looks, "v4 = sch.rfactor(v2[0], 0)"] in list(fewer_calls([*looks, split, last]))


def test_an_earlier_look_takes_the_place_of_a_later_one() -> None:
    lines = ["v1 = sch.get_sblock('b')", "v2 = sch.annotate(v1, 'v3', 1)", "v3 = sch.get_sblock('b')"]
    last = "v4 = sch.annotate(v3, 'v3', [2])"
    assert [*lines[:2], "v4 = sch.annotate(v1, 'v3', [2])"] in list(fewer_calls([*lines, last]))


def test_a_map_that_turns_indices_around_or_does_nothing_takes_the_place_of_another() -> None:
    given = tirx.IndexMap.from_func(lambda i, j: [i // 7, i % 7, j])
    line = f"v1 = sch.transform_layout('b', ('write', 0), tvm.ir.load_json({tvm_api.tvm.ir.save_json(given)!r}))"
    offered = list(fewer_calls([line]))
    texts = ("lambda *i: i[::-1]", "lambda *i: i")
    assert offered == [[f"v1 = sch.transform_layout('b', ('write', 0), {text})"] for text in texts]
    assert list(fewer_calls(offered[0])) == offered[1:]
    assert list(fewer_calls(offered[1])) == []
    for lines in offered:
        ours, theirs = (tvm_api.scheduling(tvm_api.module_of(tvm_api.parse_script(PLANE))) for _ in range(2))
        make_calls(ours, read_calls(lines))
        exec("\n".join(lines), {"sch": theirs})
        tvm_api.tvm.ir.assert_structural_equal(ours.mod, theirs.mod)
        assert ("T.Buffer((2, 4)" in ours.mod.script()) == ("[::-1]" in lines[0])


def test_a_map_of_any_number_of_indices_is_recorded_as_it_was_given() -> None:
    line = "v1 = sch.transform_layout('b', ('write', 0), lambda *i: i[::-1])"

    def recorded() -> str:
        written: list[str] = []
        record_schedule_calls(written.append)
        make_calls(tvm_api.scheduling(tvm_api.module_of(tvm_api.parse_script(PLANE))), read_calls([line]))
        return "\n".join(written)

    text, died = in_child(recorded)
    assert (text or "").replace(", )", ")") == line and not died


def test_a_call_is_offered_without_what_it_gives_by_keyword() -> None:
    calls = ["v1 = sch.get_sblock('add')", "v2 = sch.compute_at(v1, v1, preserve_unit_loops=True, index=0)"]
    assert list(fewer_calls(calls)) == [
        [calls[0], "v2 = sch.compute_at(v1, v1, index=0)"],
        [calls[0], "v2 = sch.compute_at(v1, v1, preserve_unit_loops=True)"],
    ]
