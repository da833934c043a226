"""Schedules with planted faults, and programs whose own promises are broken: what is claimed of each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.execution.compare.results import interpret_seeded, meaning_digest
from tzerlike.oracles.examiner import Made
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.metamorphic import HELD, PADDING, judge_metamorphic
from tzerlike.oracles.schedules import examiner
from tzerlike.oracles.schedules.documented import REQUIREMENTS
from tzerlike.oracles.schedules.judge import (
    SAME,
    STEPS,
    SUSPECT,
    Base,
    base_of,
    calls_in,
    claim_of,
    due_to_schedule,
    first_wrong,
)
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import dump_ir, entry_of, load_ir, module_of, parse_script, s_tir, tvm
from tzerlike.tir import interpreter
from tzerlike.tir.honest import honest
from tzerlike.tir.tree import Tree

HEAD = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "{dtype}"), B: T.Buffer((6,), "{dtype}")):
"""

SUM = (
    HEAD
    + """
    for i, k in T.grid(6, 8):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.{dtype}(0)
            B[vi] = B[vi] + A[vi, vk]
"""
)


def base(text: str, dtype: str = "int32", seed: int = 0) -> Base:
    made = base_of(dump_ir(module_of(parse_script(text.format(dtype=dtype)))), seed, Effort(steps=STEPS))
    assert isinstance(made, Base), made
    return made


def child(text: str, dtype: str = "int32") -> Any:
    """The program as a campaign has it: loaded, with parameters of its own."""
    return entry_of(load_ir(dump_ir(module_of(parse_script(text.format(dtype=dtype))))))


AXES = 'vi, vk = T.axis.remap("SR", [i, k])'
AGAIN = "vi = T.axis.spatial(6, i)\n            vk = T.axis.reduce((k // 4 * 4, k // 4 * 4 + 4), k)"
UNGUARDED = "vi, vk = T.axis.spatial(6, i), T.axis.reduce(8, k)"

PLANTED = {
    "the last column is left out": (SUM.replace("T.grid(6, 8)", "T.grid(6, 7)"), "other values"),
    "the start is done again": (SUM.replace(AXES, AGAIN), "other values"),
    "the guard is dropped": (SUM.replace("T.grid(6, 8)", "T.grid(6, 9)").replace(AXES, UNGUARDED), "block-domain"),
    "a row too many": (
        HEAD
        + """
    for i, k in T.grid(7, 8):
        if k == 0:
            B[i] = T.{dtype}(0)
        B[i] = B[i] + A[i, k]
""",
        "out-of-bounds",
    ),
    "the cache is copied before it is filled": (
        HEAD
        + """
    C = T.alloc_buffer((6,), "{dtype}")
    for i in range(6):
        B[i] = C[i]
    for i, k in T.grid(6, 8):
        if k == 0:
            C[i] = T.{dtype}(0)
        C[i] = C[i] + A[i, k]
""",
        "uninitialised",
    ),
}


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_suspect(fault: str, dtype: str) -> None:
    text, what = PLANTED[fault]
    claim = claim_of(base(SUM, dtype), child(text, dtype))
    assert (claim.word, claim.what) == (SUSPECT, what), claim


def digest(text: str, dtype: str = "float32", seed: int = 0) -> str:
    """What a case of a program has that tells what it computes; "" where it is not defined."""
    inputs, judgement, results = interpret_seeded(child(text, dtype), seed, Effort())
    return meaning_digest(inputs, judgement.expected) if inputs and judgement and results.defined else ""


REORDERED = SUM.replace("i, k in T.grid(6, 8)", "k, i in T.grid(8, 6)")


def test_programs_that_are_alike_are_the_same_to_whoever_interprets_both() -> None:
    for text in (SUM, REORDERED, SUM.replace("A", "C").replace("vi", "vj")):
        assert digest(text, "int32") == digest(SUM, "int32") != ""
        assert claim_of(base(SUM), child(text)).word == SAME
    for other in (
        digest(SUM, seed=1),
        digest(SUM, "int32"),
        digest(SUM.replace("6", "5")),
        digest(SUM.replace("A[vi, vk]", "A[vi, 0]")),
    ):
        assert other != digest(SUM)


