"""Whether a program is defined, if a compiler has refused to compile it.

What a program computes does not count then. An 8-bit float, which the interpreter does not model, is as good as one of
16 bits, and a division by zero that nothing computes is as good as none.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.systems import tvm_api
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import array_items, is_variable, s_tir, tirx, tvm
from tzerlike.tir.astray import goes_astray
from tzerlike.tir.interpreter import Verdict
from tzerlike.tir.node import key
from tzerlike.tir.scope import constant_int
from tzerlike.tir.tree import Site, Tree

_FLOAT8 = re.compile(r'"float8_[a-z0-9]*?(x\d+)?"')
_SUB_BYTE = re.compile(r'"(u?int)[1-7](x\d+)?"')
_STEERING = ("condition", "predicate", "iter_values", "min", "extent", "step")
"""Fields that say what is computed, and how often."""

_DIVISIONS = (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod)
_WRAPPING = (tirx.Broadcast, tirx.Cast, tirx.Let)
"""What TVM sees a zero through."""


def verdict_of(case: Case, module: Any, effort: Effort) -> str:
    """Return the interpreter's verdict on the program of `case`, which `module` is: of its likeness with wider numbers
    where it has 8-bit floats, or integers of less than a byte, whose likeness may at most be undefined.

    What goes astray by its text is undefined, though no input may take it there.
    """
    func = tvm_api.entry_of(module)
    if goes_astray(func):
        return Verdict.UNDEFINED
    _, _, results = interpret_seeded(func, case.input_seed, effort)
    wider = _FLOAT8.sub(lambda found: f'"float16{found[1] or ""}"', case.ir)
    whole_bytes = _SUB_BYTE.sub(lambda found: f'"{found[1]}8{found[2] or ""}"', wider)
    if results.verdict != Verdict.UNKNOWN or whole_bytes == case.ir:
        return results.verdict
    try:
        likeness = ask_compiler(lambda: tvm_api.entry_of(tvm_api.load_ir(whole_bytes)))
    except CompilerRefused:
        return results.verdict
    verdict = interpret_seeded(likeness, case.input_seed, effort)[2].verdict
    # What fits a byte may overflow what is smaller.
    return verdict if whole_bytes == wider or verdict == Verdict.UNDEFINED else results.verdict


def never_divides_by_zero(case: Case, module: Any, effort: Effort) -> bool:
    """Whether a program that TVM refuses for a division by zero computes none whatever its inputs, and has none
    written out."""
    func = tvm_api.entry_of(module)
    tree = Tree(func)
    zeros = {key(site.node.loop_var) for site in tree.of_type(tirx.For) if _is_once(site.node)}
    if any(_by_literal_zero(site.node, zeros) or (_steers(site) and _by_inputs(site, tree)) for site in tree.sites):
        return False
    return interpret_seeded(func, case.input_seed, effort)[2].defined


def _steers(site: Site) -> bool:
    if site.role in _STEERING:
        return True
    above: Any = None if site.parent is None else site.parent.node
    return type(above) is tvm.ir.Call and site.index == 0 and getattr(above.op, "name", "") == "prim.if_then_else"


def _by_inputs(place: Site, tree: Tree) -> bool:
    """Whether an expression is of anything but variables of loops and axes of blocks."""
    counted = {key(site.node.loop_var) for site in tree.of_type(tirx.For)}
    counted |= {key(axis.var) for site in tree.of_type(s_tir.SBlock) for axis in array_items(site.node.iter_vars)}
    below = [site.node for site in tree.sites if place.contains(site)]
    return any(
        type(node) in (tvm.ir.TensorLoad, tvm.ir.Call) or (is_variable(node) and key(node) not in counted)
        for node in below
    )


def _is_once(loop: Any) -> bool:
    return constant_int(loop.min) == 0 and constant_int(loop.extent) == 1


def _by_literal_zero(node: Any, zeros: Set[int]) -> bool:
    """Whether a division is by a zero, or by one of the variables of loops that are never anything else."""
    if type(node) not in _DIVISIONS:
        return False
    divisor: Any = node.b
    while type(divisor) in _WRAPPING:
        divisor = divisor.body if type(divisor) is tirx.Let else divisor.value
    return constant_int(divisor) == 0 or (is_variable(divisor) and key(divisor) in zeros)
