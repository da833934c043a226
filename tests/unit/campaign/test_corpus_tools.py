"""Corpora made small and put together; the cover is checked against all subsets, tracing is a stub."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tzerlike.campaign.corpora.cover import Covered, smallest_cover, union
from tzerlike.campaign.corpora.tools import case_files
from tzerlike.campaign.directory import CampaignDir
from tzerlike.cli.commands.corpus import corpus
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.stored import StoredCase

corpora = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.tuples(st.integers(1, 50), st.sets(st.integers(0, 30), max_size=8)),
    max_size=7,
)


def covered(size: int, blocks: set[int]) -> Covered:
    return Covered.of(size, numpy.array(sorted(blocks, reverse=True), numpy.uint32))


@given(corpora)
def test_what_is_kept_reaches_all_and_none_of_it_is_needless(plain: dict[str, tuple[int, set[int]]]) -> None:
    kept = smallest_cover({name: covered(*case) for name, case in plain.items()})
    reached = set().union(*(plain[name][1] for name in kept))
    assert reached == set().union(*(blocks for _, blocks in plain.values()))
    for name in kept:
        assert set().union(*(plain[other][1] for other in kept if other != name)) != reached


@given(corpora, st.randoms())
def test_the_order_of_the_cases_does_not_matter(plain: dict[str, tuple[int, set[int]]], shuffler: object) -> None:
    cases = {name: covered(*case) for name, case in plain.items()}
    names = list(cases)
    shuffler.shuffle(names)  # type: ignore[attr-defined]
    assert smallest_cover({name: cases[name] for name in names}) == smallest_cover(cases)


@given(corpora)
def test_it_is_not_far_from_the_best(plain: dict[str, tuple[int, set[int]]]) -> None:
    everything = set().union(*(blocks for _, blocks in plain.values()))
    best = min(
        sum(plain[name][0] for name in chosen)
        for count in range(len(plain) + 1)
        for chosen in itertools.combinations(plain, count)
        if set().union(*(plain[name][1] for name in chosen)) == everything
    )
    kept = smallest_cover({name: covered(*case) for name, case in plain.items()})
    # The greedy bound: the harmonic number of the largest set, here at most of eight.
    assert sum(plain[name][0] for name in kept) <= best * sum(1 / n for n in range(1, 9))


def test_of_equals_the_smaller_is_kept() -> None:
    cases = {"a": covered(9, {1, 2}), "b": covered(3, {1, 2}), "c": covered(100, {1, 2, 3})}
    assert smallest_cover(cases) == ["c"]
    assert smallest_cover({"a": cases["a"], "b": cases["b"]}) == ["b"]


@given(st.sets(st.integers(0, 2**31)))
def test_blocks_come_back(blocks: set[int]) -> None:
    case = covered(1, blocks)
    assert case.blocks.tolist() == sorted(blocks)
    assert case.count == len(blocks)
    assert case.within(numpy.array([5, 7], numpy.uint32)).blocks.tolist() == sorted(blocks & {5, 7})


def test_the_union_is_ascending() -> None:
    assert union({"a": covered(1, {5, 2}), "b": covered(1, {9, 2})}).tolist() == [2, 5, 9]


def campaign(root: Path, *texts: str) -> Path:
    directory = CampaignDir(root)
    directory.create(1)
    for text in texts:
        directory.save_case(StoredCase(Case(text), Provenance("seed", mutator="m", generation=2)))
    return root


def test_merging_keeps_each_case_once(tmp_path: Path) -> None:
    first, second = campaign(tmp_path / "a", "x", "y"), campaign(tmp_path / "b", "y", "z")
    (second / "corpus" / f"{'0' * 64}.json").write_text("{}")
    out = tmp_path / "c"
    done = CliRunner().invoke(corpus, ["merge", str(first), str(second), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["cases"], told["added"], len(told["problems"])) == (3, 3, 1)
    assert CampaignDir(out).corpus_ids() == sorted(Case(text).id for text in "xyz")
    again = CliRunner().invoke(corpus, ["merge", str(first), "--out", str(out), "--json"])
    assert json.loads(again.output)["added"] == 0
    rows = json.loads(CliRunner().invoke(corpus, ["list", str(out / "corpus"), "--json"]).output)["cases"]
    assert [row["id"] for row in rows] == CampaignDir(out).corpus_ids()
    assert {row["generation"] for row in rows} == {2}


def test_minimising_writes_what_is_kept_and_says_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = campaign(tmp_path / "a", "x", "y", "z")
    blocks = {Case("x").id: {1, 2}, Case("y").id: {2}, Case("z").id: {3}}

    def traced(paths: dict[str, Path], oracles: object, client: object, steps: object = None) -> dict[str, Covered]:
        reached = blocks if len(paths) == 3 else later
        return {name: covered(10, reached[name]) for name in paths}

    monkeypatch.setattr("tzerlike.campaign.corpora.tools.traced", traced)
    for later, kept in ((blocks, "xz"), ({**blocks, Case("x").id: {1}}, "xyz")):  # noqa: B007 - read by the stub
        out = tmp_path / kept
        done = CliRunner().invoke(corpus, ["minimize", str(root), "--out", str(out), "--json"])
        told = json.loads(done.output)
        assert (done.exit_code, told["lost"], told["blocks"]) == (0, 0, 3)
        assert CampaignDir(out).corpus_ids() == sorted(Case(text).id for text in kept)
    later = {**blocks, Case("z").id: set()}
    done = CliRunner().invoke(corpus, ["minimize", str(root), "--json"])
    assert (done.exit_code, json.loads(done.output)["lost"]) == (1, 1)
    assert len(CampaignDir(root).corpus_ids()) == 3


def test_a_corpus_is_not_minimised_into_itself(tmp_path: Path) -> None:
    root = campaign(tmp_path / "a", "x")
    done = CliRunner().invoke(corpus, ["minimize", str(root), "--out", str(root / ".." / "a")])
    assert isinstance(done.exception, UserError)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_directory_without_cases_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=name):
        case_files(tmp_path / name)
