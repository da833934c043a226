"""Reducers of real programs: candidates repeat, sizes are a total order, and searches end wherever a property leads."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from itertools import islice

import pytest

from tests.property.test_mutators_matrix import CACHE
from tzerlike.core.case import Case, ContextConfig, parse_sequence
from tzerlike.core.shrink import Outcome, Task, search
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api
from tzerlike.tir.order import Size, rough_size_of, size_of
from tzerlike.tir.reducers.buffers import with_dimensions
from tzerlike.tir.reducers.catalogue import PROGRAM, REDUCERS
from tzerlike.tir.reducers.program import program_of
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.tree import Tree

PROGRAMS = {
    "blocks": '''
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16, 8), "float32"), n: T.int32, C: T.Buffer((16, 8), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j, k in T.grid(16, 8, 8):
        with T.sblock("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.sblock_attr({"pragma_note": 3})
            held = T.sblock_alloc_buffer((4,), "float32", scope="local")
            with T.init():
                C[vi, vj] = T.float32(0)
            held[n % 4] = T.exp(A[vi, vk])
            C[vi, vj] = C[vi, vj] + held[n % 4] * T.Select(vj < 4, A[vj, vk], T.float32(1))
''',
    "statements": '''
@T.prim_func
def main(a: T.Buffer(("m", 4), "float16"), B: T.Buffer((64,), "int32"), flag: T.bool):
    view = T.decl_buffer((8, 8), "int32", data=B.data)
    for t in T.thread_binding(4, thread="threadIdx.x"):
        for i in T.unroll(2, 6):
            v: T.let[T.int32] = i * 3 + t
            if flag:
                view[v % 8, t] = T.max(v, T.Cast("int32", a[0, t]))
            else:
                B[T.min(v, 63)] = T.int32(7)
    with T.attr(0, "pragma_auto_unroll_max_step", 8):
        for j in T.vectorized(8):
            B[j] = B[j] + j * j
    B[0:4] = T.Broadcast(5, 4)
''',
    "loops": '''
@T.prim_func
def main(C: T.Buffer((1,), "int64"), D: T.Buffer((3, 1, 5), "float64", strides=(8, 8, 1))):
    n = T.alloc_buffer((1,), "int64")
    n[0] = T.int64(0)
    while n[0] < T.int64(1000):
        n[0] = n[0] + T.int64(1)
        if n[0] > T.int64(10):
            T.break_loop()
    for p in T.parallel(3):
        for q in T.serial(5, annotations={"pragma_unroll_explicit": 1}):
            D[p, 0, q] = T.Cast("float64", n[0]) / T.float64(3.25)
    C[0] = n[0]
    assert C[0] > T.int64(0), "positive"
''',
    "stray": '''
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in range(9):
        A[i] = i
''',
    "bounds": '''
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for j, k in T.grid(1, 2):
        A[j + k] = k
    for i in T.serial(T.truncmod(n, 1) % 8 + 1):
        A[i] = A[i] // T.max(A[i + n % 8], 1)
''',
    "unfolded": '''
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2,), "int32")):
    with T.sblock("root"):
        T.reads()
        T.writes()
        with T.sblock("tile"):
            T.reads(A[T.Mul(0, 1)])
            T.writes(A[1])
            B = T.match_buffer(A[T.Mul(0, 1)], (1,), "int32")
            A[1] = B[0]
''',
    "fused": '''
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 2), "int32")):
    for i in range(8):
        with T.sblock("a"):
            j = T.axis.spatial(4, i // 2)
            k = T.axis.spatial(2, i % 2)
            A[j, k] = j + k
''',
}  # fmt: skip

VIEW = """
@T.prim_func(s_tir=True)
def main():
    B = T.alloc_buffer((1, 2))
    with T.sblock("tile"):
        vi = T.axis.spatial(1, 0)
        T.reads()
        T.writes()
        D = T.match_buffer(B[vi, 0:1], (1, 1))
        T.evaluate(0)
