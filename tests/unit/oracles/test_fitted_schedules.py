"""Schedules on programs that have fewer loops than those which they were recorded on, and their last steps alone."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tzerlike.core.case import Case
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.oracles.metamorphic import DIFF, HELD
from tzerlike.oracles.primitives import CALLS
from tzerlike.oracles.primitives import examiner as primitives
from tzerlike.oracles.schedule_calls import (
    counted_from_inside,
    make_calls,
    read_calls,
    with_smaller_numbers,
)
from tzerlike.oracles.schedules import examiner as schedules
from tzerlike.oracles.schedules.fitted import schedule_by
from tzerlike.oracles.schedules.judge import UNRUN
from tzerlike.oracles.schedules.trace import TraceStep, steps_in
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.systems.tvm_api import s_tir, scheduling, tvm

DEEP = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for x, i, y, k in T.grid(1, 4, 1, 8):
        with T.sblock("add"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] + 1
"""
FLAT = DEEP.replace("for x, i, y, k in T.grid(1, 4, 1, 8)", "for i, k in T.grid(4, 8)")
ONE_LOOP = DEEP.replace("for x, i, y, k in T.grid(1, 4, 1, 8)", "for k in range(8)").replace(
    'vi, vk = T.axis.remap("SS", [i, k])', "vi, vk = T.axis.spatial(4, 0), T.axis.spatial(8, k)"
)

AXES = 'vx, vi, vk = T.axis.remap("SSS", [x, i, k])'


def module(text: str) -> Any:
    return tvm_api.module_of(tvm_api.parse_script(text))


def trace_of(*steps: Any, text: str = DEEP) -> str:
    schedule = scheduling(module(text))
    block = schedule.get_sblock("add")
    for step in steps:
        step(schedule, block)
    return str(tvm.ir.save_json(schedule.trace.as_json()))


def fitted(trace: str, text: str) -> Any:
    return schedule_by(trace, lambda: tvm_api.entry_of(module(text))).mod


def by_hand(text: str, step: Any) -> Any:
    schedule = scheduling(module(text))
    step(schedule, schedule.get_sblock("add"))
    return schedule.mod


INNERMOST = lambda schedule, block: schedule.vectorize(schedule.get_loops(block)[-1])  # noqa: E731
SECOND = lambda schedule, block: schedule.parallel(schedule.get_loops(block)[1])  # noqa: E731
BOTH = lambda schedule, block: schedule.reorder(schedule.get_loops(block)[3], schedule.get_loops(block)[1])  # noqa: E731


@pytest.mark.parametrize(
    ("step", "then"),
    [
        (INNERMOST, INNERMOST),
        (SECOND, lambda schedule, block: schedule.parallel(schedule.get_loops(block)[0])),
        (BOTH, lambda schedule, block: schedule.reorder(*reversed(schedule.get_loops(block)))),
    ],
    ids=["the innermost", "the second", "both"],
)
def test_loops_that_no_step_takes_may_be_gone(step: Any, then: Any) -> None:
    trace = trace_of(step)
    tvm.ir.assert_structural_equal(fitted(trace, DEEP), by_hand(DEEP, step))
    tvm.ir.assert_structural_equal(fitted(trace, FLAT), by_hand(FLAT, then))


def test_a_step_whose_loop_is_gone_does_not_fit() -> None:
    with pytest.raises(CompilerRefused, match="outputs"):
        fitted(trace_of(BOTH), ONE_LOOP)


def test_what_a_step_refuses_is_refused_as_before() -> None:
    trace = trace_of(lambda schedule, block: schedule.vectorize(schedule.get_loops(block)[-1]))
    with pytest.raises(CompilerRefused) as refused:
        fitted(trace, DEEP.replace('"SS"', '"SR"').replace("A[vi, vk] + 1", "B[vi, vk] + A[vi, vk]"))
    assert isinstance(refused.value.cause, s_tir.ScheduleError)


