"""Every mutator keeps its contract on every sample, and changes compose."""

from random import Random

import pytest

from tzerlike.core.errors import UserError
from tzerlike.core.rng import rng_for
from tzerlike.mutators import ALL, GROUPS, MutationEnv, make_mutators
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import tirx
from tzerlike.testing import check_mutator, sample_functions
from tzerlike.tir.tree import Kind, Tree


@pytest.fixture(scope="module")
def functions():
    return sample_functions()


@pytest.mark.parametrize("mutator", make_mutators(), ids=lambda m: m.name)
def test_contract(mutator, functions):
    check_mutator(mutator, functions)


def test_unknown_mutator_is_named_with_the_known_ones():
    with pytest.raises(UserError, match="--mutators: no mutator 'magic'; there are constants"):
        make_mutators(["constants", "magic"])
    with pytest.raises(UserError, match="no mutator 'swpa'; nearest: swap"):
        make_mutators(["swpa"])


def test_groups_and_order():
    assert tuple(m.name for m in make_mutators(["starter"])) == GROUPS["starter"]
    assert [m.name for m in make_mutators(["swap", "constants"])] == ["constants", "swap"]
    assert tuple(m.name for m in make_mutators()) == ALL


def test_twenty_generations_stay_well_formed_and_in_bounds(functions):
    env = MutationEnv(max_nodes=400, donor=lambda: functions[0])
    mutators = make_mutators()
    for number, func in enumerate(functions):
        rng = rng_for(3, number)
        for _ in range(20):
            child = mutators[rng.randrange(len(mutators))](func, rng, env)
            if child is not None and tvm_api.well_formed(tvm_api.module_of(child)):
                assert Tree(child).size <= 400
                func = child


def test_replacing_every_site_by_itself_gives_an_equal_function(functions):
    for func in functions:
        tree = Tree(func)
        for site in tree.sites:
            if site.kind is not Kind.FIXED:
                assert tvm_api.structural_equal(tree.replace(site, site.node), func)


def test_a_replacement_shares_what_it_does_not_touch(functions):
    tree = Tree(functions[1])
    last = tree.of_type(tirx.IntImm)[-1]
    child = Tree(tree.replace(last, tirx.IntImm("int32", 12345)))
    assert [s.node.same_as(o.node) for s, o in zip(tree.sites, child.sites, strict=True)].count(False) <= 8


def test_overlapping_changes_are_refused(functions):
    tree = Tree(functions[1])
    site = tree.of_type(tirx.Add)[0]
    with pytest.raises(ValueError, match="overlap"):
        tree.replace_all([(site, site.node), (tree.below(site)[1], site.node.a)])


def test_children_do_not_depend_on_how_often_a_mutator_ran(functions):
    for mutator in make_mutators():
        first = [mutator(functions[1], Random(seed), MutationEnv()) for seed in range(3)]
        second = [mutator(functions[1], Random(seed), MutationEnv()) for seed in (2, 1, 0)][::-1]
        for a, b in zip(first, second, strict=True):
            assert (a is None) == (b is None)
            assert a is None or tvm_api.structural_equal(a, b, map_free_vars=True)