"""


def case(name: str) -> Case:
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(PROGRAMS[name])))
    options = (("tirx.disable_assert", True), ("tirx.UnrollLoop.auto_max_step", 16))
    passes = parse_sequence("tirx.StmtSimplify; tirx.UnrollLoop; tirx.NarrowDataType{target_bits=16}")
    return Case(ir, passes, ContextConfig(2, options, ("tirx.RemoveNoOp",)), '{"kind": "llvm", "opt-level": 0}', 77)


def reduced(start: Case, keeps: Callable[[Case], bool]) -> Outcome[Case]:
    return search(start, Task(tuple(REDUCERS.values()), size_of, lambda case: case.id, keeps))


def lucky(start: Case, salt: int, one_in: int) -> Callable[[Case], bool]:
    """A property that the start and by chance one in so many cases have."""

    def keeps(value: Case) -> bool:
        return value == start or blake2b(f"{salt} {value.id}".encode(), digest_size=4).digest()[0] % one_in == 0

    return keeps


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("reducer", REDUCERS)
def test_a_reducer_offers_the_same_again_and_each_is_a_program_of_its_own(name: str, reducer: str) -> None:
    start = case(name)
    offered = [[attempt() for attempt in REDUCERS[reducer](start)] for _ in range(2)]
    assert offered[0] == offered[1]
    for candidate in offered[0]:
        if candidate is not None:
            assert tvm_api.dump_ir(tvm_api.load_ir(candidate.ir)) == candidate.ir
    assert case(name) == start


@pytest.mark.parametrize("reducer", REDUCERS)
def test_what_a_pass_left_with_vectors_for_extents_is_no_trouble(reducer: str) -> None:
    graph = json.loads(case("statements").ir)
    nodes = graph["nodes"]
    vector = next(place for place, node in enumerate(nodes) if node["type"] == "prim.Broadcast")
    view = [node["data"] for node in nodes if node["type"] == "tirx.BufferType"][-1]
    nodes[view["shape"]]["data"][0] = vector
    start = replace(case("statements"), ir=json.dumps(graph))
    assert HARNESS.odd(start)
    for attempt in REDUCERS[reducer](start):
        attempt()


@pytest.mark.parametrize("reducer", [name for name in REDUCERS if name != "passes-applied"])
def test_each_reducer_makes_some_program_smaller(reducer: str) -> None:
    starts = [case(name) for name in PROGRAMS] + [replace(case("loops"), config=ContextConfig(pipeline="none"))]
    attempts = [(size_of(start), attempt) for start in starts for attempt in REDUCERS[reducer](start)]
    candidates = ((size, candidate) for size, attempt in attempts if (candidate := attempt()) is not None)
    assert any(size_of(candidate) < size and "form" in HARNESS.accepted(candidate) for size, candidate in candidates)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("salt", "one_in"), [(1, 2), (2, 5), (3, 9)])
def test_any_property_leads_to_a_case_that_cannot_be_reduced_again(name: str, salt: int, one_in: int) -> None:
    start = case(name)
    keeps = lucky(start, salt, one_in)
    outcome = reduced(start, keeps)
    assert outcome.finished
    assert keeps(outcome.value)
    assert size_of(outcome.value) < size_of(start)
    assert reduced(start, keeps).value == outcome.value
    assert reduced(outcome.value, keeps).value == outcome.value


def test_what_accepts_a_program_is_told() -> None:
    """A buffer of one element is printed as a scalar, which is local memory to the parser."""
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(VIEW))))
    assert HARNESS.accepted(start) == {"types", "form", "text", "meaning", "inputs"}
    assert HARNESS.accepted(case("stray")) == {"types", "form", "text"}
    tirx = tvm_api.tirx
    scalar = tirx.PrimFunc([], tirx.AllocBuffer(tirx.decl_buffer([1], "int32", "A")))
    assert HARNESS.accepted(Case(tvm_api.dump_ir(tvm_api.module_of(scalar)))) == {"types", "form", "meaning", "inputs"}


GATHER = """
@T.prim_func
def main(A: T.Buffer(({extent},), "float32"), I: T.Buffer((9,), "int32"), B: T.Buffer((9,), "float32")):
    for i in range(9):
        B[i] = A[T.min(T.max(0, I[i]), 2)]
