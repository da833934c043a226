"""One declared type for each kind of file: older versions are migrated or refused, newer ones refused, in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tzerlike.core.errors import UserError
from tzerlike.core.schema import Count, Schema, Text, WrongVersion


class Pair(msgspec.Struct):
    name: Text
    count: Count


def _named(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "name": data.get("title")}


PAIR = Schema(Pair, "pair", version=3, older={2: _named})


def test_what_is_written_is_read() -> None:
    stamped = PAIR.stamped({"name": "x", "count": 3})
    assert PAIR.of(stamped) == Pair("x", 3)


def test_an_older_version_is_migrated_or_refused() -> None:
    assert PAIR.of({"schema_version": 2, "title": "old", "count": 1}) == Pair("old", 1)
    with pytest.raises(WrongVersion, match="pair: schema_version 1 is older than this tzerlike reads"):
        PAIR.of({"schema_version": 1, "name": "x", "count": 1})


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    path.write_text(json.dumps({"schema_version": 4, "name": "x", "count": 1}))
    with pytest.raises(WrongVersion, match=r"pair\.json: pair: schema_version 4 is newer than 3") as refused:
        PAIR.read(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "pair: expected object, found list"),
        (None, "pair: expected object, found null"),
        ({"name": "x", "count": 1}, "pair.schema_version: missing"),
        ({"schema_version": True}, "pair.schema_version: expected int"),
        ({"schema_version": 3, "name": "x"}, "pair.count: missing"),
        ({"schema_version": 3, "name": "x", "count": -1}, "pair.count: expected int >= 0"),
        ({"schema_version": 3, "name": "x", "count": True}, "pair.count: expected int, found bool"),
        ({"schema_version": 3, "name": None, "count": 1}, "pair.name: expected str, found null"),
        ({"schema_version": 2, "count": 1}, "pair.name: expected str, found null"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(data: object, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        PAIR.of(data)


def test_a_file_that_states_no_version_has_the_one_declared() -> None:
    assert Schema(Pair, "pair", unstated=1).of({"name": "x", "count": 1}) == Pair("x", 1)
