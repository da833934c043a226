"""Compilations that run out of time, on a clock that is only reckoned: what is without end, and what is slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.findings.growth import PATIENCE, Growth, expected, growth_of
from tzerlike.oracles.crash import judge_crash

NEVER = float("inf")
LIMIT = 5.0


def looked_at(
    takes: Callable[[int], float],
    extent: int,
    refused: Callable[[int], bool] = lambda n: False,
    dies: Callable[[float], bool] = lambda limit: False,
) -> Growth:
    """What is said of a compiler that takes so many seconds for a program of an extent, and dies in the end or not."""

    def run(case: Case, limits: Limits) -> Observation:
        n = int(case.ir)
        if refused(n):
            return Observation(Exit.REJECTED, Stage.PASSES, pass_name="tirx.Early")
        if dies(limits.seconds):
            return Observation(Exit.CRASH, Stage.PASSES, pass_name="tirx.Planted", signal=11)
        if takes(n) > limits.seconds:
            return Observation(Exit.TIMEOUT, Stage.PASSES, pass_name="tirx.Planted", elapsed=limits.seconds)
        return Observation(Exit.OK, Stage.DONE, elapsed=takes(n))

    def smaller() -> Iterator[Case]:
        n = extent
        while n > 2:
            n //= 2
            yield Case(str(n))

    case = Case(str(extent))
    found = judge_crash(case, Observation(Exit.TIMEOUT, Stage.PASSES, pass_name="tirx.Planted"))
    assert found is not None

    def judge(case: Case, seen: Observation) -> list[Finding]:
        return [one for one in [judge_crash(case, seen)] if one is not None]

    return growth_of(found, smaller(), run, judge, Limits(LIMIT))


ENDLESS: dict[str, tuple[Callable[[int], float], int]] = {
    "whatever the extents": (lambda n: NEVER, 64),
    "of a program that is small": (lambda n: NEVER, 2),
    "from an extent on": (lambda n: NEVER if n > 8 else 0.05, 64),
    "from an extent on, behind some growth": (lambda n: NEVER if n > 32 else 0.05 + 0.0005 * n, 64),
}
SLOW: dict[str, tuple[Callable[[int], float], int]] = {
    "the issue's program": (lambda n: 19.0 * (n / 64) ** 3, 64),
    "a nest of loops that is unrolled": (lambda n: 0.04 + 1e-6 * n**4, 128),
    "a nest of loops that LLVM takes the square of": (lambda n: 0.1 + 1e-5 * n**6, 32),
    "twice as long for each iteration": (lambda n: 0.05 + 1e-4 * 2**n, 32),
    "long, and no more than that": (lambda n: 50.0, 64),
    "just then, the machine being busy": (lambda n: 4.0, 64),
    "for hours": (lambda n: 1.0 * n * n, 1024),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_a_hang(name: str) -> None:
    growth = looked_at(*ENDLESS[name])
    assert growth.endless
    assert growth.told.startswith("does not end")


@pytest.mark.parametrize("name", SLOW)
def test_what_has_one_is_none(name: str) -> None:
    assert not looked_at(*SLOW[name]).endless


def test_the_evidence_is_told() -> None:
    assert looked_at(lambda n: NEVER, 16).told == (
        "does not end with extents 8 times smaller within 60 s of processor time, with all loops small"
    )
    assert looked_at(lambda n: NEVER if n > 8 else 0.05, 16).told == (
        "does not end within 60 s of processor time, where half the extents take 0.05 s"
    )
    assert looked_at(lambda n: 19.0, 2).told == "ends after 19.0 s"


def test_a_recursion_that_dies_before_the_long_time_is_up_is_none_that_ends() -> None:
    growth = looked_at(lambda n: 143.0, 16, dies=lambda limit: limit > LIMIT)
    assert growth.endless
    assert growth.told.startswith("does not end, but dies, with extents 8 times smaller")


def test_programs_that_are_refused_say_nothing() -> None:
    assert not looked_at(lambda n: NEVER, 64, refused=lambda n: n < 64).endless
    assert looked_at(lambda n: NEVER, 64, refused=lambda n: 2 < n < 64).endless


def test_the_smallest_that_does_not_end_gets_the_long_time() -> None:
    given: set[int] = set()

    def takes(n: int) -> float:
        given.add(n)
        return NEVER

    looked_at(takes, 64)
    assert given == {2}, "the others would take their time for nothing"


def test_growth_is_fitted() -> None:
    assert expected([]) == 0
    assert expected([0.1]) == pytest.approx(25.6)
    assert expected([0.1, 0.2, 3.1]) == pytest.approx(3.1 * 30**2), "above the time that any program takes"
    assert expected([0.1, NEVER]) == NEVER
    assert expected([NEVER, 0.1]) == pytest.approx(25.6)
    assert PATIENCE * LIMIT == 60