"""


FILL = """
@T.prim_func
def main(A: T.Buffer(("n",), "float32")):
    n = T.int32()
    B = T.alloc_buffer(({extent},))
    for i in range(n):
        B[i] = A[i]
"""


def test_a_program_that_only_some_sizes_keep_in_bounds_is_not_accepted_as_before() -> None:
    whole, cut = (
        HARNESS.accepted(Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(FILL.format(extent=extent))))))
        for extent in (64, 4)
    )
    assert "inputs" in whole and "inputs" not in cut


@pytest.mark.parametrize("seed", range(3))
def test_a_program_that_only_some_inputs_keep_in_bounds_is_not_accepted_as_before(seed: int) -> None:
    whole, cut = (
        Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(GATHER.format(extent=extent)))), input_seed=seed)
        for extent in (3, 2)
    )
    assert HARNESS.accepted(whole) - HARNESS.accepted(cut) == {"inputs"}


def test_a_block_with_a_view_gives_no_statements_in_its_place() -> None:
    """TVM dies of a None among statements."""
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(VIEW))))

    def made() -> str:
        return " ".join(str(attempt() is None) for attempt in REDUCERS["bodies"](start))

    assert in_child(made) == ("False True", 0)


def test_the_odd_forms_of_a_program_are_told_and_a_usual_one_has_none() -> None:
    assert HARNESS.odd(case("bounds")) == frozenset()
    assert HARNESS.odd(case("loops")) == {"an assertion"}


def test_loops_that_go_round_once_go_at_once() -> None:
    (only,) = (attempt() for attempt in REDUCERS["without-rounds"](case("bounds")))
    assert only is not None
    assert (
        "for k in range(2)" in script(only)
        and "range(1)" not in script(only)
        and size_of(only) < size_of(case("bounds"))
    )


def test_a_bound_or_a_divisor_that_does_not_matter_becomes_a_number() -> None:
    first = next(REDUCERS["constant-bounds"](case("bounds")))()
    assert first is not None
    assert "range(1)" in script(first) and "T.FloorDiv(A[i], 1)" in script(first)


def test_what_stands_in_several_places_is_replaced_in_all_of_them_first() -> None:
    text = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = (A[i] * T.float32(3) + T.exp(A[i])) / (A[i] * T.float32(3) + T.exp(A[i]) + T.float32(1))
"""
    twice = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    offered = [script(found) for attempt in islice(REDUCERS["simpler-expressions"](twice), 4) if (found := attempt())]
    lines = [one.splitlines()[-1].partition("= ")[2] for one in offered]
    assert lines[:3] == [
        "T.Div(T.float32(0.0), T.Add(T.float32(0.0), T.float32(1.0)))",
        "T.float32(1.0) / T.Add(T.float32(1.0), T.float32(1.0))",
        "A[i] * T.float32(3.0) / (A[i] * T.float32(3.0) + T.float32(1.0))",
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_what_does_not_matter_nothing_is_left(name: str) -> None:
    size = size_of(reduced(case(name), lambda one: "form" in HARNESS.accepted(one)).value)
    assert (size.statements, size.passes, size.options, size.kinds) == (0, 0, 0, 0)


def script(found: Case) -> str:
    return tvm_api.script_of(tvm_api.load_ir(found.ir))


def test_what_matters_is_left_in_its_simplest_form() -> None:
    def keeps(value: Case) -> bool:
        applies = any(spec.name == "tirx.NarrowDataType" for spec in value.passes)
        return applies and "T.exp(" in script(value) and "form" in HARNESS.accepted(value)

    found = reduced(case("blocks"), keeps).value
    assert [str(spec) for spec in found.passes] == ["tirx.NarrowDataType{target_bits=32}"]
    assert script(found).splitlines()[-1].strip() == "T.exp(T.float32(0.0))"


def test_the_order_is_total_on_cases_that_differ_in_anything() -> None:
    start = case("loops")
    others = [
        start,
        replace(start, input_seed=3),
        replace(start, target="llvm"),
        replace(start, passes=start.passes[1:]),
        replace(start, config=replace(start.config, opt_level=3)),
        case("blocks"),
    ]
    sizes = [size_of(other) for other in others]
    assert len(set(sizes)) == len(others)
    assert all((a < b) + (b < a) + (a == b) == 1 for a in sizes for b in sizes)


def test_statements_count_before_passes_and_passes_before_options() -> None:
    usual = Size(3, 3, 3, 3, 3, 3, 3, 3, "c")
    fields = ("statements", "passes", "options", "nodes", "kinds", "magnitude", "names", "length")
    for place, name in enumerate(fields):
        worse = {later: 9 for later in fields[place + 1 :]}
        assert replace(usual, **{name: 2}, **worse, text="z") < usual
    assert replace(usual, text="b") < usual


BLOCK = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 1), "float16"), B: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 3):
        with T.sblock("sum"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(1, 0)
            vk = T.axis.reduce(3, k)
            T.where(i < 3)
            with T.init():
                B[vi] = T.float16(0)
            B[vi] = B[vi] + A[vi, vj] * T.float16(2)
"""


@pytest.mark.parametrize(
    ("reducer", "left"),
    [
        ("smaller-blocks", "T.reads(A[vi, 0])"),
        ("axes-with-rounds", "B[0] = B[0] + A[0, vj] * T.float16(2.0)"),
        ("axes-with-rounds", "for i, k in T.grid(1, 3)"),
        ("axes-with-rounds", "for i, k in T.grid(4, 1)"),
        ("smaller-buffers", "A[vi]"),
        ("without-buffers", "B[vi] = B[vi] + T.Mul(T.float16(0.0), T.float16(2.0))"),
        ("usual-dtypes", "B[vi] = B[vi] + A[vi, vj] * T.float32(2.0)"),
        ("without-blocks", "if k == 0:"),
        ("without-blocks", "B[i] = B[i] + A[i, 0] * T.float16(2.0)"),
    ],
)
def test_a_reducer_reaches_all_that_its_change_takes(reducer: str, left: str) -> None:
    """Axes in regions, what is read of a buffer, the types of loads."""
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(BLOCK))))
    assert left in " ".join(script(made) for attempt in REDUCERS[reducer](start) if (made := attempt()) is not None)


def test_hardly_a_change_is_refused_by_constructors() -> None:
    """TVM refusing a program is part of the search, but a reducer whose every change it refuses is of no use."""
    refused: dict[str, list[str]] = {name: [] for name in PROGRAM}
    made = dict.fromkeys(PROGRAM, 0)
    for seed in builtin_seeds(CACHE)[::24]:
        tree = Tree(program_of(seed.ir))
        for name, reducer in PROGRAM.items():
            for make in islice(reducer(tree), 8):
                try:
                    made[name] += make() is not None
                except (TypeError, ValueError, RuntimeError) as error:
                    refused[name].append(f"{seed.name}: {error!r}")
    assert {name: said for name, said in refused.items() if len(said) * 10 > made[name]} == {}


def of_text(text: str) -> Case:
    return Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))


def texts_of(start: Case, reducer: str) -> list[str]:
    return [script(one) for attempt in REDUCERS[reducer](start) if (one := attempt()) is not None]


BEYOND = """
@T.prim_func
def main(A: T.Buffer((2,), "int32")):
    for i in range(8):
        A[i] = 0
"""


def test_a_store_that_leaves_its_buffer_becomes_one_of_its_index() -> None:
    start = of_text(BEYOND)
    (inside,) = (
        one for one in (attempt() for attempt in REDUCERS["constant-values"](start)) if "A[0] = i" in script(one)
    )
    assert size_of(inside) < size_of(start)
    within = of_text(BEYOND.replace("(2,)", "(8,)"))
    assert size_of(start).nodes == size_of(within).nodes + 1


def test_a_buffer_of_fewer_strides_than_dimensions_loses_a_dimension() -> None:
    buffer = tvm_api.tirx.decl_buffer((4, 4), "int32", "A", strides=[1])
    zero = tvm_api.tirx.IntImm("int32", 0)
    store = tvm_api.tirx.BufferStore(buffer, zero, [zero, zero])
    made = with_dimensions(tvm_api.tirx.PrimFunc([buffer], store), buffer, [1])
    assert len(tvm_api.type_of(tvm_api.params_of(made)[0]).shape) == 1


WIDE = """
@T.prim_func
def main(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
    for i in range(T.int64(4)):
        B[i] = A[i] + T.float32(1)
"""


def test_the_usual_dtype_takes_the_place_of_another_in_loops_and_shapes_too() -> None:
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(WIDE))))
    (only,) = (attempt() for attempt in REDUCERS["usual-dtypes"](start))
    assert only is not None and "types" in HARNESS.accepted(only)
    assert "int64" not in script(only) and "for i in range(4)" in script(only)


BITS = """
@T.prim_func
def main(A: T.Buffer((2,), "float8_e5m2"), B: T.Buffer((2,), "float64")):
    A[0] = T.Cast("float8_e5m2", T.reinterpret("float32", T.Cast("uint32", T.reinterpret("uint16", T.bfloat16(1)))))
    B[0] = T.float64(1)
"""


def test_a_cast_takes_the_place_of_what_changes_the_dtype_more_than_once() -> None:
    made = texts_of(of_text(BITS), "casts-of-parts")
    assert any('A[0] = T.Cast("float8_e5m2", T.reinterpret("uint16", T.bfloat16(1.0)))' in text for text in made), made


def test_dtypes_whose_bits_are_read_stay_and_others_become_usual() -> None:
    made = texts_of(of_text(BITS), "usual-dtypes")
    assert any('A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float64")' in text for text in made)
    assert any('A: T.Buffer((2,), "float8_e5m2"), B: T.Buffer((2,), "float32")' in text for text in made)
    assert len(made) == 2


KEPT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.sblock_alloc_buffer((4,), "float32")
    D = T.sblock_alloc_buffer((4,), "float32", scope="local")
    for i in range(4):
        with T.sblock("C"):
            v = T.axis.spatial(4, i)
            C[v] = A[v]
    for i in range(4):
        with T.sblock("D"):
            v = T.axis.spatial(4, i)
            D[v] = C[v]
    for i in range(4):
        with T.sblock("B"):
            v = T.axis.spatial(4, i)
            B[v] = D[v]
"""


def test_a_parameter_takes_the_place_of_memory_that_is_allocated() -> None:
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(KEPT))))
    filled, only = (attempt() for attempt in REDUCERS["given-buffers"](start))
    for one in (filled, only):
        assert one is not None and size_of(one) < size_of(start)
        assert HARNESS.accepted(one) == HARNESS.accepted(start)
        assert 'C: T.Buffer((4,), "float32")' in script(one)
    assert filled is not None and only is not None
    assert "C[v] = A[v]" in script(filled)
    assert "A[v]" not in script(only) and "D[v] = C[v]" in script(only), "the block that fills it goes with the memory"


