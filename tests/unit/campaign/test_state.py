"""The state of a worker as a file, and several of them added up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tzerlike.campaign.state import (
    Kept,
    StatesRead,
    Tally,
    WorkerPool,
    WorkerState,
    Yield,
    read_pool,
    read_state,
    write_pool,
    write_state,
)
from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.stored import StoredCase

STORED = StoredCase(Case('{"nodes": []}', (PassSpec("a.B"),)), Provenance("s", worker=2, iteration=9))


def state() -> WorkerState:
    made = WorkerState(iterations=9, elapsed=1.5, worker=2, in_hand=Kept.of(STORED))
    made.exits["ok"] += 2
    made.seconds["build"] += 0.25
    made.mutators["swap"].tried += 4
    made.recent_faults.append(7)
    return made


def test_what_is_written_is_read_again_and_counted_on(tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", state())
    again = read_state(tmp_path / "state.json")
    assert again == state()
    assert again.in_hand is not None and again.in_hand.stored == STORED
    again.exits["crash"] += 1
    again.mutators["splice"].valid += 1
    assert (again.exits, again.mutators["splice"]) == ({"ok": 2, "crash": 1}, Yield(0, 1, 0))


def test_its_keys_are_those_of_before(tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", state())
    data = json.loads((tmp_path / "state.json").read_text())
    assert data["schema_version"] == 1
    assert (data["worker"], data["mutators"]) == (2, {"swap": [4, 0, 0]})
    assert data["in_hand"] == {"case": STORED.case.to_json(), "provenance": STORED.provenance.to_json(), "tries": 0}


def test_a_pool_is_read_again_from_where_it_was_before_too(tmp_path: Path) -> None:
    pool = WorkerPool([("a" * 64, 3)], [(5, 1)], ["a" * 64])
    write_pool(tmp_path / "pool.json", pool)
    assert read_pool(tmp_path / "pool.json") == pool
    before = {"iterations": 9, "elapsed": 1.0, "entries": [["a" * 64, 3]], "yields": [[5, 1]], "focused": ["a" * 64]}
    (tmp_path / "state.json").write_text(json.dumps(before))
    assert read_pool(tmp_path / "state.json") == pool
    (tmp_path / "pool.json").write_text('{"entries": [["../../x", 0]]}')
    with pytest.raises(UserError, match="entries"):
        read_pool(tmp_path / "pool.json")


def test_a_file_is_read_again_once_it_has_been_written_again(tmp_path: Path) -> None:
    path, states = tmp_path / "state.json", StatesRead()
    write_state(path, state())
    first = states.of(path)
    assert first == state() and states.of(path) is first
    later = state()
    later.iterations = 10
    write_state(path, later)
    assert states.of(path).iterations == 10
    path.write_text("{}")
    with pytest.raises(UserError):
        states.of(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        states.of(path)


def test_of_very_many_rejections_the_most_frequent_are_saved_and_all_are_kept(tmp_path: Path) -> None:
    made = state()
    made.rejected.update({f"message {number}": number for number in range(1, 1001)})
    write_state(tmp_path / "state.json", made)
    assert len(made.rejected) == 1000
    assert list(read_state(tmp_path / "state.json").rejected) == [f"message {n}" for n in range(1000, 500, -1)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ('{"elapsed": 1.0}', "iterations: missing"),
        ('{"elapsed": 1.0, "iterations": 1, "mutators": {"a": [1, -2, 0]}}', "mutators"),
        ('{"elapsed": 1.0, "iterations": 1, "in_hand": {"case": 3}}', "in_hand.case"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, data: str, says: str) -> None:
    (tmp_path / "state.json").write_text(data)
    with pytest.raises(UserError, match=says):
        read_state(tmp_path / "state.json")


def test_the_sum_leaves_the_parts_alone() -> None:
    one, other = state(), state()
    total = Tally.total([one, other])
    assert (total.iterations, total.exits, total.mutators) == (18, {"ok": 4}, {"swap": Yield(8)})
    assert (total.seconds, total.recent_faults) == ({"build": 0.5}, [7, 7])
    total.mutators["swap"].tried += 1
    assert one == other == state()
    assert Tally.total([]) == Tally()
