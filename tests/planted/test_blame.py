"""Planted miscompilations among TVM's own passes are named; harmless rewrites are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.planted.find_seeds import apply
from tests.planted.innocent import CARRIED, TWO, blocks
from tests.planted.table import HARMLESS, MISCOMPILES
from tests.planted.test_planted import SEEDS, programs
from tzerlike.core.case import Case, ContextConfig
from tzerlike.execution.diagnosis.walk import Change, Walk
from tzerlike.processes.forked import in_child

__all__ = ["programs"]

BUGS = {
    "break_in_a_virtual_thread": ("s_tir.InjectVirtualThread",),
    "partition_of_a_short_loop": ("s_tir.LoopPartition",),
    "bfloat16_in_a_bind": ("tirx.BF16ComputeLegalize",),
    "floormod_of_a_difference": ("tirx.FlattenBuffer",),
    "loop_start_in_memory": ("s_tir.CanonicalizeLoop",),
    "reuse_of_a_live_buffer": ("tirx.StorageRewrite",),
    "vectorized_allocation": ("tirx.VectorizeLoop",),
}
"""The passes that docs/bugs are due to."""

MISLED = {"floormod_of_a_difference": ("sym.iter_map_simplify",)}
"""What those go by that is wrong."""


def walked(ir: str, step: Callable[[Any], Any] | None = None, name: str = "") -> Walk:
    """Walk along the whole pipeline at LLVM level 0, with one pass more at its beginning."""
    from tzerlike.execution.diagnosis.job import meaning_of, where_meaning_is_lost
    from tzerlike.systems import tvm_api, tvm_passes
    from tzerlike.systems.baseline import REFERENCE_TARGET, baseline_config
    from tzerlike.systems.compilation import Compilation
    from tzerlike.systems.optional import LEVELS

    def work() -> str:
        case = Case(ir)
        module = tvm_api.load_ir(ir)
        trail = tvm_passes.PassTrail(lambda index, name: None)
        passes = []
        if step is not None:
            own = tvm_api.tvm.transform.module_pass(lambda module, _: step(module), opt_level=0, name=name)
            passes.append((name, own))
        Compilation(REFERENCE_TARGET, baseline_config(LEVELS), passes, [trail]).build(module)
        meaning = meaning_of(case, module, "")
        assert meaning is not None
        return json.dumps(where_meaning_is_lost(meaning, trail)[0].to_json())

    answer, signal = in_child(work)
    assert answer is not None, f"died of signal {signal}"
    return Walk.from_json(json.loads(answer))


def planted(programs: dict[str, str], name: str) -> Walk:
    from tzerlike.systems import tvm_api

    def step(module: Any) -> Any:
        return tvm_api.module_of(apply({**MISCOMPILES, **HARMLESS}[name], tvm_api.entry_of(module)))

    return walked(programs[SEEDS[name][0]], step, f"planted.{name}")


@pytest.mark.parametrize("name", MISCOMPILES)
def test_a_miscompilation_is_named(programs: dict[str, str], name: str) -> None:
    walk = planted(programs, name)
    assert walk.suspects == (f"planted.{name}",)
    assert walk.change in (Change.RESULT, Change.UNDEFINED)
    assert (walk.difference is not None) == (walk.change is Change.RESULT)


@pytest.mark.parametrize("name", HARMLESS)
def test_nobody_is_guilty_of_a_harmless_rewrite(programs: dict[str, str], name: str) -> None:
    walk = planted(programs, name)
    assert not walk.suspects and not walk.unjudged


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "docs" / "bugs").glob("*.py")), ids=lambda p: p.stem
)
def test_known_bugs_are_named(path: Path) -> None:
    from tzerlike.systems import tvm_api

    walk = walked(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(path.read_text()))))
    assert walk.suspects == BUGS[path.stem]
    assert walk.unjudged == ()
    assert walk.misled[:1] == MISLED.get(path.stem, ())


@pytest.mark.parametrize(
    ("index", "told"),
    [("A[(7 - i) // 2]", "sym.iter_map_simplify"), ("A[i % 4]", ""), ("A[N[0] - N[0]]", ""), ("A[8 // (i - 3)]", "")],
)
@pytest.mark.parametrize("loop", ["for i in range(8)", 'with T.launch_thread("threadIdx.x", 8) as i'])
def test_what_misleads_flattening_is_named_where_it_is_wrong_about_an_index(index: str, told: str, loop: str) -> None:
    from tzerlike.execution.diagnosis.iterators import misled
    from tzerlike.systems import tvm_api

    text = f"""
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "int32"), N: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32")):
    {loop}:
        B[i] = {index}
"""
    func = tvm_api.parse_script(text)
    found = misled("tirx.FlattenBuffer", func)
    assert (found[:2] if found else ("",)) == ((told, index[2:-1]) if told else ("",))
    assert misled("tirx.RemoveNoOp", func) is None


@pytest.mark.parametrize(("index", "carries"), [("vi // 2", True), ("vi", False)])
def test_what_iterations_pass_on_is_told_from_what_is_theirs(index: str, carries: bool) -> None:
    from tzerlike.execution.diagnosis.job import carries_values, meaning_of
    from tzerlike.systems import tvm_api

    text = blocks(TWO, CARRIED.replace("vi // 2", index))
    module = tvm_api.module_of(tvm_api.parse_script(text))
    meaning = meaning_of(Case(tvm_api.dump_ir(module)), module, "")
    assert meaning is not None
    assert carries_values(meaning, module) == carries


def test_a_pass_that_has_bounds_read_again_is_named_though_readings_of_what_it_leaves_differ() -> None:
    """TVM 0.27: the start is read anew in each iteration, and the extent is too where code reads bounds in each."""
    from tzerlike.systems import tvm_api

    text = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), N: T.Buffer((1,), "int32")):
    N[0] = 1
    for i in range(N[0], 5):
        A[i] = i
        N[0] = 0
"""
    walk = walked(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    assert walk.suspects == ("s_tir.CanonicalizeLoop",)


SMALL_FLOATS = """
@T.prim_func
def main(A: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "bfloat16"), n: T.int32):
    for i in range(4):
        B[3 - i] = A[i]
        if i < n:
            B[i] = T.bfloat16(2)
"""


def test_packed_arguments_and_small_floats_as_integers_are_understood() -> None:
    """Every module down to code generation can be judged here, and is right."""
    from tzerlike.execution.diagnosis.job import meaning_of
    from tzerlike.systems import tvm_api, tvm_passes
    from tzerlike.systems.compilation import Compilation

    def work() -> str:
        module = tvm_api.module_of(tvm_api.parse_script("# from tvm.script import tirx as T\n" + SMALL_FLOATS))
        meaning = meaning_of(Case(tvm_api.dump_ir(module)), module, "")
        assert meaning is not None
        trail = tvm_passes.PassTrail(lambda index, name: None)
        Compilation("llvm", ContextConfig(), instruments=[trail]).build(module)
        return json.dumps([(turn.name, meaning.look(turn.after).state) for turn in trail.turns])

    answer, _ = in_child(work)
    assert answer is not None
    looks = json.loads(answer)
    assert {state for _, state in looks} == {"right"}
    assert {"tirx.MakePackedAPI", "tirx.BF16StorageLegalize", "tirx.LowerTVMBuiltin"} <= {name for name, _ in looks}