READ = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer((4, 4), "float32")):
    n = T.int32()
    for i, j in T.grid(n, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj]
"""


def test_an_axis_goes_with_all_loops_that_it_alone_is_bound_to() -> None:
    axes = "vi = T.axis.spatial(4, i * 2 + k)\n            vj = T.axis.spatial(4, j)"
    looped = READ.replace("for i, j in T.grid(n, 4)", "for i, k, j in T.grid(2, 2, 4)")
    split = looped.replace('vi, vj = T.axis.remap("SS", [i, j])', axes)
    found = texts_of(of_text(split), "axes-with-rounds")
    assert any("T.grid(1, 1, 4)" in text and "B[0, vj] = A[vj]" in text for text in found)
    shared = split.replace("(4, j)", "(4, (j + k) % 4)")
    assert not any("T.grid(1, 1, 4)" in text for text in texts_of(of_text(shared), "axes-with-rounds"))


def test_a_dimension_goes_with_the_axes_that_run_along_it() -> None:
    both = (
        READ.replace('(("n",), "float32")', '((4, 4), "float32")')
        .replace("    n = T.int32()\n", "")
        .replace("(n, 4)", "(4, 4)")
    )
    again = """
        with T.sblock("c"):
            vk, vl = T.axis.remap("SS", [i, j])
            B[vk, vl] = B[vk, vl] + A[vl, vk]
