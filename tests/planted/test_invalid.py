"""Passes that leave ill-typed IR, or change their input, are named; neither TVM's own nor harmless ones are."""

from __future__ import annotations

import contextlib
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.planted.find_seeds import apply
from tests.planted.invalid import CHANGES_INPUT, ILL_TYPED, KEEPS_INPUT, with_statement
from tests.planted.table import HARMLESS
from tests.planted.test_planted import SEEDS, programs
from tzerlike.core.case import ContextConfig
from tzerlike.execution.diagnosis.job import where_meaning_is_lost
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.execution.offences import InputWatch, OriginWatch, TypeWatch
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api, tvm_passes
from tzerlike.systems.compilation import Compilation
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.tir.typecheck import TypeChecker, is_well_typed

ROOT = Path(__file__).resolve().parents[2]

__all__ = ["programs"]

PROGRAM = """
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in T.vectorized(8):
        B[i] = T.if_then_else(A[i] > n, T.exp(B[i]), T.Cast("float32", A[i] // 3))
"""
EVERY_SEED = 48


def module() -> Any:
    return tvm_api.module_of(tvm_api.parse_script(PROGRAM))


def offences(step: Callable[[Any], Any], given: Any = None) -> list[tuple[str, str, str]]:
    """What is found in a compilation that begins with a pass of that name."""

    def work() -> str:
        own = tvm_api.tvm.transform.module_pass(lambda module, _: step(module), opt_level=0, name="itself")
        watches = [TypeWatch(["planted"]), InputWatch(["planted"])]
        with contextlib.suppress(CompilerRefused):
            Compilation("llvm", ContextConfig(), [("planted", own)], watches).build(
                module() if given is None else given
            )
        return json.dumps([(one.check, one.pass_name, one.rule) for watch in watches for one in watch.found()])

    # TVM may die of what is left.
    answer, _ = in_child(work)
    return [] if answer is None else [tuple(one) for one in json.loads(answer)]


ALWAYS = [("immutability", "tirx.AnnotateEntryFunc", "input")]
"""What TVM 0.27 does itself."""


@pytest.mark.parametrize("name", ILL_TYPED)
def test_ill_typed_statements_break_their_rule(name: str) -> None:
    rule, make = ILL_TYPED[name]
    func = tvm_api.entry_of(module())
    bad = TypeChecker().check(with_statement(func, make()))
    assert bad is not None
    assert bad.rule == rule


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("buffer of a negative extent", "the buffer b"),
        ("axis with another value", "the axis v = v of the block b"),
        ("axis of a sum of two widths", "the axis v = T.Add(v, v_1) of the block b"),
        ("sum of two widths", ""),
    ],
)
def test_what_is_ill_typed_is_named(name: str, place: str) -> None:
    bad = TypeChecker().check(with_statement(tvm_api.entry_of(module()), ILL_TYPED[name][1]()))
    assert bad is not None
    assert bad.place == place


def test_a_checker_does_not_take_for_typed_what_it_found_to_be_none() -> None:
    _, make = ILL_TYPED["sum of two widths"]
    func, checker = with_statement(tvm_api.entry_of(module()), make()), TypeChecker()
    assert checker.check(func) is not None
    assert checker.check(func.with_attr("again", 1)) is not None


@pytest.mark.parametrize("name", ["sum of two widths", "function typed otherwise", "axis with another value"])
def test_the_pass_that_leaves_ill_typed_ir_is_named(name: str) -> None:
    """Before TVM sees it: what it makes of that is none of its faults."""
    rule, make = ILL_TYPED[name]

    def step(given: Any) -> Any:
        return tvm_api.module_of(with_statement(tvm_api.entry_of(given), make()))

    assert offences(step)[0] == ("types", "planted", rule)
    begun = step(module())
    assert [one for one in offences(lambda given: given, begun) if one[0] == "types"] == []


@pytest.mark.parametrize("name", CHANGES_INPUT)
def test_the_pass_that_changes_its_input_is_named(name: str) -> None:
    assert offences(CHANGES_INPUT[name])[:1] == [("immutability", "planted", "input")]


def test_what_became_of_an_input_is_said() -> None:
    def changed(change: Callable[[Any], object]) -> str:
        watch, given = InputWatch(), module()
        info = types.SimpleNamespace(name="planted")
        watch.run_before_pass(given, info)
        change(given)
        watch.run_after_pass(given, info)
        return watch.found()[0].where

    func = tvm_api.entry_of(module())
    added = changed(lambda given: given.update_func(tvm_api.tvm.ir.GlobalVar("other"), func))
    assert added == "afterwards the input module has the function other"
    marked = changed(lambda given: given.update_func(given.get_global_var("main"), func.with_attr("mark", 1)))
    assert marked == "afterwards main of the input module has the attribute mark"


