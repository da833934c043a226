"""Charts as HTML: a curve in a scalable SVG, and its labels as text around it, readable at any width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from tzerlike.core.units import duration

_WIDTH, _HEIGHT = 1000, 300
_SPOTS = 60
"""Places along a curve that say their value when pointed at."""

Point = tuple[float, float]


def curve_chart(title: str, points: Sequence[Point], unit: str, form: Callable[[float], str]) -> str:
    """Return a figure of values over seconds, from 0 on; `form` writes a value, `unit` says what it is."""
    start, end = points[0][0], max(points[-1][0], points[0][0] + 1e-9)
    values = [value for _, value in points]
    ticks = nice_ticks(0.0, max(*values, 1e-9))
    bottom, top = ticks[0], ticks[-1]

    def place(point: Point) -> tuple[float, float]:
        across = (point[0] - start) / (end - start) * _WIDTH
        up = (point[1] - bottom) / (top - bottom) * _HEIGHT
        return round(across, 1), round(_HEIGHT - up, 1)

    line = " ".join(f"{x:g},{y:g}" for x, y in map(place, points))
    first_x, last_x = place(points[0])[0], place(points[-1])[0]
    heights = [(place((start, tick))[1], (tick - bottom) / (top - bottom), form(tick)) for tick in ticks]
    grid = "".join(f'<line x1="0" x2="{_WIDTH}" y1="{y:g}" y2="{y:g}"/>' for y, _, _ in heights)
    labels = "".join(f'<span style="bottom:{share:.2%}">{escape(text)}</span>' for _, share, text in heights)
    times = [start + (end - start) * part / 4 for part in range(5)]
    summary = f"{title}: {form(values[0])} at first, {form(values[-1])} after {duration(end)}"
    return (
        f'<figure class="chart"><figcaption>{escape(title)} <small>{escape(unit)}</small></figcaption>'
        f'<div class="plot"><div class="ys" aria-hidden="true">{labels}</div>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{escape(summary)}">'
        f'<g class="grid">{grid}</g>'
        f'<polygon class="area" points="{first_x:g},{_HEIGHT} {line} {last_x:g},{_HEIGHT}"/>'
        f'<polyline class="line" points="{line}"/>{_spots(points, place, form)}</svg>'
        f'<div class="xs" aria-hidden="true">{"".join(f"<span>{duration(each)}</span>" for each in times)}</div>'
        "</div></figure>"
    )


def _spots(points: Sequence[Point], place: Callable[[Point], tuple[float, float]], form: Callable[[float], str]) -> str:
    """Invisible columns that tell time and value when pointed at."""
    step = max(1, math.ceil(len(points) / _SPOTS))
    chosen = points[::step]
    width = _WIDTH / max(1, len(chosen))
    return "".join(
        f'<rect class="spot" x="{place(point)[0] - width / 2:g}" y="0" width="{width:g}" height="{_HEIGHT}">'
        f"<title>{escape(duration(point[0]))}: {escape(form(point[1]))}</title></rect>"
        for point in chosen
    )


def nice_ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return round numbers from at most `low` to at least `high`, about `count` steps apart from each other."""
    step = 10 ** math.floor(math.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (step * factor) <= count)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [index * step for index in range(first, max(last, first + 1) + 1)]


def share_bar(share: float) -> str:
    """Return a bar that fills `share` of its width, from 0 to 1."""
    width = f"{100 * min(1.0, max(0.0, share)):.4g}%"
    return f'<span class="bar"><i style="width:{width}"></i></span>'
