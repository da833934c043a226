"""What is odd about blocks: their axes, their regions, their memory, and what stands beside them."""

from __future__ import annotations

import re

import pytest

from tests.oddities import BLOCK, NEVER, REPEATS, bare, block, names, text_without_oddities
from tzerlike.systems import tvm_api


def test_a_view_that_says_how_memory_is_laid_out_which_no_caller_gives_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    with T.sblock("root"):
        C = T.sblock_alloc_buffer((8, 8), "int32")
        with T.sblock("tile"):
            v = T.axis.spatial(1, 0)
            T.reads(A[v, 0])
            T.writes({memory}[v, 0])
            D = T.match_buffer({memory}[v:v + 1, 0:1], (1, 1), "int32", strides=({stride}, 1), offset_factor=1)
            D[0, 0] = A[v, 0]
"""
    own = tvm_api.parse_script(text.format(memory="C", stride=8))
    assert names(own) == ["fixed strides of memory that TVM lays out"]
    assert "strides" not in text_without_oddities(own)
    assert names(tvm_api.parse_script(text.format(memory="B", stride=8))) == []
    assert names(tvm_api.parse_script(text.format(memory="C", stride=8).replace(", strides=(8, 1)", ""))) == []


def test_a_block_that_declares_accesses_of_memory_of_its_own_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    with T.sblock("outer"):
        C = T.sblock_alloc_buffer((8,), "int32")
        T.reads({reads})
        T.writes(B[0:8])
        for i in range(8):
            with T.sblock("C"):
                v = T.axis.spatial(8, i)
                T.reads(A[v])
                T.writes(C[v])
                C[v] = A[v]
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                T.reads(C[v])
                T.writes(B[v])
                B[v] = C[v]
"""
    assert names(tvm_api.parse_script(text.format(reads="A[0:8]"))) == []
    own = tvm_api.parse_script(text.format(reads="A[0:8], C[0:8]"))
    assert names(own) == ["a region of a block's own memory"]
    assert "T.reads(A[0:8])" in text_without_oddities(own)


def test_a_region_beyond_its_buffer_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            T.reads(A[v, {low}:{high}])
            T.writes(B[v])
            B[v] = A[v, 3]
"""
    for low, high, odd in ((0, 8, False), (0, 9, True), (7, 9, True), (-1, 3, True)):
        func = tvm_api.parse_script(text.format(low=low, high=high))
        assert names(func) == ["a region beyond its buffer"] * odd
        assert not odd or "T.reads(A[v, 3])" in text_without_oddities(func)


@pytest.mark.parametrize(("value", "size", "odd"), [("0", 8, False), ("0", 5, True), ("i", 5, False)])
def test_an_axis_that_stands_still_and_goes_beyond_a_buffer_is_odd(value: str, size: int, odd: bool) -> None:
    text = f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((9, {size}), "int32"), B: T.Buffer((8, 8), "int32")):
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, {value})
            w = T.axis.spatial(8, i)
            T.where(i < 5)
            T.reads(A[w, v])
            T.writes(B[w, v])
            B[w, v] = A[w, v]
"""
    func = tvm_api.parse_script(text)
    assert ("a fixed axis that goes beyond a buffer" in names(func)) == odd
    assert not odd or "v = T.axis.spatial(5, 0)" in text_without_oddities(func)


def test_a_region_of_other_dimensions_than_its_buffer_is_odd() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            T.reads(A[v, 3])
            T.writes(B[v])
            B[v] = A[v, 3]
"""
    flat = tvm_api.tvm.tirx.transform.FlattenBuffer()(tvm_api.tvm.IRModule({"main": tvm_api.parse_script(text)}))[
        "main"
    ]
    assert names(flat) == ["a region beyond its buffer"]
    assert "T.reads(A_1[v * 4 + 3])" in text_without_oddities(flat)


def test_a_region_that_may_divide_by_zero_is_odd() -> None:
    """TVM takes an index for a region as it stands, without the condition that guards it."""
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(("n",), "int32"), B: T.Buffer((8,), "int32")):
    n = T.int32()
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            T.reads({reads})
            T.writes(B[v])
            B[v] = T.if_then_else(0 < v and 8 // {divisor} < n, A[8 // {divisor}], 0)
"""
    for divisor, odd in (("v", True), ("n", False), ("2", False)):
        func = tvm_api.parse_script(text.format(reads=f"A[8 // {divisor}]", divisor=divisor))
        assert names(func) == ["a region that may divide by zero"] * odd
        assert not odd or "T.reads(A[0:n])" in text_without_oddities(func)
    assert names(tvm_api.parse_script(text.format(reads="A[0:n]", divisor="v"))) == []


