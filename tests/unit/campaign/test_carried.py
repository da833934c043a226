"""A carried corpus as a worker sees it: its share, the order, and what stays behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundles import program, write_case
from tzerlike.campaign.corpora.carried import Carried, case_ids, corpus_directory
from tzerlike.campaign.shard import Shard
from tzerlike.core.case import PassSpec
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.harnesses.tir.pairs import TirPairs


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twenty cases; each file is named by its case."""
    for number in range(20):
        add(tmp_path, program(), input_seed=number)
    return tmp_path


def add(directory: Path, ir: str, **fields: object) -> str:
    case = write_case(directory / "new", ir, **fields)
    (directory / "new").rename(directory / f"{case.id}.json")
    return case.id


def share(corpus: Path, number: int = 0, jobs: int = 1, after: str = "") -> Carried:
    return Carried(corpus, Shard(number, jobs), lambda case: None, after)


def ids(carried: Carried) -> list[str]:
    return [stored.case.id for stored in carried]


def test_shares_have_everything_once(corpus: Path) -> None:
    shares = [ids(share(corpus, number, 3)) for number in range(3)]
    assert sorted(i for part in shares for i in part) == case_ids(corpus)
    assert all(part == sorted(part) for part in shares)


def test_a_share_goes_on_where_it_stopped_although_files_came_and_went(corpus: Path) -> None:
    first = share(corpus)
    taken = [next(first).case.id for _ in range(5)]
    assert first.last == taken[-1]
    (corpus / f"{taken[0]}.json").unlink()
    for number in range(20, 40):
        add(corpus, program(), input_seed=number)
    rest = ids(share(corpus, after=first.last))
    assert rest == [i for i in case_ids(corpus) if i > taken[-1]]


def test_what_does_not_fit_stays_behind_and_is_named(corpus: Path) -> None:
    harness = TirPairs(CampaignConfig(seed=1), lambda *job: ([], None, 0))
    good = set(case_ids(corpus))
    bad = {
        "not JSON": "ab" * 32,
        "cuda": add(corpus, program(), target='{"kind": "cuda"}'),
        "no pass 'gone'": add(corpus, program(), passes=(PassSpec("gone"),)),
        "not a program": add(corpus, "nonsense"),
    }
    (corpus / f"{'ab' * 32}.json").write_text("{")
    carried = Carried(corpus, Shard(0, 1), harness.admit)
    assert len(carried) == 24
    assert {stored.case.id for stored in carried} == good
    assert len(carried.problems) == len(bad)
    for word in bad:
        assert any(word in problem for problem in carried.problems), word


def test_the_corpus_of_a_campaign_and_a_bare_one_are_found(tmp_path: Path) -> None:
    (tmp_path / "c" / "corpus").mkdir(parents=True)
    assert corpus_directory(tmp_path / "c") == tmp_path / "c" / "corpus"
    (tmp_path / "empty").mkdir()
    assert corpus_directory(tmp_path / "empty") == tmp_path / "empty"
    add(tmp_path / "empty", program())
    assert corpus_directory(tmp_path / "empty") == tmp_path / "empty"


def test_what_holds_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a directory"):
        corpus_directory(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="holds no corpus"):
        corpus_directory(tmp_path)
