"""The curve of coverage.csv."""

import itertools

from tzerlike.campaign.stats import CURVE_EVERY, CurvePoint, extended_curve


def point(seconds: float) -> CurvePoint:
    return CurvePoint(seconds, int(seconds * 10), 0, 0, 0, 0)


def test_a_point_every_few_seconds_stays_and_the_last_is_that_of_now() -> None:
    curve: list[CurvePoint] = []
    for tick in range(201):
        curve = extended_curve(curve, point(tick / 2))
        assert curve[-1] == point(tick / 2)
    times = [p.elapsed_s for p in curve]
    assert times == sorted(times)
    assert len(curve) >= 100 / CURVE_EVERY
    assert all(CURVE_EVERY <= later - sooner < CURVE_EVERY + 1 for sooner, later in itertools.pairwise(times[:-1]))