@pytest.mark.parametrize("fault", PLANTED)
def test_no_planted_fault_is_alike(fault: str) -> None:
    assert digest(PLANTED[fault][0]) != digest(SUM)


def test_nobody_is_asked_about_a_schedule_whose_program_is_known_to_compute_the_same() -> None:
    case, mutation = (
        Case(dump_ir(module_of(parse_script(SUM.format(dtype="int32"))))),
        Mutation(1, 0, 2, 0, "schedule-loops", "p"),
    )
    made = Made(case, False, case, mutation, lambda purpose: pytest.fail("nothing is drawn"), alike=True)
    assert examiner.wants(made)
    assert examiner.look(lambda item: pytest.fail("nobody is asked"), made).word == SAME
    asked: list[object] = []
    examiner.look(lambda item: (asked.append(item) or [], None), replace(made, alike=False))
    assert asked


def test_what_is_overwritten_before_it_counts_may_be_read_unwritten() -> None:
    overwritten, what = PLANTED["the cache is copied before it is filled"]
    assert what == "uninitialised"
    claim = claim_of(base(SUM), child(overwritten.replace("C[i] = ", "B[i] = ").replace("= C[i] +", "= B[i] +")))
    assert claim.word == SAME, claim


EVEN = HEAD + "    for i in range(3):\n        B[2 * i] = A[i, 0]\n"
EVEN_BY_CACHE = (
    HEAD
    + """
    C = T.alloc_buffer((6,), "{dtype}")
    for i in range(3):
        C[2 * i] = A[i, 0]
    for i in range(6):
        B[i] = C[i]
"""
)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
def test_garbage_in_what_the_program_never_writes_is_a_claim_of_its_own(dtype: str) -> None:
    claim = claim_of(base(EVEN, dtype), child(EVEN_BY_CACHE, dtype))
    assert (claim.word, claim.what) == (SUSPECT, PADDING), claim
    whole = child(EVEN_BY_CACHE.replace("C[2 * i]", "C[i]"), dtype)
    assert claim_of(base(EVEN, dtype), whole).what == "uninitialised", "element 4 is written"


SUM_OF_PARTS = (
    HEAD
    + """
    for i in range(6):
        B[i] = ((A[i, 0] + A[i, 4]) + (A[i, 2] + A[i, 6])) + ((A[i, 1] + A[i, 5]) + (A[i, 3] + A[i, 7]))
"""
)


def test_another_order_of_a_sum_is_the_same_within_both_bounds() -> None:
    inexact = next(b for b in (base(SUM, "float16", seed) for seed in range(40)) if b.judgement.expected[1].bound.any())
    assert claim_of(inexact, child(SUM_OF_PARTS, "float16")).word == SAME
    wrong = SUM_OF_PARTS.replace("A[i, 7]", "A[i, 6]")
    assert claim_of(inexact, child(wrong, "float16")).word == SUSPECT


def test_an_overflow_that_another_order_brings_is_not_claimed() -> None:
    less, more = "        B[i] = B[i] - T.{dtype}(90)\n", "        B[i] = B[i] + T.{dtype}(100)\n"
    start = HEAD + "    for i in range(6):\n        B[i] = T.{dtype}(100)\n"
    assert claim_of(base(start + less + more, "int8"), child(start + more + less, "int8")).word == "undefined after"


def test_a_race_and_another_signature_are_not_claimed() -> None:
    race = SUM.replace("for i, k in T.grid(6, 8):", "for i in range(6):\n     for k in T.parallel(8):")
    assert claim_of(base(SUM), child(race)).word == "undefined after"
    other = SUM.replace('B: T.Buffer((6,), "{dtype}")', 'B: T.Buffer((2, 3), "{dtype}")').replace(
        "B[vi]", "B[vi // 3, vi % 3]"
    )
    assert claim_of(base(SUM), child(other)).word == "other parameters"