def test_padding_of_axes_that_are_gone_goes() -> None:
    pads = lambda padding: lambda schedule, block: schedule.pad_einsum(block, padding)  # noqa: E731
    wide = DEEP.replace("Buffer((4", "Buffer((1, 4").replace('vi, vk = T.axis.remap("SS", [i, k])', AXES)
    wide = wide.replace("B[vi, vk] = A[vi, vk]", "B[vx, vi, vk] = A[vx, vi, vk]")
    trace = trace_of(pads([1, 3, 16]), text=wide)
    tvm.ir.assert_structural_equal(fitted(trace, DEEP), by_hand(DEEP, pads([3, 16])))
    one = FLAT.replace("Buffer((4, 8)", "Buffer((8,)").replace("[vi, vk]", "[vk]")
    one = one.replace('vi, vk = T.axis.remap("SS", [i, k])', "vk = T.axis.spatial(8, k)").replace("i, k", "_, k")
    tvm.ir.assert_structural_equal(fitted(trace, one), by_hand(one, pads([16])))
    with pytest.raises(CompilerRefused):
        fitted(trace, DEEP.replace("= A[vi, vk]", "= A[vi // 2, vk]"))


def offered(*steps: Any) -> list[list[TraceStep]]:
    """The schedules of DEEP that are offered in place of one."""
    held = {HELD: {"trace": trace_of(*steps), "calls": []}}
    texts = [one[HELD]["trace"] for one in schedules.smaller(held)]
    return [steps_in(tvm.ir.load_json(text)[0]) for text in texts]


def test_a_second_look_at_the_same_is_offered_by_what_the_first_found() -> None:
    def twice(schedule: Any, block: Any) -> None:
        schedule.parallel(schedule.get_loops(block)[1])
        schedule.vectorize(schedule.get_loops(schedule.get_sblock("add"))[3])

    found = [steps for steps in offered(twice) if [step.kind for step in steps].count("GetSBlock") == 1]
    kept = [steps for steps in found if [step.kind for step in steps].count("GetLoops") == 2]
    (block, first, _, second, last) = kept[0]
    assert second.inputs[0] == first.inputs[0] == block.outputs[0]
    assert last.inputs[0] == second.outputs[3]


def test_numbers_in_a_trace_are_offered_smaller() -> None:
    split = lambda schedule, block: schedule.split(schedule.get_loops(block)[3], [2, 4])  # noqa: E731
    factors = {tuple(map(int, steps[-1].inputs[1:])) for steps in offered(split)}
    assert factors == {(0, 4), (1, 4), (2, 0), (2, 1), (2, 2)}


