"""Which cores a campaign takes for its workers."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

import pytest

from tzerlike.processes import cores
from tzerlike.processes.cores import claim, free_to_choose, in_order, quota, taken, usable_cores

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
    monkeypatch.setattr(cores, "_OF_THE_MACHINE", cores.OWN_PROCESSES.stat().st_ino)
    monkeypatch.setattr(cores, "quota", lambda own, root: math.inf)
    assert sorted(free_to_choose()) == sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(cores, "quota", lambda own, root: 0.5)
    assert free_to_choose() == ()


def test_who_is_in_a_container_does_not_see_what_others_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: len(os.sched_getaffinity(0)))
    monkeypatch.setattr(cores, "quota", lambda own, root: math.inf)
    monkeypatch.setattr(cores, "_OF_THE_MACHINE", cores.OWN_PROCESSES.stat().st_ino)
    assert sorted(free_to_choose()) == sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(cores, "_OF_THE_MACHINE", 0)
    assert free_to_choose() == ()


def test_there_are_as_many_workers_as_cores_that_they_may_keep_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    siblings = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3", 4: "4-5", 5: "4-5"}
    monkeypatch.setattr(cores, "_siblings", siblings.__getitem__)
    for allowed, most, workers in (
        ({0, 1, 2, 3, 4, 5}, math.inf, 3),
        ({0, 1, 2}, math.inf, 2),
        ({0, 1, 2, 3, 4, 5}, 2.5, 2),
        ({0, 1, 2, 3, 4, 5}, 0.5, 1),
    ):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, allowed=allowed: allowed)
        monkeypatch.setattr(cores, "quota", lambda own, root, most=most: most)
        assert usable_cores() == workers


@pytest.mark.parametrize(
    ("own", "file", "content", "most"),
    [
        ("0::/a/b\n", "a/b/cpu.max", "200000 100000", 2.0),
        ("0::/a/b\n", "a/cpu.max", "200000 100000", 2.0),
        ("0::/a/b\n", "cpu.max", "200000 100000", 2.0),
        ("0::/a/b\n", "a/b/cpu.max", "max 100000", math.inf),
        ("0::/a/b\n", "a/c/cpu.max", "200000 100000", math.inf),
        ("4:cpu,cpuacct:/a\n", "cpu,cpuacct/a/cpu.cfs_quota_us", "50000", 0.5),
        ("4:cpu,cpuacct:/a\n", "cpu,cpuacct/a/cpu.cfs_quota_us", "-1", math.inf),
        ("3:memory:/a\n", "memory/a/cpu.max", "200000 100000", math.inf),
    ],
)
def test_a_quota_of_processor_time_is_seen(tmp_path: Path, own: str, file: str, content: str, most: float) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content + "\n")
    (path.parent / "cpu.cfs_period_us").write_text("100000\n")
    assert quota(own, tmp_path) == most
