"""A machine's part of a campaign, as --shard says it."""

from __future__ import annotations

import pytest

from tzerlike.campaign.shard import Part
from tzerlike.core.errors import UserError


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/2/3", "-1/4"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--shard"):
        Part.of_text(text, 1)


def test_the_parts_share_all_work_once() -> None:
    shards = [shard for node in range(3) for shard in Part.of_text(f"{node + 1}/3", 2).shards]
    assert [shard.index for shard in shards] == list(range(6))
    assert sorted(number for shard in shards for number in shard.of(range(100))) == list(range(100))
    assert sum(shard.quota(101) or 0 for shard in shards) == 101
    assert shards[2].of_other_machines(range(6)) == [0, 4]