def test_an_undefined_original_says_nothing() -> None:
    text = dump_ir(
        module_of(parse_script(SUM.replace("B[vi] + A[vi, vk]", "B[vi] + A[vi, vk + 8]").format(dtype="int32")))
    )
    assert base_of(text, 0, Effort(steps=STEPS)) == "undefined before"


Steps = Callable[[Any], None]


def scheduled(original: Base, steps: Steps) -> Any:
    schedule = s_tir.Schedule(tvm.IRModule({"main": original.func()}), debug_mask=0)
    steps(schedule)
    return schedule


def keep(sch: Any) -> None:
    block = sch.get_sblock("sum")
    i, k = sch.get_loops(block)
    outer, inner = sch.split(k, [None, 3])
    sch.reorder(inner, outer)
    factored = sch.rfactor(outer, 0)
    sch.cache_read(factored, 0, "local")
    sch.add_unit_loop(i)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32"])
def test_primitives_that_keep_the_meaning_are_no_finding(dtype: str) -> None:
    for seed in range(6):
        original = base(SUM, dtype, seed)
        assert first_wrong(original, scheduled(original, keep)) is None


def partition(sch: Any) -> None:
    i, k = sch.get_loops(sch.get_sblock("sum"))
    sch.parallel(i)
    sch.loop_partition(k, [4, None])
    sch.add_unit_loop(sch.get_loops(sch.get_sblock("sum_k1"))[-1])


def test_the_first_wrong_primitive_is_named() -> None:
    """TVM 0.27: loop_partition of a reduction starts it anew in each part."""
    original = base(SUM)
    suspect = first_wrong(original, scheduled(original, partition))
    assert suspect is not None
    assert (suspect.primitive, suspect.claim.what) == ("LoopPartition", "other values")
    assert str(suspect.trace.insts[-1].kind.name) == "LoopPartition"


COPY = (
    HEAD.replace("(6,)", "(6, 8)")
    + """
    for i, k in T.grid(6, 8):
        with T.sblock("copy"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk]
"""
)


def test_a_primitive_after_which_regions_lie_is_a_finding_whatever_the_build_does() -> None:
    """TVM 0.27: loop_partition makes blocks that access buffers and declare none of it."""

    def steps(sch: Any) -> None:
        sch.parallel(sch.get_loops("copy")[0])
        sch.loop_partition(sch.get_loops("copy")[1], [4, None])

    original = base(COPY)
    suspect = first_wrong(original, scheduled(original, steps))
    assert suspect is not None
    assert (suspect.primitive, suspect.claim.what) == ("LoopPartition", "block-region")
    right = Results("defined", optimised=Ran(Ending.AGREES))
    message = f"{suspect.claim.what}: {suspect.claim.detail}"
    finding = judge_metamorphic(Case("{}"), Observation(Exit.OK, Stage.MUTATE, message, "LoopPartition", results=right))
    assert finding is not None
    assert finding.parts == ("schedule", "LoopPartition", "block-region")


STARTED = (
    HEAD
    + """
    for i in range(6):
        with T.sblock("start"):
            vi = T.axis.spatial(6, i)
            B[vi] = T.{dtype}(0)
"""
)
TWO_WRITERS = (
    STARTED
    + """
        for k in range(8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                B[vi] = B[vi] + A[vi, vk]
"""
)
ONE_BY_ONE = (
    STARTED
    + """
    for i, k in T.grid(6, 8):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]
"""
)
COUNTS = SUM.replace("A[vi, vk]", "A[vi, 0]")
PRODUCT = SUM.replace("T.{dtype}(0)", "T.{dtype}(1)").replace("B[vi] + A", "B[vi] * A")
FROM_MEMORY = SUM.replace("T.{dtype}(0)", "A[vi, 7]")