"""
    found = texts_of(of_text(both.replace("A[vj]", "A[vi, vj]").rstrip() + again), "dimensions-with-axes")
    first, *_ = [text for text in found if "B[vj] = A[vj]" in text]
    assert 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")' in first
    assert "B[vl] = B[vl] + A[vk]" in first, "vk and vl run along others too"
    alone = texts_of(of_text(both.replace("A[vj]", "A[vj, vj]")), "dimensions-with-axes")
    assert any("B[vj] = A[vj, vj]" in text and "vi" not in text for text in alone)
    assert any("A: T.Buffer((4,)" in text or "B[vi] = A[0, 0]" in text for text in alone), "one dimension has to stay"


def test_a_block_stops_reducing_and_starting_its_reduction_at_once() -> None:
    made = [text for text in texts_of(of_text(BLOCK), "smaller-blocks") if "T.init" not in text]
    assert len(made) == 2 and not any("T.axis.reduce" in text for text in made), made
    assert "B[vi] = A[vi, vj] * " in made[0] and "B[vi] = B[vi] + A[vi, vj] * " in made[1]


def test_axes_along_one_dimension_have_one_round_together() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4, 2), "float32")):
    for i in range(4):
        with T.sblock("a"):
            vi = T.axis.spatial(4, i)
            A[vi, 0] = T.float32(0)
    for j, k in T.grid(4, 2):
        with T.sblock("b"):
            vj, vk = T.axis.remap("SS", [j, k])
            B[vj, vk] = A[vj, vk]
"""
    made = texts_of(of_text(text), "axes-of-one-round")
    for parts in (
        ("for i in range(1)", "T.axis.spatial(1, i)", "T.grid(1, 2)"),
        ("for i in range(4)", "T.axis.spatial(4, i)", "T.grid(4, 1)"),
    ):
        assert any(all(part in text for part in parts) for text in made), made


