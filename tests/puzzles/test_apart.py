"""Work in children, with work that dies, raises, hangs about and says nothing."""

from __future__ import annotations

import os
import signal

import pytest

from tzerlike.core.errors import Fault
from tzerlike.processes.forked import each_in_child, in_child


def risky(item: int) -> str | None:
    if item < 0:
        os.kill(os.getpid(), -item)
    return None if item == 0 else f"{item} in " + "x" * item


def test_every_item_has_its_answer_whoever_dies_between() -> None:
    items = [1, -signal.SIGTERM, 0, -signal.SIGKILL, -signal.SIGUSR1, 200_000]
    answers = list(each_in_child(items, risky))
    assert [number for _, number in answers] == [0, signal.SIGTERM, 0, signal.SIGKILL, signal.SIGUSR1, 0]
    assert [text for text, _ in answers] == [risky(1), None, None, None, None, risky(200_000)]


def test_one_child_serves_as_long_as_it_lives() -> None:
    def pid(item: int) -> str:
        if item < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return str(os.getpid())

    texts = [text for text, _ in each_in_child([1, 1, -1, 1, 1], pid)]
    assert texts[0] == texts[1] and texts[3] == texts[4] and texts[2] is None
    assert len({*texts, str(os.getpid()), None}) == 4


def test_who_stops_listening_leaves_no_child_behind() -> None:
    answers = each_in_child(range(1, 10_000), lambda item: "x" * 1000)
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_fault_of_ours_is_raised_with_its_traceback() -> None:
    with pytest.raises(Fault, match="ZeroDivisionError"):
        in_child(lambda: str(1 // 0))


def test_a_child_that_leaves_is_a_fault_too() -> None:
    with pytest.raises(Fault, match="status 3"):
        in_child(lambda: os._exit(3))