@pytest.mark.parametrize("name", KEEPS_INPUT)
def test_a_pass_that_keeps_its_input_is_not(name: str) -> None:
    assert offences(KEEPS_INPUT[name]) == ALWAYS


def test_the_pass_around_the_one_that_changes_its_input_is_not_to_blame() -> None:
    inner = tvm_api.tvm.transform.module_pass(
        lambda module, _: CHANGES_INPUT["the input gets one function more"](module), opt_level=0, name="inner"
    )
    assert [one[1] for one in offences(lambda given: inner(given))][:1] == ["inner"]
    assert "planted" not in [one[1] for one in offences(lambda given: inner(given))]


def test_a_pass_that_changes_its_input_before_one_inside_of_it_is_to_blame() -> None:
    """tirx.SplitHostDevice does, and then runs ConvertSSA."""
    inner = tvm_api.tvm.transform.module_pass(lambda module, _: module, opt_level=0, name="inner")
    change = CHANGES_INPUT["the input gets one function more"]
    assert [one[1] for one in offences(lambda given: inner(change(given)))][:1] == ["planted"]


def blamed_in(*passes: tuple[str, Callable[[Any], Any]], given: Any = None) -> list[str]:
    """Who is to blame for what the passes of a compilation are given, each time that changes."""

    def work() -> str:
        transform = tvm_api.tvm.transform
        own = [
            (name, transform.module_pass(lambda module, _, step=step: step(module), opt_level=0, name=name))
            for name, step in passes
        ]
        seen: list[str] = []
        names = [name for name, _ in passes]
        watch = OriginWatch(names, lambda found: seen.append("" if found is None else found.pass_name))
        with contextlib.suppress(CompilerRefused):
            Compilation("llvm", ContextConfig(), own, [watch]).build(module() if given is None else given)
        return json.dumps(seen)

    answer, _ = in_child(work)
    assert answer is not None
    return list(json.loads(answer))


def test_a_pass_is_not_to_blame_for_what_it_is_given() -> None:
    _, make = ILL_TYPED["store of another width"]

    def spoil(given: Any) -> Any:
        return tvm_api.module_of(with_statement(tvm_api.entry_of(given), make()))

    assert blamed_in(("spoils", spoil), ("looks on", lambda given: given))[-1:] == ["spoils"]
    assert blamed_in(("spoils", spoil), ("mends", lambda _: module())) == ["spoils", ""]
    assert blamed_in(("looks on", lambda given: given), given=spoil(module())) == [], "nobody left it so"


def test_who_leaves_what_it_is_there_to_remove_is_to_blame_while_the_pass_that_trusts_it_runs() -> None:
    bug = (ROOT / "docs/bugs/bfloat16_in_a_bind.py").read_text(encoding="utf-8")
    program = tvm_api.module_of(tvm_api.parse_script(bug))
    assert blamed_in(given=program) == ["tirx.BF16ComputeLegalize", ""]
    stored = bug.replace("v: T.let[T.float32] = ", "B[i] = ").replace("        B[i] = v\n", "")
    assert blamed_in(given=tvm_api.module_of(tvm_api.parse_script(stored))) == []


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_rewrites_are_well_typed(programs: dict[str, str], name: str) -> None:
    made = [apply(HARMLESS[name], tvm_api.entry_of(tvm_api.load_ir(programs[seed]))) for seed in SEEDS[name][:3]]
    assert len(made) == 3
    assert all(is_well_typed(func) for func in made)


def test_tvm_leaves_well_typed_ir(programs: dict[str, str]) -> None:
    for seed in sorted(programs)[::EVERY_SEED]:
        watch = TypeWatch()
        Compilation('{"kind": "llvm", "opt-level": 0}', ContextConfig(), [], [watch]).build(
            tvm_api.load_ir(programs[seed])
        )
        assert watch.found() == []


def test_seeds_are_well_typed(programs: dict[str, str]) -> None:
    some = sorted(programs)[::4]
    assert [name for name in some if not is_well_typed(tvm_api.entry_of(tvm_api.load_ir(programs[name])))] == []


def test_who_leaves_ill_typed_ir_is_blamed_for_what_comes_of_it() -> None:
    _, make = ILL_TYPED["store of another width"]

    def step(given: Any) -> Any:
        return tvm_api.module_of(with_statement(tvm_api.entry_of(given), make()))

    def work() -> str:
        own = tvm_api.tvm.transform.module_pass(lambda module, _: step(module), opt_level=0, name="planted")
        trail = tvm_passes.PassTrail(lambda index, name: None)
        with contextlib.suppress(CompilerRefused):
            Compilation("llvm", ContextConfig(), [("planted", own)], [trail]).build(module())
        walk, _ = where_meaning_is_lost(None, trail)
        return json.dumps(walk.to_json())

    answer, _ = in_child(work)
    assert answer is not None
    walk = json.loads(answer)
    assert (walk["change"], walk["suspects"]) == (Change.ILL_TYPED.value, ["planted"])
