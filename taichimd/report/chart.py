"""Charts of a page: columns of tables, thinned, as data for `chart.js`."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.markup import Html, element
from taichimd.report.part import Chart, Series
from taichimd.report.view import data_script

COLOURS = ("#1f6fb4", "#c8402f", "#3a8f4d", "#8a5ea8", "#c98a1b", "#2a9d9d", "#a0522d", "#5b6b7a")
"""Colours of the lines of a chart, in turn."""
_STRETCHES = 500
"""Stretches of a series: each keeps its lowest and its highest value."""


def charts(all_of: Sequence[Chart], group: str) -> Html:
    """Charts side by side, whose axes x are zoomed together."""
    return element("div", *(_chart(one, group) for one in all_of), class_="charts")


def _chart(chart: Chart, group: str) -> Html:
    series = []
    for number, one in enumerate(chart.series):
        kept = thinned(one.y)
        series.append(
            {
                "name": one.name,
                "color": COLOURS[number % len(COLOURS)],
                "x": _numbers(one.x[kept]),
                "y": _numbers(one.y[kept]),
                "error": None if one.error is None else _numbers(one.error[kept]),
                "points": one.points,
            }
        )
    data = {"xLabel": chart.x, "y": chart.y, "series": series, "marks": [list(one) for one in chart.marks]}
    return element("div", data_script(data, "data"), class_="chart", data_group=group)


def thinned(values: Array) -> NDArray[np.int64]:
    """Numbers of the values to draw: all of a short series; of a long one the extremes of 500 stretches."""
    n = len(values)
    if n <= 4 * _STRETCHES:
        return np.arange(n)
    kept = {0, n - 1}
    for begin, end in zip(*_stretches(n), strict=True):
        piece = values[begin:end]
        if np.isfinite(piece).any():
            kept |= {begin + int(np.nanargmin(piece)), begin + int(np.nanargmax(piece))}
    return np.array(sorted(kept))


def _stretches(n: int) -> tuple[list[int], list[int]]:
    ends = np.linspace(0, n, _STRETCHES + 1).astype(int).tolist()
    return ends[:-1], ends[1:]


def _numbers(values: Array) -> list[float | None]:
    """Numbers of nine digits; None of what is not finite, for which JSON has no number."""
    return [float(f"{value:.9g}") if np.isfinite(value) else None for value in values.tolist()]


def side_by_side(each: Mapping[str, Sequence[Chart]]) -> list[Chart]:
    """Charts of several folders: those of the same axes become one, whose lines have the folders' names."""
    found: dict[tuple[str, str], list[Series]] = {}
    for name, own in each.items():
        for chart in own:
            for one in chart.series:
                if len(chart.series) == 1 or one.name in ("total", ""):
                    line = Series(name, one.x, one.y, one.error, one.points)
                    found.setdefault((chart.x, chart.y), []).append(line)
    return [Chart(x, y, series) for (x, y), series in found.items()]
