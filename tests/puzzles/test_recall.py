"""What a job lays down that depends on its item alone is asked for once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.puzzles.conftest import LIMITS, served
from tzerlike.coverage import NoCoverage
from tzerlike.execution import executor as of_executor
from tzerlike.execution.executor import ForkExecutor
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import no_cases
from tzerlike.processes.lane import Lane


def say_who(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    channel.add_result({"process": os.getpid(), "said": item["say"]})


def say_and_die(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    say_who(item, channel, seconds)
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture
def executor() -> Iterator[ForkExecutor]:
    lane = Lane.prepare(0, NoCoverage(), no_cases, {"who": say_who, "die": say_and_die}, confined=False)
    with served(lane, LIMITS) as running:
        yield running


def test_the_same_item_takes_one_child(executor: ForkExecutor) -> None:
    first = executor.recall("who", {"say": "a"})
    assert executor.recall("who", {"say": "a"}) == first
    other = executor.recall("who", {"say": "b"})
    assert other[0]["said"] == "b"
    assert other[0]["process"] != first[0]["process"]
    assert executor.call("who", {"say": "a"})[0] != first


def test_what_a_child_died_of_is_asked_again(executor: ForkExecutor) -> None:
    assert executor.recall("die", {"say": "a"}) != executor.recall("die", {"say": "a"})


def test_what_was_asked_long_ago_is_forgotten(executor: ForkExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_executor, "_REMEMBERED", 2)
    first = executor.recall("who", {"say": "a"})
    executor.recall("who", {"say": "b"})
    assert executor.recall("who", {"say": "a"}) == first
    executor.recall("who", {"say": "c"})
    assert executor.recall("who", {"say": "a"}) == first
    executor.recall("who", {"say": "d"})
    executor.recall("who", {"say": "e"})
    assert executor.recall("who", {"say": "a"}) != first
