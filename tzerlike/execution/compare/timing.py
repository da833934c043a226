"""Timing of two builds of one program: a cheap first look, and alternating runs if that gives reason to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from statistics import median

from tzerlike.core.results import Timing
from tzerlike.execution.compare.slowdown import LEAST_SECONDS

SUSPICIOUS = 1.3
"""How much slower the optimised build has to be at first sight."""

_LOOKS = 5
_REPEATS = 40
_LONGEST_SECONDS = 5e-3
"""Programs that take longer are not timed: the repeats would take seconds."""

_Run = Callable[[], None]


def worth_timing(run: _Run, reset: _Run) -> bool:
    """Whether a run takes long enough to say more about the code than about the call, and not too long to repeat."""
    return LEAST_SECONDS <= _best(run, reset, 2) <= _LONGEST_SECONDS


def looks_slow(reference: _Run, optimised: _Run, reset: _Run) -> bool:
    """Whether a few runs of each build suggest that the optimised one is the slower; `reset` puts the inputs back."""
    return _best(optimised, reset) > SUSPICIOUS * _best(reference, reset)


def _best(run: _Run, reset: _Run, times: int = _LOOKS) -> float:
    return min(_seconds(run, reset) for _ in range(times))


def take_timing(reference: _Run, optimised: _Run, reset: _Run) -> Timing:
    """Run both builds in turn on one core; which of the two goes first changes from turn to turn."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    first: list[float] = []
    second: list[float] = []
    try:
        for turn in range(_REPEATS):
            pairs = [(reference, first), (optimised, second)]
            for run, samples in pairs if turn % 2 else reversed(pairs):
                samples.append(_seconds(run, reset))
    finally:
        os.sched_setaffinity(0, cores)
    return Timing(tuple(first), tuple(second), max(noise(first), noise(second)))


def _seconds(run: _Run, reset: _Run) -> float:
    reset()
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def noise(samples: Sequence[float]) -> float:
    """By what factor the medians of the earlier and the later half of one build's runs differ."""
    half = len(samples) // 2
    early, late = median(samples[:half]), median(samples[half:])
    return max(early, late) / min(early, late)