UNDOCUMENTED: dict[str, tuple[str, Steps]] = {
    "reindex of a buffer that two blocks write": (
        TWO_WRITERS,
        lambda sch: sch.reindex("start", ("write", 0)),
    ),
    "reindex of what a block adds to and another starts": (
        ONE_BY_ONE,
        lambda sch: sch.reindex("sum", ("read", 0)),
    ),
    "reindex of a buffer that a block reads twice": (
        FROM_MEMORY,
        lambda sch: sch.reindex("sum", ("read", 0)),
    ),
    "padding of what is no sum": (PRODUCT, lambda sch: sch.pad_einsum("sum", [1, 3])),
    "padding of an axis that no buffer has": (COUNTS, lambda sch: sch.pad_einsum("sum", [1, 3])),
}


@pytest.mark.parametrize("use", UNDOCUMENTED)
def test_a_primitive_on_what_its_documentation_excludes_is_nobodys_finding(use: str) -> None:
    text, steps = UNDOCUMENTED[use]

    def behind_another(sch: Any) -> None:
        sch.add_unit_loop(sch.get_loops("sum")[0])
        steps(sch)

    claims = set()
    for seed in range(4):
        original = base(text, seed=seed)
        schedule = scheduled(original, behind_another)
        claims.add(claim_of(original, schedule.mod["main"]).what)
        assert first_wrong(original, schedule) is None
    assert claims & {"uninitialised", "other values"}, "it changes what is computed"


QUOTIENTS = (
    HEAD
    + """
    C = T.sblock_alloc_buffer((6,), "{dtype}")
    for i in range(1):
        for k in range(6):
            with T.sblock("divisor"):
                vi = T.axis.spatial(6, k)
                C[vi] = T.{dtype}(1)
        for k in range(6):
            with T.sblock("sum"):
                vi = T.axis.spatial(6, k)
                B[vi] = T.truncdiv(A[vi, 0], C[vi])
"""
)


def test_what_is_undefined_whatever_memory_holds_is_no_matter_of_memory() -> None:
    """TVM 0.27: pad_einsum copies C before anything is in it, and the quotients of the padding divide by its zeros."""
    original = base(QUOTIENTS)
    schedule = scheduled(original, lambda sch: sch.pad_einsum("sum", [4]))
    seen = interpreter.prepare(schedule.mod["main"], regions=False).run(original.inputs.arguments, 4 * STEPS)
    assert seen.rule == "uninitialised"
    assert claim_of(original, schedule.mod["main"]).word == "undefined after"
    assert first_wrong(original, schedule) is None


STAGES = (
    HEAD.replace("(6,)", "(6, 8)")
    + """
    for i, k in T.grid(6, 8):
        with T.sblock("first"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk]
    for i, k in T.grid(6, 8):
        with T.sblock("second"):
            vi, vk = T.axis.remap("SS", [i, k])
            {written}[vi, vk] = T.{{dtype}}(1)
"""
)


@pytest.mark.parametrize(("written", "fits"), [("A", False), ("B", True)])
@pytest.mark.parametrize("primitive", ["CacheRead", "CacheWrite"])
def test_a_cache_wants_stages_that_write_nothing_that_was_read(primitive: str, written: str, fits: bool) -> None:
    tree = Tree(child(STAGES.format(written=written, dtype="{dtype}")))
    target = tree.of_type(s_tir.SBlock)[1]
    assert REQUIREMENTS[primitive].holds(tree, target, [0, "local"]) is fits


@pytest.mark.parametrize("primitive", REQUIREMENTS)
def test_requirements_are_in_the_words_of_the_documentation(primitive: str) -> None:
    root = Path(tvm.__file__).parent
    requirement = REQUIREMENTS[primitive]
    text = (root / requirement.source.removeprefix("python/tvm/")).read_text(encoding="utf-8")
    assert requirement.words in text


def transpose(sch: Any) -> None:
    sch.transform_layout(sch.get_sblock("sum"), ("read", 0), lambda i, j: (j, i))


