"""Which cores a campaign takes for its workers."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from tzerlike.processes import cores
from tzerlike.processes.cores import claim, free_to_choose, has_quota, in_order, taken

FAR = 1 << 20
"""A core that no machine has, so that no campaign beside the tests has claimed it."""


def test_cores_that_another_campaign_has_are_left_to_it() -> None:
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        assert taken(2, (FAR, FAR + 1, FAR + 2), claim, theirs) == (FAR, FAR + 1)
        assert taken(1, (FAR, FAR + 1, FAR + 2), claim, ours) == (FAR + 2,)


def test_workers_without_a_core_for_each_have_none_at_all() -> None:
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        assert taken(1, (FAR,), claim, theirs) == (FAR,)
        assert taken(2, (FAR, FAR + 1), claim, ours) == ()
        assert taken(3, (FAR + 1, FAR + 2), claim, ours) == ()
        # What was taken in vain is free again.
        assert taken(2, (FAR + 1, FAR + 2), claim, ours) == (FAR + 1, FAR + 2)


def test_the_cores_of_a_campaign_that_has_ended_are_free_again() -> None:
    for _ in range(2):
        with contextlib.ExitStack() as stack:
            assert taken(1, (FAR,), claim, stack) == (FAR,)


def test_two_threads_of_one_core_do_not_both_come_first() -> None:
    assert in_order({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}) == (0, 2, 1, 3)
    assert in_order({0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}) == (0, 1, 2, 3)


def test_a_command_that_was_given_a_part_of_the_machine_is_left_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    count = os.cpu_count()
    assert count is not None
    monkeypatch.setattr(os, "cpu_count", lambda: count + 1)
    assert free_to_choose() == ()
    monkeypatch.setattr(os, "cpu_count", lambda: len(os.sched_getaffinity(0)))
    monkeypatch.setattr(cores, "has_quota", lambda own, root: False)
    assert sorted(free_to_choose()) == sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(cores, "has_quota", lambda own, root: True)
    assert free_to_choose() == ()


@pytest.mark.parametrize(
    ("own", "file", "content", "limited"),
    [
        ("0::/a/b\n", "a/b/cpu.max", "200000 100000", True),
        ("0::/a/b\n", "a/cpu.max", "200000 100000", True),
        ("0::/a/b\n", "cpu.max", "200000 100000", True),
        ("0::/a/b\n", "a/b/cpu.max", "max 100000", False),
        ("0::/a/b\n", "a/c/cpu.max", "200000 100000", False),
        ("4:cpu,cpuacct:/a\n", "cpu,cpuacct/a/cpu.cfs_quota_us", "50000", True),
        ("4:cpu,cpuacct:/a\n", "cpu,cpuacct/a/cpu.cfs_quota_us", "-1", False),
        ("3:memory:/a\n", "memory/a/cpu.max", "200000 100000", False),
    ],
)
def test_a_quota_of_processor_time_is_seen(tmp_path: Path, own: str, file: str, content: str, limited: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content + "\n")
    assert has_quota(own, tmp_path) is limited