def test_an_axis_is_what_it_is_bound_to_where_that_is_less_than_its_domain() -> None:
    text = BLOCK.format(root="True", value="i - 2", predicate="i > 2").replace(
        "A[vi]", "T.if_then_else(13 < vi, 1, A[vi])"
    )
    assert names(tvm_api.parse_script(text)) == [NEVER]
    assert names(tvm_api.parse_script(text.replace("13 < vi", "12 < vi"))) == []


@pytest.mark.parametrize(("place", "odd"), [("0", False), ("1", True)])
def test_of_as_many_rounds_as_a_parameter_says_the_first_alone_is_sure_to_run(place: str, odd: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "int32")
    with T.sblock("b"):
        vi = T.axis.spatial(n, {place})
        T.writes(A[vi])
        A[vi] = 1
"""
    assert ("a block outside of its domain" in names(tvm_api.parse_script(text))) is odd


@pytest.mark.parametrize(
    ("parts", "odd"),
    [
        ({"root": "T.bool(False)"}, "a root block under a condition"),
        ({"predicate": "T.bool(False)"}, "a constant condition"),
        ({"value": "17"}, "a block outside of its domain"),
        ({"predicate": "i < 0"}, NEVER),
        ({"predicate": "i < 12 and i > 15"}, NEVER),
        ({"predicate": "i == 16"}, NEVER),
        ({"predicate": "4 + i * 2 < 2"}, NEVER),
        ({"predicate": "i % 4 >= 4 or T.min(i, 3) > i + 3"}, NEVER),
    ],
)
def test_odd_blocks(parts: dict[str, str], odd: str) -> None:
    func = block(**parts)
    assert odd in names(func)
    assert "T.where" not in text_without_oddities(func)


def test_a_block_that_is_repeated_is_odd() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for i, j in T.grid({rounds}, 16):
        with T.sblock("b"):
            vi = T.axis.spatial(16, {value})
            B[vi] = {stored}
"""
    odd = tvm_api.parse_script(text.format(rounds=3, value="j", stored="A[vi]"))
    assert names(odd) == [REPEATS]
    assert "for j in range(16):" in text_without_oddities(odd)
    for usual in ({"value": "i * 3 + j // 16"}, {"rounds": 1}, {"stored": "A[vi] + B[vi]"}):
        assert names(tvm_api.parse_script(text.format(**{"rounds": 3, "value": "j", "stored": "A[vi]"} | usual))) == []


