"""Mutators of shapes and memory: what they make of blocks, and that they change something."""

from random import Random

import pytest

from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.systems.tvm_api import array_items, parse_script, s_tir, structural_equal, tirx
from tzerlike.tir.tree import Tree

BLOCK = parse_script("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")):
    for i, j in T.grid(64, 8):
        with T.sblock("b"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] + T.float32(0)
""")


def test_an_axis_is_as_long_as_its_loop_when_that_becomes_symbolic() -> None:
    (symbolic,) = make_mutators(["symbolic-shape"])
    lengths = set()
    for seed in range(20):
        tree = Tree(symbolic(BLOCK, Random(seed), MutationEnv()))
        loops = {hash(site.node.loop_var): site.node.extent for site in tree.of_type(tirx.For)}
        (realize,) = (site.node for site in tree.of_type(s_tir.SBlockRealize) if site.node.block.name_hint == "b")
        for axis, value in zip(array_items(realize.block.iter_vars), array_items(realize.iter_values), strict=True):
            assert structural_equal(axis.dom.extent, loops[hash(value)])
            lengths.add(type(axis.dom.extent))
    assert lengths == {tirx.Var, tirx.IntImm}


@pytest.mark.parametrize("name", ["constants", "buffer-layout", "buffer-shape", "function-attributes"])
def test_a_mutant_is_another_program(name: str) -> None:
    (mutator,) = make_mutators([name])
    made = [mutator(BLOCK, Random(seed), MutationEnv()) for seed in range(60)]
    children = [child for child in made if child is not None]
    assert children
    assert not any(structural_equal(child, BLOCK) for child in children)
