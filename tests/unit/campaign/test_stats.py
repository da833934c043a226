"""The curve of coverage.csv."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tzerlike.campaign.state import WorkerState
from tzerlike.campaign.stats import (
    CSV_HEADER,
    CURVE_EVERY,
    CurvePoint,
    add_up,
    curve_csv,
    curve_point,
    extended_curve,
    read_curve,
)
from tzerlike.core.errors import UserError
from tzerlike.coverage.protocol import CoveredLibrary


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


def test_a_library_counts_its_own_blocks_of_a_snapshot() -> None:
    reached = np.zeros(30, np.uint8)
    reached[[0, 4, 5, 17, 18, 29]] = 1
    snapshot = np.packbits(reached, bitorder="little").tobytes()
    sizes = {0: 5, 5: 13, 18: 12}
    counts = [CoveredLibrary(Path("a.so"), at, np.arange(size, dtype=np.uint32)) for at, size in sizes.items()]
    assert [library.counted(snapshot) for library in counts] == [2, 2, 2]


def test_each_of_several_libraries_has_its_figure_and_its_curve(tmp_path: Path) -> None:
    def state(worker: int, reached: int) -> WorkerState:
        libraries = {"libtvm.so": (90 + reached, 1000), "libmine.so": (reached, 50)}
        return WorkerState(iterations=1, elapsed=float(reached), worker=worker, libraries=libraries)

    assert add_up([WorkerState(iterations=1, elapsed=1.0)], 0, Counter())["coverage_libraries"] == {}
    stats = add_up([state(0, 7), state(1, 9)], 0, Counter())
    assert stats["coverage_libraries"] == {
        "libmine.so": {"covered": 9, "total": 50},
        "libtvm.so": {"covered": 99, "total": 1000},
    }
    curve = [CurvePoint(0.5, 0, 0, 0, 0, 0), curve_point(stats)]
    (tmp_path / "coverage.csv").write_text(curve_csv(curve))
    read, bad = read_curve(tmp_path / "coverage.csv")
    assert bad == 0 and [dict(point.libraries) for point in read] == [
        {"libmine.so": 0, "libtvm.so": 0},
        {"libmine.so": 9, "libtvm.so": 99},
    ]
    assert curve_csv(read) == curve_csv(curve)
    alone = [point(1.0)]
    assert curve_csv(alone).splitlines()[0] == CSV_HEADER


@pytest.mark.parametrize("header", ["", f"{CSV_HEADER}s", f" {CSV_HEADER}", "blocks"])
def test_a_curve_of_another_version_is_refused(tmp_path: Path, header: str) -> None:
    (tmp_path / "coverage.csv").write_text(f"{header}\n1.0,1,1,1,1,1\n")
    with pytest.raises(UserError, match="the first line is not"):
        read_curve(tmp_path / "coverage.csv")
