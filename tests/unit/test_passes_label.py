"""Labels against rejections that were looked at one by one (tests/data/pass_labels.json): no TVM.

Each row is a rejection by apache-tvm 0.27.0.post1: a program, the passes, the pass that raised ("" for
the build that follows), the first line of the message, and the label that a reader gave it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tzerlike.case import parse_sequence
from tzerlike.passes.facts import Fact
from tzerlike.passes.label import Label, label
from tzerlike.passes.preconditions import legal

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "pass_labels.json").read_text())
DEFAULT = parse_sequence(TABLE["default_pipeline"])


def test_the_table_is_large_and_covers_every_label() -> None:
    rows = TABLE["rejections"]
    assert len(rows) >= 60
    assert {row["label"] for row in rows} == set(Label)
    assert len({row["failing"] for row in rows}) >= 15


@pytest.mark.parametrize("row", TABLE["rejections"], ids=lambda row: f"{row['program']}-{row['failing'] or 'build'}")
def test_the_label_is_the_readers(row: dict[str, str]) -> None:
    facts = frozenset(Fact(fact) for fact in TABLE["programs"][row["program"]]["facts"])
    passes = parse_sequence(row["passes"]) + (DEFAULT if row["pipeline"] == "default" else ())
    given = label(passes, facts, row["failing"], row["message"])
    assert given == row["label"]
    if legal(passes, facts, to_code=True) is None:
        assert given is not Label.ILLEGAL_ORDER