@pytest.mark.parametrize(("reader", "odd"), [("A[0, 0]", ["an annotation"]), ("C[vi, 0]", [])])
def test_an_alignment_is_for_memory_that_somebody_reads(reader: str, odd: list[str]) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    C = T.sblock_alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.sblock("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.sblock_attr({{"buffer_dim_align": [[0, 0, 8, 3]]}})
            C[vi, vj] = A[vi, vj]
    for i in range(8):
        with T.sblock("take"):
            vi = T.axis.spatial(8, i)
            B[vi] = {reader}
"""
    assert names(tvm_api.parse_script(text)) == odd


def test_a_store_beside_blocks_is_odd() -> None:
    text = BLOCK.format(root="True", value="i", predicate="True").replace(
        "        for i in", "        B[0] = 1\n        for i in"
    )
    func = tvm_api.parse_script(text)
    assert names(func) == ["a store beside blocks"]
    assert "B[0] = 1" not in text_without_oddities(func)
    assert names(bare("B[0] = 1")) == []


def test_a_name_outside_of_blocks_is_odd() -> None:
    text = BLOCK.format(root="True", value="x", predicate="True")
    text = re.sub(r"( +)(for i in .*\n)", r"\1\2\1    x: T.let[T.int32] = i\n", text)
    func = tvm_api.parse_script(text)
    assert names(func) == ["a name outside of blocks"]
    assert "T.let" not in text_without_oddities(func)


def test_a_block_that_uses_the_variable_of_a_loop_around_it_is_odd_and_gets_an_axis() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(4, 16):
        with T.sblock("b"):
            T.reads(A[i])
            T.writes(B[i])
            for j in range(2):
                B[i] = A[i] + j
"""
    func = tvm_api.parse_script(text)
    assert names(func) == ["a block that uses the variable of a loop around it"]
    better = text_without_oddities(func)
    assert "vi = T.axis.spatial((4, 16), i)" in better
    assert "B[vi] = A[vi] + j" in better


@pytest.mark.parametrize(
    ("axes", "odd"),
    [
        ("T.axis.spatial(3, i), T.axis.spatial(2, j)", True),
        ("T.axis.reduce(3, i), T.axis.spatial(2, j)", False),
        ("T.axis.spatial(1, 0), T.axis.spatial(2, j)", False),
    ],
    ids=["over the last round", "a reduction", "one round"],
)
def test_a_spatial_axis_that_no_write_depends_on_is_odd(axes: str, odd: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((3, 2), "int32"), B: T.Buffer((2,), "int32")):
    for i, j in T.grid(3, 2):
        with T.sblock("b"):
            k, x = {axes}
            T.reads(A[k, x])
            T.writes(B[x])
            B[x] = A[k, x]
"""
    func = tvm_api.parse_script(text)
    assert ("a spatial axis that no write depends on" in names(func)) is odd
    if odd:
        better = text_without_oddities(func)
        assert "B[x] = A[0, x]" in better and "T.axis.spatial(3" not in better


@pytest.mark.parametrize(("value", "odd"), [("T.bool(True)", True), ("B[0]", True), ("B[0] and A[vi]", False)])
def test_a_reduction_over_threads_that_sums_nothing_up_is_odd(value: str, odd: bool) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "bool"), B: T.Buffer((1,), "bool")):
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.sblock("b"):
            vi = T.axis.reduce(16, i)
            T.reads(A[vi])
            T.writes(B[0])
            with T.init():
                B[0] = T.bool(True)
            B[0] = {value}
"""
    found = names(tvm_api.parse_script(text), threads=True)
    assert ("a reduction over threads that sums nothing up" in found) is odd


@pytest.mark.parametrize(
    ("axis", "place", "init", "forms"),
    [
        ("T.axis.reduce(16, i)", "0", "0", []),
        ("T.axis.reduce(16, i)", "0", "A[0]", ["TensorLoad for init"]),
        ("T.axis.reduce(16, i)", "0", "vi + 1", ["arithmetic for init"]),
        ("T.axis.spatial(16, i)", "vi", "0", ["init without a reduction"]),
    ],
)
def test_an_initialisation_is_a_number_where_a_reduction_starts(
    axis: str, place: str, init: str, forms: list[str]
) -> None:
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.sblock("b"):
            vi = {axis}
            T.reads(A[0:16])
            T.writes(B[{place}])
            with T.init():
                B[{place}] = {init}
            B[{place}] = B[{place}] + A[vi]
"""
    assert names(tvm_api.parse_script(text)) == forms


@pytest.mark.parametrize(
    ("scope", "odd"), [("T.sblock_alloc_buffer", ["memory of the root that is used outside of blocks"]), ("", [])]
)
def test_memory_of_the_root_is_for_blocks(scope: str, odd: list[str]) -> None:
    """PlanAndUpdateBufferAllocationLocation moves it into the loop, where another round's value is lost."""
    text = f"""
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    with T.sblock("root"):
        {"C = T.sblock_alloc_buffer((16,), 'int32')" if scope else "C = B"}
        for i in range(15):
            C[i] = A[i]
            B[i + 1] = C[i // 2]
"""
    func = tvm_api.parse_script(text)
    assert names(func) == odd
    assert ('T.alloc_buffer((16,), "int32")' in text_without_oddities(func)) == bool(odd)
