"""What reports are made of: programs to paste, inputs, traces, scripts."""

from __future__ import annotations

import inspect
import json
import time

import numpy
import pytest

from tests.subjects import SCRIPT, frames
from tzerlike.findings.issue.calls import plain_calls, schedule_of
from tzerlike.findings.issue.layout import code, cut, fenced, trace
from tzerlike.findings.issue.listing import inputs_text, pasted
from tzerlike.findings.issue.oddities import rare_names, unusual_block
from tzerlike.findings.issue.paste import self_contained
from tzerlike.findings.repro import without_idle_imports
from tzerlike.systems.tvm_api import s_tir


def test_a_long_program_is_gone_through_once() -> None:
    """Where lines far in can be matched in several ways, forty of them take years."""
    deep = f"{' ' * 24}A[0] = 1\n" * 40
    block = f'    with T.sblock("B"):\n{deep}'
    assert unusual_block(block * 2) == ""
    assert unusual_block(f'{block}        with T.sblock("C"):\n') == " on a nested block"


def test_nothing_in_a_program_ends_its_block() -> None:
    hostile = "```\n</details><script>\n````\n"
    lines = fenced(hostile)
    assert lines[0] == lines[-1] == "`````"
    assert code("a`b") == "`` a`b ``"


def test_a_cut_counts_what_is_missing() -> None:
    assert cut("a\nb\nc", 2) == "a\nb\n... (1 more line)"
    assert cut("a" * 20, 2, 10) == "a" * 10 + " ..."
    assert cut("a\nb", 2) == "a\nb"


def test_a_trace_keeps_what_tells_and_counts_the_rest() -> None:
    shown = trace(
        (
            *frames("gsignal", "abort", library="libc.so.6"),
            *frames(
                "libtvm_compiler.so+0x10",
                "tvm::ffi::UnchangedOr<tvm::ffi::Any> tvm::ObjectMutator::DispatchNode<A, B<C> >(Object const*, D)",
                "virtual tvm::ffi::UnchangedOr<tvm::tirx::Stmt> tvm::tirx::Planner::Mutate_(const ForNode*, E)",
                "tvm::tirx::Planner::Mutate_(const ForNode*, E)",
                "tvm::tirx::Rewrite(PrimFunc)",
            ),
            *frames("_PyEval_EvalFrameDefault", library="libpython3.11.so.1.0"),
            *frames("tvm::never::Shown()"),
        )
    )
    assert shown == [
        "...",
        "tvm::tirx::Planner::Mutate_",
        "...",
        "tvm::tirx::Rewrite",
    ]


def test_a_trace_without_names_shows_its_top() -> None:
    assert trace(frames(*(f"libtvm_compiler.so+0x{i}" for i in range(9)))) == [
        f"libtvm_compiler.so+0x{i}" for i in range(4)
    ]
    assert trace(()) == []


def test_the_imports_of_a_program_are_code_where_it_uses_them() -> None:
    head = (
        "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n\n"
    )
    assert pasted(head + SCRIPT) == "from tvm.script import tirx as T\n\n" + SCRIPT
    assert pasted("# %0: its own words\n\n" + SCRIPT) == "from tvm.script import tirx as T\n\n" + SCRIPT
    assert pasted("@I.ir_module\nclass M:\n    x = R.add(1)\n").startswith(
        "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module"
    )


def test_a_program_that_names_an_extent_says_where_the_name_comes_from() -> None:
    printed = '# from tvm.script import ir as I\n\nn = TypeVar("n")\n@I.ir_module\nclass Module:\n    pass\n'
    assert '\n\nn = TypeVar("n")\n\n\n@I.ir_module\n' in pasted(printed)
    text = pasted('n = TypeVar("n")\n@I.ir_module\nclass Module:\n    pass\n')
    assert text.startswith(
        "from __future__ import annotations\n\nfrom typing import TypeVar\nfrom tvm.script import ir as I\n"
    )


def test_inputs_stand_beside_what_is_computed_where_they_are_few() -> None:
    arrays = {
        "argument0": numpy.array([1.0, 2.0]),
        "expected0": numpy.array([1.0, 2.0]),
        "argument1": numpy.array([0, 0]),
        "expected1": numpy.array([7, 8]),
    }
    script = "def main(A: T.Buffer((2,), 'float32'), out: T.Buffer((2,), 'int32')):\n    pass"
    assert inputs_text(arrays, script).splitlines() == [
        "A = [1., 2.]", "out = [0, 0]", "out (expected) = [7, 8]"
    ]  # fmt: skip
    assert inputs_text({"argument0": numpy.zeros((40, 4))}, script) == ""
    began = time.process_time()
    assert inputs_text({"argument0": numpy.ones(1_000_000)}, script) == ""
    assert time.process_time() - began < 1, "what is long is not printed to be thrown away"
    assert inputs_text({}, script) == ""