def test_one_axis_takes_the_place_of_another_that_is_alike() -> None:
    alike, shorter = (of_text(READ.replace("T.grid(n", f"T.grid({extent}")) for extent in (4, 2))
    assert any("B[vi, vi] = A[vi]" in text for text in texts_of(alike, "smaller-blocks"))
    assert not any("B[vi, vi]" in text for text in texts_of(shorter, "smaller-blocks"))


def test_of_a_parameter_its_sizes_stay_or_the_indices_that_are_read() -> None:
    made = texts_of(of_text(READ), "without-buffers")
    assert any('def main(n: T.int32, B: T.Buffer((4, 4), "float32"))' in text for text in made), made
    read = [text for text in made if 'B[vi, vj] = T.Cast("float32", vj)' in text]
    assert read and all("A:" not in text for text in read)


def test_where_numbers_have_to_be_large_only_their_length_counts() -> None:
    long, hardly, half = (of_text(WIDE.replace("(4)", f"({number})")) for number in (4000, 3999, 2000))
    assert size_of(half) < size_of(hardly) < size_of(long)
    assert rough_size_of(half) < rough_size_of(long) == rough_size_of(hardly)


def test_dimensions_go_with_their_strides() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((4, 2, 3), "int32", strides=(12, 1, 4))):
    for i in range(4):
        A[i, 1, 2] = i
"""
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    made = " ".join(script(smaller) for attempt in REDUCERS["smaller-buffers"](start) if (smaller := attempt()))
    assert 'A: T.Buffer((4, 2), "int32", strides=(12, 1))' in made and "A[i, 1] = i" in made
    assert 'A: T.Buffer((1, 2, 3), "int32", strides=(12, 1, 4))' in made


@pytest.mark.parametrize("layout", ["None", "T.TileLayout(T.S[(2, 4):(1, 2)])"])
def test_the_usual_layout_takes_the_place_of_another(layout: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((2, 4), "float32", layout={layout}), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        B[i, j] = A[i, j]
"""
    start = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    (only,) = (attempt() for attempt in REDUCERS["plainer-buffers"](start))
    assert only is not None and size_of(only) < size_of(start)
    assert "layout=" in script(start) and "layout=" not in script(only)
    assert HARNESS.accepted(only) == HARNESS.accepted(start)
