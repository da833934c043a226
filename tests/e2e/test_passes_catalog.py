"""The catalogue against the installed TVM."""

from __future__ import annotations

import pytest

from tzerlike.core.case import PassSpec, parse_sequence, print_sequence
from tzerlike.core.errors import UserError
from tzerlike.core.rng import rng_for
from tzerlike.passes import catalog, sequence
from tzerlike.passes.arguments import ARGUMENTS, EXCLUDED, OPTIMISATIONS, OPTIONS, OPTIONS_READ
from tzerlike.passes.catalog import discover, instantiate, registered_passes
from tzerlike.passes.dlight import DLIGHT
from tzerlike.passes.info import Pool
from tzerlike.passes.preconditions import PRECONDITIONS
from tzerlike.systems import TVM
from tzerlike.systems.tvm_api import tvm
from tzerlike.systems.tvm_passes import pass_constructors, pass_context


def test_every_registered_pass_is_in_the_table_or_excluded_with_a_reason() -> None:
    registered = {TVM.pass_name(name) for name in registered_passes()}
    assert sorted(registered - set(PRECONDITIONS) - set(EXCLUDED)) == []
    assert sorted((set(PRECONDITIONS) | set(EXCLUDED)) - registered) == [DLIGHT]
    assert set(PRECONDITIONS) & set(EXCLUDED) == set()
    assert {info.name for info in discover()} == set(PRECONDITIONS)
    assert all(EXCLUDED.values()) and all(rule.source for rule in PRECONDITIONS.values())


def test_a_pass_that_the_table_lacks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(pass_constructors())
    monkeypatch.setattr(catalog, "pass_constructors", lambda: known | {"tirx.transform.Novel": ()})
    assert "tirx.transform.Novel" in registered_passes()
    assert "tirx.Novel" not in PRECONDITIONS


def test_the_tables_name_only_what_exists() -> None:
    names = {info.name for info in discover()}
    assert set(ARGUMENTS) <= names
    assert set(OPTIONS_READ) <= names
    assert set(OPTIMISATIONS) <= {info.internal_name for info in discover()} & names
    options = tvm.transform.PassContext.list_configs()
    for key in (*OPTIONS, *(option for read in OPTIONS_READ.values() for option in read)):
        assert key in options or key.rpartition(".")[0] in options


def test_the_catalogue_is_sorted_and_large() -> None:
    names = [info.name for info in discover()]
    assert names == sorted(set(names)) and len(names) >= 70


def test_every_pass_is_constructed_with_every_value_of_its_domain() -> None:
    for info in discover():
        for parameter in info.parameters:
            for value in parameter.domain:
                args = {p.name: p.domain[0] for p in info.parameters} | {parameter.name: value}
                built = instantiate(PassSpec(info.name, tuple(args.items())))
                assert built.info.name.startswith(info.internal_name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tirx.UnrolLoop", "no pass 'tirx.UnrolLoop' in this TVM; nearest: tirx.UnrollLoop"),
        ('s_tir.ThreadSync{scope="warp"}', "has no argument 'scope'; nearest: storage_scope"),
        ("s_tir.ThreadSync", "needs the argument 'storage_scope'"),
        ("tirx.UnrollLoop{a=1}", "has no argument 'a'; it takes none"),
        ("s_tir.ThreadSync{storage_scope=3}", "the constructor refuses these arguments"),
        ('tirx.BindTarget{target="{"}', "the constructor refuses these arguments"),
    ],
)
def test_faults_of_the_user_are_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        instantiate(parse_sequence(text)[0])
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_random_sequences_and_contexts_are_accepted_by_tvm_and_survive_their_text() -> None:
    for seed in range(200):
        rng = rng_for(seed)
        passes = sequence.random_sequence(rng, Pool(discover()))
        assert parse_sequence(print_sequence(passes)) == passes
        for spec in passes:
            instantiate(spec)
        config = sequence.random_config(rng)
        for _ in range(5):
            config = sequence.mutate_config(config, rng)
            pass_context(config)