def test_a_parameter_with_another_layout_is_the_callers_affair() -> None:
    square = base(SUM.replace("(6, 8)", "(8, 8)").replace("(6,)", "(8,)"))
    assert first_wrong(square, scheduled(square, transpose)) is None


UPDATE = "            B[vi] = B[vi] + A"

DISHONEST = {
    "iterations that depend on each other": SUM.replace("A[vi, vk]", "T.if_then_else(vi > 0, B[vi - 1], A[vi, vk])"),
    "more is declared than is written": SUM.replace("with T.init():", "T.writes(B[0:6])\n            with T.init():"),
    "an order that matters": SUM.replace("B[vi] + A[vi, vk]", "A[vi, vk] - B[vi]"),
    "points that are left out": SUM.replace(AXES, AXES + "\n            T.where(i * 8 + k < 40)"),
    "a block that is never executed": SUM.replace(AXES, AXES + "\n            T.where(i * 8 + k < 0)"),
    "points that are visited twice": SUM.replace("i, k in T.grid(6, 8)", "r, i, k in T.grid(2, 6, 8)"),
    "work outside of blocks": SUM + "    B[0] = B[1]\n",
    "a store under a condition": SUM.replace(UPDATE, "            if vk > 2:\n    " + UPDATE),
    "a sum of what it sums up": SUM.replace("A[vi, vk]", "B[vi] * A[vi, vk]"),
}


@pytest.mark.parametrize("how", DISHONEST)
def test_a_program_that_breaks_its_promises_is_not_honest(how: str) -> None:
    func = parse_script(DISHONEST[how].format(dtype="int32"))
    made = base_of(dump_ir(module_of(parse_script(SUM.format(dtype="int32")))), 0, Effort())
    assert isinstance(made, Base)
    assert honest(made.func(), made.inputs.arguments, STEPS)
    assert not honest(func, made.inputs.arguments, STEPS)


def test_only_a_wrong_build_is_a_finding() -> None:
    difference = Difference(1, "B", "int32", (2,), "3", "0.0", "4", 1, 6, "value")
    wrong = Results("defined", optimised=Ran(Ending.DIFFERS, difference=difference), guilty="LoopPartition")
    case = Case("{}")
    seen = Observation(Exit.OK, Stage.MUTATE, "other values: B[2] is 4", "LoopPartition", results=wrong)
    finding = judge_metamorphic(case, seen)
    assert finding is not None
    assert (finding.kind, finding.parts) == (
        "wrong-code",
        ("schedule", "LoopPartition", "other values", "int", "value"),
    )
    assert judge_inconsistency(case, seen) is None, "one bug, one finding"
    chance = judge_metamorphic(case, replace(seen, message="uninitialised: B[2] = C[2]"))
    assert chance is not None
    assert chance.parts == ("schedule", "LoopPartition", "uninitialised")
    right = Results("defined", optimised=Ran(Ending.AGREES))
    assert judge_metamorphic(case, Observation(Exit.OK, Stage.MUTATE, results=right)) is None
    assert judge_metamorphic(case, Observation(Exit.OK, Stage.DONE, results=wrong)) is None


