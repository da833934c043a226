"""Claims to findings where workers have one directory, or one that is a mirror."""

from __future__ import annotations

from pathlib import Path

import pytest

from tzerlike.campaign.claims import Claims, wishes


class TestClaims:
    """In a directory that machines share."""

    def test_the_second_worker_leaves_a_finding_to_the_first(self, tmp_path: Path) -> None:
        one, other = Claims(tmp_path, 0), Claims(tmp_path, 1)
        with one.held("abc") as first, other.held("abc") as second:
            assert first and not second
        with other.held("abc") as second:
            assert second

    def test_a_worker_that_comes_back_gives_up_what_it_had(self, tmp_path: Path) -> None:
        Claims(tmp_path, 0)._lay("abc")
        Claims(tmp_path, 0).forget()
        with Claims(tmp_path, 1).held("abc") as ours:
            assert ours

    def test_so_does_one_in_a_mirror(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tzerlike.campaign.claims._PATIENCE", 0.05)
        (tmp_path / ".mirror").touch()
        Claims(tmp_path, 0)._lay("abc")
        assert list(wishes(tmp_path / "claims")) == [("abc", "0")]
        Claims(tmp_path, 1).forget()
        assert list(wishes(tmp_path / "claims"))
        Claims(tmp_path, 0).forget()
        assert not list((tmp_path / "claims").iterdir())

    def test_a_claim_of_a_machine_that_is_gone_lapses(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Claims(tmp_path, 0)._lay("abc")
        monkeypatch.setattr("tzerlike.campaign.claims.STALE", -1.0)
        with Claims(tmp_path, 1).held("abc") as ours:
            assert ours

    def test_where_nobody_answers_a_machine_goes_by_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tzerlike.campaign.claims._PATIENCE", 0.05)
        (tmp_path / ".mirror").touch()
        with Claims(tmp_path, 0).held("abc") as ours:
            assert ours
