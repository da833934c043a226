"""What schedule primitives of TVM 0.27 do wrong, by the form of a program before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tzerlike.oracles.metamorphic import SLIPPED
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import s_tir
from tzerlike.tir.slips import SLIPS, UNSIGNED, slips_of

PAD = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.sblock("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = T.if_then_else(1 <= vi and vi < 5, A[vi - 1], T.float32(0))
"""

TURNED = PAD.replace("T.if_then_else(1 <= vi and vi < 5, A[vi - 1], T.float32(0))", "A[3 - vi % 4]")

SUM = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""

TWO = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.sblock_alloc_buffer((4,))
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.if_then_else(2 <= vi and vi < 6, C[vi - 2], T.float32(0))
"""

VIEW = "D = T.match_buffer(C[vi:vi + 1], (1,), offset_factor=1)"

STORED = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.sblock_alloc_buffer((4,))
    for i in range(4):
        with T.sblock("C"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi])
            T.writes(C[vi])
            {view}
            {store} = A[vi]
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = C[vi]
"""

Step = Callable[[Any], object]


def cached(sch: Any) -> None:
    block = sch.get_sblock("B")
    sch.compute_at(sch.cache_read(block, 0, "global"), sch.get_loops(block)[-1])


def reindexed(sch: Any) -> None:
    sch.reindex(sch.get_sblock("B"), ("read", 0))


def split(sch: Any) -> None:
    sch.split(sch.get_loops(sch.get_sblock("B"))[1], [None, 5])


def rows_split(sch: Any) -> None:
    split(sch)
    sch.reorder(*reversed(sch.get_loops(sch.get_sblock("B"))))
    sch.split(sch.get_loops(sch.get_sblock("B"))[2], [None, 4])
    sch.reorder(*(sch.get_loops(sch.get_sblock("B"))[n] for n in (2, 3, 0, 1)))


def factored(sch: Any) -> None:
    sch.rfactor(sch.get_loops(sch.get_sblock("B"))[2], 0)


def halved(sch: Any) -> None:
    """Factor the sum by the halves of its last loop, which come out even."""
    loop = sch.get_loops(sch.get_sblock("B"))[-1]
    sch.rfactor(sch.split(loop, [None, 2])[1], 0)


def parted(sch: Any) -> None:
    sch.loop_partition(sch.get_loops(sch.get_sblock("B"))[1], [3, None])


def moved(sch: Any) -> None:
    sch.reverse_compute_at(sch.get_sblock("B"), sch.get_loops(sch.get_sblock("C"))[0])


def unpadded(sch: Any) -> None:
    block = sch.get_sblock("B")
    sch.decompose_padding(block, sch.get_loops(block)[0])


def nothing(sch: Any) -> None:
    """Nothing to begin with."""


@pytest.mark.parametrize(
    ("program", "first", "step", "words"),
    [
        (PAD, nothing, reindexed, ["guard"]),
        (PAD, cached, unpadded, ["writer"]),
        (TURNED, cached, reindexed, ["order"]),
        (PAD, cached, reindexed, ["order", "guard"]),
        (SUM, rows_split, factored, ["guard"]),
        (SUM, nothing, parted, ["beginning"]),
        (TWO, nothing, moved, ["iterations"]),
    ],
)
def test_what_a_primitive_did_wrong(program: str, first: Step, step: Step, words: list[str]) -> None:
    before, after = after_steps(program, first), after_steps(program, first, step)
    assert [word for word, _ in slips_of(before, after)][: len(words)] == words


@pytest.mark.parametrize(
    ("program", "steps"), [(PAD, [cached]), (TURNED, [reindexed]), (SUM, [split]), (TWO, [cached]), (SUM, [nothing])]
)
def test_what_is_well_shows_nothing(program: str, steps: list[Step]) -> None:
    assert slips_of(after_steps(program), after_steps(program, *steps)) == ()


def test_two_buffers_of_one_name_are_not_one_that_is_summed_up_twice() -> None:
    assert slips_of(after_steps(SUM, halved), after_steps(SUM, halved, halved)) == ()


WHERE = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(B: T.Buffer((2,), "float32")):
    for i in range(5):
        with T.sblock("B"):
            vi = T.axis.spatial(2, {index})
            T.where({index} < 2)
            B[vi] = T.float32(0)
"""


@pytest.mark.parametrize(("index", "words"), [("i", ["guard"]), ("i // 2", [])])
def test_a_condition_that_does_not_keep_an_access_in_bounds_is_not_what_it_lacks(index: str, words: list[str]) -> None:
    """Halves of an odd number of iterations become all of them, and the third is out of bounds: with the condition
    too."""

    def blocked(sch: Any) -> None:
        sch.blockize(sch.get_loops(sch.get_sblock("B"))[0])

    before, after = after_steps(WHERE.format(index=index)), after_steps(WHERE.format(index=index), blocked)
    assert [word for word, _ in slips_of(before, after)] == words


@pytest.mark.parametrize(("condition", "words"), [("vi < 5", ["guard"]), ("vi < 6", [])])
def test_a_condition_that_always_holds_guards_nothing(condition: str, words: list[str]) -> None:
    guarded = PAD.replace("1 <= vi and vi < 5, A[vi - 1]", f"{condition}, A[vi % 4]")
    bare = TURNED.replace("3 - vi % 4", "vi % 4")
    assert [word for word, _ in slips_of(*map(tvm_api.parse_script, (guarded, bare)))] == words


def test_a_condition_on_how_much_is_summed_up_guards_no_element_of_the_sum() -> None:
    """The last block of rfactor adds up what the first one has made of all steps: it needs none."""
    assert slips_of(after_steps(SUM, split), after_steps(SUM, split, factored)) == ()


def test_what_is_written_through_a_view_has_a_writer() -> None:
    texts = (STORED.format(view="", store="C[vi]"), STORED.format(view=VIEW, store="D[0]"))
    direct, viewed = map(tvm_api.parse_script, texts)
    assert slips_of(direct, viewed) == ()


def test_every_slip_has_words() -> None:
    assert SLIPS.keys() == SLIPPED.keys()
    assert next(iter(SLIPS)) == UNSIGNED, "where nothing writes memory, that is all that is said"


def after_steps(program: str, *steps: Step) -> Any:
    schedule = s_tir.Schedule(tvm_api.module_of(tvm_api.parse_script(program)), debug_mask=0)
    for step in steps:
        step(schedule)
    return tvm_api.entry_of(schedule.mod)