def test_a_case_that_a_test_reads_is_inside_of_it() -> None:
    text = (
        'import json\nimport pathlib\n\nCASE = json.loads(pathlib.Path(__file__).with_name("case.json").read_text())\n'
    )
    scope: dict[str, object] = {}
    exec(self_contained(text, {"case.json": b'{"a": 1}'}), scope)
    assert scope["CASE"] == {"a": 1}


def test_index_maps_are_lambdas_and_idle_look_ups_are_left_out() -> None:
    nodes = [
        {"type": "None"}, {"type": "ffi.String", "data": "x0"}, {"type": "ir.Var", "data": {"ty": 0, "name": 1}},
        {"type": "ffi.Array", "data": [2]}, {"type": "ir.IntImm", "data": {"ty": 0, "value": 7}},
        {"type": "prim.FloorDiv", "data": {"a": 2, "b": 4}}, {"type": "prim.Add", "data": {"a": 5, "b": 4}},
        {"type": "prim.Mul", "data": {"a": 6, "b": 2}}, {"type": "ffi.Array", "data": [5, 7]},
        {"type": "tirx.IndexMap", "data": {"initial_indices": 3, "final_indices": 8, "inverse_index_map": 0}},
    ]  # fmt: skip
    graph = json.dumps({"root_index": 9, "nodes": nodes})
    calls = f"v1 = sch.get_sblock('a')\nv2 = sch.get_sblock('b')\nv3 = sch.f(v2, tvm.ir.load_json({graph!r}))"
    assert plain_calls(calls) == (
        'v2 = sch.get_sblock("b")\nv3 = sch.f(v2, lambda x0: (x0 // 7, ((x0 // 7) + 7) * x0))'
    )
    for other in ("sch.f(tvm.ir.load_json('{'))", 'sch.f(tvm.ir.load_json(\'{"nodes": [], "root_index": 0}\'))'):
        assert plain_calls(other) == other


def test_a_narrow_type_is_named_once() -> None:
    script = 'def main(A: T.Buffer((1,), "float8_e5m2")):\n    A[0] = T.float8_e5m2(1.0)\n'
    assert rare_names(script) == ["float8_e5m2"]


def test_a_script_imports_what_it_uses() -> None:
    script = (
        "import json\nimport numpy as np\nimport tvm\nfrom tvm import relax, tirx\nfrom tvm.script import ir as I\n\n"
        "def limit():\n    import signal\n\nx = tirx.Var(np.int8(tvm.x))\n"
    )
    assert without_idle_imports(script) == (
        "import numpy as np\nimport tvm\nfrom tvm import tirx\n\n"
        "def limit():\n    import signal\n\nx = tirx.Var(np.int8(tvm.x))\n"
    )


@pytest.mark.parametrize(
    ("call", "styled"),
    [
        ("v2 = sch.reindex(v1, ('write', 0, ))", 'v2 = sch.reindex(v1, ("write", 0))'),
        ("v2 = sch.f(v1, (0, ), 'a')", 'v2 = sch.f(v1, (0, ), "a")'),
        ("v2 = sch.f(v1, 'it\\'s', 'b')", "v2 = sch.f(v1, 'it\\'s', 'b')"),
        ("v2 = sch.f(v1, 'a\"b', 'c')", "v2 = sch.f(v1, 'a\"b', 'c')"),
    ],
)
def test_calls_are_written_in_the_style_of_tvm(call: str, styled: str) -> None:
    assert plain_calls(call) == styled


def test_arguments_that_are_the_default_are_left_out() -> None:
    methods = (s_tir.Schedule.split, s_tir.Schedule.compute_at, s_tir.Schedule.transform_layout)
    for method in methods:
        given = inspect.signature(inspect.unwrap(method)).parameters.values()
        taken = [f"{one.name}={one.default!r}" for one in given if one.default is not one.empty]
        assert len(taken) == 2
        assert plain_calls(f"v1 = sch.f(a, {', '.join(taken)})") == "v1 = sch.f(a)"
    other = "sch.f(preserve_unit_iters=False, preserve_unit_loops=True, index=-10)"
    assert plain_calls(other) == other
    assert plain_calls("sch.get_sblock(name='A', func_name='main')") == 'sch.get_sblock(name="A")'
    looked = "v1 = sch.get_sblock('A', 'main')\nv2 = sch.annotate(v1, 'k', 'main')"
    assert plain_calls(looked) == 'v1 = sch.get_sblock("A")\nv2 = sch.annotate(v1, "k", "main")'


def test_a_schedule_has_a_seed_where_a_call_draws() -> None:
    assert schedule_of("Module", ["v1 = sch.get_sblock('a')"]) == "sch = s_tir.Schedule(Module)"
    drawn = ["v2 = sch.sample_perfect_tile(v1, n=2, max_innermost_factor=4)"]
    assert schedule_of("Module", drawn) == "sch = s_tir.Schedule(Module, seed=1)"