class Records:
    """A channel that keeps what is laid down."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def add_result(self, record: dict[str, Any]) -> None:
        self.records.append(record)

    def enter_stage(self, stage: Stage) -> None: ...


def ask_of(examiner: Any) -> Any:
    def ask(item: Any) -> Any:
        channel: Any = Records()
        examiner.examine({"input_seed": 0, **item}, channel, 10.0)
        # A child would end with that; here it would be the end of all tests.
        signal.setitimer(signal.ITIMER_PROF, 0)
        return channel.records, None

    return ask


CASE = Case(tvm_api.dump_ir(module(DEEP)))


def test_the_last_step_of_a_trace_is_taken_alone() -> None:
    def split(schedule: Any, block: Any) -> None:
        outer, inner = schedule.split(schedule.get_loops(block)[3], [2, 4])
        schedule.fuse(schedule.get_loops(block)[0], schedule.get_loops(block)[1])
        schedule.reorder(inner, outer)

    trace = trace_of(split)
    found = schedules.last_alone(ask_of(schedules), CASE, {HELD: {"trace": trace}})
    assert found is not None
    case, held = found
    alone = schedule_by(held[HELD]["trace"], lambda: tvm_api.entry_of(tvm_api.load_ir(case.ir)))
    doing = [str(one.kind.name) for one in alone.trace.insts if not str(one.kind.name).startswith("Get")]
    assert doing == ["Reorder"]
    tvm.ir.assert_structural_equal(alone.mod, fitted(trace, DEEP))
    assert schedules.last_alone(ask_of(schedules), case, held) is None, "it is alone"


def test_the_last_of_some_calls_is_made_alone() -> None:
    calls = [
        "v1 = sch.get_sblock('add')",
        "v2 = sch.get_loops(v1)",
        "v3 = sch.split(v2[3], [2, 4])",
        "v4 = sch.reorder(v3[1], v3[0])",
    ]
    found = primitives.last_alone(ask_of(primitives), CASE, {CALLS: calls, "other": 1})
    assert found is not None
    case, held = found
    assert [line.partition("sch.")[2].partition("(")[0] for line in held[CALLS]] == [
        "get_sblock",
        "get_loops",
        "reorder",
    ]
    assert held["other"] == 1
    whole, alone = (s_tir.Schedule(made, debug_mask=0) for made in (module(DEEP), tvm_api.load_ir(case.ir)))
    make_calls(whole, read_calls(calls))
    make_calls(alone, read_calls(held[CALLS]))
    tvm.ir.assert_structural_equal(whole.mod, alone.mod)
    assert primitives.last_alone(ask_of(primitives), case, held) is None, "it is alone"


@pytest.mark.parametrize("calls", [["v1 = sch.get_sblock('add')", "v2 = sch.get_loops(v1)"], []])
def test_where_nothing_goes_before_there_is_nothing_to_take_alone(calls: list[str]) -> None:
    assert primitives.last_alone(ask_of(primitives), CASE, {CALLS: calls}) is None


def test_blocks_of_one_name_cannot_be_looked_up() -> None:
    twice = DEEP + DEEP.rpartition('int32")):\n')[2]
    calls = ["v1 = sch.get_sblock('root')", "v2 = sch.get_child_blocks(v1)", "v3 = sch.get_loops(v2[1])"]
    calls += ["v4 = sch.parallel(v3[1])", "v5 = sch.vectorize(v3[3])"]
    case = Case(tvm_api.dump_ir(module(twice)))
    assert primitives.last_alone(ask_of(primitives), case, {CALLS: calls}) is None


def test_a_loop_is_offered_by_its_place_from_inside() -> None:
    calls = ["v1 = sch.get_sblock('add')", "v2 = sch.get_loops(v1)", "v3 = sch.vectorize(v2[3])"]
    offered = [lines[-1] for lines in counted_from_inside(calls)]
    assert "v3 = sch.vectorize(v2[-1])" in offered
    schedule = scheduling(module(FLAT))
    make_calls(schedule, read_calls([*calls[:-1], "v3 = sch.vectorize(v2[-1])"]))
    tvm.ir.assert_structural_equal(schedule.mod, by_hand(FLAT, INNERMOST))


def test_numbers_are_offered_smaller_but_for_places() -> None:
    calls = ["v1 = sch.get_loops('add')", "v2 = sch.rfactor(v1[3], 2)", "v3 = sch.split(v1[0], [None, 4])"]
    offered = list(with_smaller_numbers(calls))
    assert {lines[1] for lines in offered} == {calls[1], "v2 = sch.rfactor(v1[3], 0)", "v2 = sch.rfactor(v1[3], 1)"}
    assert {lines[2] for lines in offered} == {calls[2], *(f"v3 = sch.split(v1[0], [None, {n}])" for n in (0, 1, 2))}


TOGETHER = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("zero"):
            vi = T.axis.spatial(4, i)
            B[vi] = 0
        with T.sblock("add"):
            vi = T.axis.spatial(4, i)
            B[vi] = B[vi] + A[vi]
"""


def test_where_what_is_compiled_kills_the_process_another_shows_what_changed() -> None:
    schedule = scheduling(module(TOGETHER))
    schedule.pad_einsum(schedule.get_sblock("zero"), [16])
    held = {HELD: {"trace": str(tvm.ir.save_json(schedule.trace.as_json()))}}
    died = Observation(Exit.CRASH, Stage.RUN, results=Results("defined", baseline=Ran(Ending.DIED)))
    asked = []

    def ask(item: Any) -> Any:
        asked.append(item)
        records, _ = ask_of(schedules)({**item, UNRUN: True})
        return (records, None) if UNRUN in item else (records[:1], died)

    look = schedules.look_again(ask, Case(tvm_api.dump_ir(module(TOGETHER))), held)
    (finding,) = look.findings
    assert finding.observation.message.startswith("block-domain: ") and len(asked) == 2
    assert "+        for i in range(16):" in look.held[HELD][DIFF]