STAGED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in T.serial(4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        with T.sblock("both"):
            with T.sblock("first"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + 1
            with T.sblock("second"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi] * 2
"""


def test_stages_of_a_pipeline_inside_of_a_block_may_be_honest() -> None:
    made = base_of(dump_ir(module_of(parse_script(STAGED))), 0, Effort())
    assert isinstance(made, Base)
    assert honest(made.func(), made.inputs.arguments, STEPS)


POINT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    with T.sblock("point"):
        T.reads(A[1])
        T.writes({0})
        B[2] = A[1]
"""


def test_a_block_without_axes_that_stores_what_it_declares_is_honest() -> None:
    made = base_of(dump_ir(module_of(parse_script(POINT.format("B[2]")))), 0, Effort())
    assert isinstance(made, Base)
    assert honest(made.func(), made.inputs.arguments, STEPS)
    assert not honest(parse_script(POINT.format("B[1:3]")), made.inputs.arguments, STEPS)


def test_what_a_build_without_optimisations_does_right_is_not_due_to_the_schedule() -> None:
    difference = Difference(1, "B", "int32", (2,), "3", "0.0", "4", 1, 6, "value")
    wrong, right = Ran(Ending.DIFFERS, difference=difference), Ran(Ending.AGREES)
    assert due_to_schedule(Results("defined", baseline=right, optimised=wrong)).blame == ""
    for plain in (wrong, Ran(), Ran(Ending.REFUSED)):
        assert due_to_schedule(Results("defined", baseline=plain, optimised=wrong)).blamed == wrong
    died = due_to_schedule(Results("defined", baseline=Ran(Ending.DIED)))
    assert (died.blame, died.blamed.ending) == ("optimised", Ending.DIED)


def test_a_schedule_is_offered_with_fewer_instructions_and_the_one_that_goes_wrong() -> None:
    original = base(SUM)

    suspect = first_wrong(original, scheduled(original, partition))
    assert suspect is not None
    held = {HELD: {"trace": str(tvm.ir.save_json(suspect.trace.as_json())), "calls": []}}
    traces = [smaller[HELD]["trace"] for smaller in examiner.smaller(held)]
    fewer = [trace for trace in traces if len(tvm.ir.load_json(trace)[0]) < len(suspect.trace.insts)]
    schedules = [_applied_to(original, trace) for trace in fewer]
    assert None not in schedules
    found = [first_wrong(original, made) for made in schedules if made is not None]
    claims = [(less.primitive, len(less.trace.insts)) for less in found if less is not None]
    assert claims and min(claims)[1] < len(suspect.trace.insts)
    assert {primitive for primitive, _ in claims} == {suspect.primitive}
    assert list(examiner.smaller({HELD: {"trace": '{"nodes":[{"data":[0]}],"root_index":9}', "calls": []}})) == []


def _applied_to(original: Base, trace: str) -> Any | None:
    """The schedule of a trace, None where it does not fit."""
    schedule = s_tir.Schedule(module_of(original.func()), debug_mask=0, error_render_level="none")
    with contextlib.suppress(CompilerRefused):
        ask_compiler(lambda: s_tir.schedule.Trace.apply_json_to_schedule(tvm.ir.load_json(trace), schedule))
        return schedule
    return None


def test_a_trace_that_tvm_cannot_write_is_reported_by_the_names_of_its_calls() -> None:
    schedule = scheduled(base(SUM), lambda sch: sch.parallel(sch.get_loops(sch.get_sblock("sum"))[0]))

    class Unwritten:
        insts = schedule.trace.insts

        def as_python(self) -> list[str]:
            raise TypeError("Mismatched type on argument #2")

        def as_json(self) -> Any:
            raise ValueError("no")

    assert any("sch.parallel(" in call for call in calls_in(schedule.trace))
    assert calls_in(Unwritten()) == ["GetSBlock", "GetLoops", "Parallel"]


PADDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.sblock("pad"):
            v = T.axis.spatial(6, i)
            B[v] = T.if_then_else(1 <= v and v < 5, A[v - 1], T.float32(0.0))
"""


def test_the_last_call_is_written_by_its_json_where_tvm_has_no_text_for_it() -> None:
    schedule = s_tir.Schedule(module_of(parse_script(PADDED)), debug_mask=0)
    block = schedule.get_sblock("pad")
    schedule.decompose_padding(block, schedule.get_loops(block)[0])
    with pytest.raises(TypeError):
        schedule.trace.as_python()
    assert calls_in(schedule.trace) == [
        'b0 = sch.get_sblock(name="pad", func_name="main")',
        "l1, = sch.get_loops(block=b0)",
        "b2 = sch.decompose_padding(b0, l1)",
    ]
    schedule.annotate(schedule.get_sblock("pad"), "x", 1)
    assert calls_in(schedule.trace)[2:] == ["DecomposePadding", "GetSBlock", "Annotate"], "the last one has text"
