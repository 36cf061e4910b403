"""Plots of a run as inline SVG: every trial is a dot, the median of completed comparisons is a bar.

Deterministic: the same rows give the same bytes. Text stays text, so it can be searched and read aloud.
"""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.metrics import CHARS, ESTIMATE, Measure, arm_order, comparable, median, stage_measure, stage_names
from reports.row import Row
from reports.text import number, visible

# Okabe and Ito's palette without its yellow, which is too light on white, and one olive; the shapes tell the arms apart
# without any colour.
_STYLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
    ("#000000", "X"),
    ("#7A7A1F", "p"),
)
_WIDTH_IN = 8.6
_LABEL_BOUND = 44
"""Characters of an arm's name beside a plot; the middle is left out of a longer one."""

_LOG_FROM = 30.0
"""Ratio of the largest to the smallest stage time from which a logarithmic axis shows more than a linear one."""

_METADATA: dict[str, None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot: a title for its caption, a sentence that says the same to those who cannot see it, and the SVG."""

    title: str
    description: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Strip:
    label: str
    style: tuple[str, str]
    rows: tuple[Row, ...]
    measure: Measure


def plots(rows: Sequence[Row], arms: Sequence[str] = ()) -> list[Plot]:
    """For each target: size, estimated tokens, and latency by stage for each suite; nothing where nothing is known."""
    order = arm_order(rows, arms)
    drawn: list[Plot] = []
    with _settings():
        for target in sorted({row.target for row in rows}):
            here = [row for row in rows if row.target == target]
            encodings = ", ".join(sorted({row.est_encoding for row in here if row.est_encoding})) or "unnamed encoding"
            for measure, words, axis in (
                (CHARS, "Observation size", "characters in all observations of a trial"),
                (
                    ESTIMATE,
                    "Estimated tokens",
                    f"tokens in all observations of a trial, estimate by {_label(encodings)}",
                ),
            ):
                title = f"{words}, target {target}"
                drawn += _sizes(here, order, measure, (title, axis))
            for suite in sorted({row.suite for row in here}):
                title = f"Latency by stage, {suite}, target {target}"
                drawn += _latency([row for row in here if row.suite == suite], order, title)
    return [
        Plot(title=visible(plot.title), description=visible(plot.description), svg=_own_ids(plot.svg, index))
        for index, plot in enumerate(drawn, start=1)
    ]


@contextmanager
def _settings() -> Iterator[None]:
    with (
        warnings.catch_warnings(),
        mpl.rc_context(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "axtrial",
                "font.family": "DejaVu Sans",
                "font.size": 9,
                "text.parse_math": False,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.edgecolor": "#8a8f98",
                "axes.labelcolor": "#3b4048",
                "xtick.color": "#3b4048",
                "ytick.color": "#3b4048",
            }
        ),
    ):
        # Text stays text: a glyph that this font lacks is drawn by the reader's own fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def _sizes(rows: Sequence[Row], order: Sequence[str], measure: Measure, words: tuple[str, str]) -> list[Plot]:
    if all(measure.value(row) is None for row in rows):
        return []
    title, axis = words
    suites = sorted({row.suite for row in rows})
    panels = [(suite, _arms([row for row in rows if row.suite == suite], order, measure)) for suite in suites]
    heights = [0.3 + 0.34 * len(strips) for _, strips in panels]
    figure = Figure(figsize=(_WIDTH_IN, sum(heights) + 0.55 * len(panels) + 0.35), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for (suite, strips), axes in zip(panels, grid[:, 0], strict=True):
        _draw(axes, strips, [float(index) for index in range(len(strips))])
        axes.set_yticks(range(len(strips)), [strip.label for strip in strips])
        axes.set_xlim(left=0)
        axes.set_title(_label(suite), loc="left", fontsize=9, fontweight="bold", color="#3b4048")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    grid[-1, 0].set_xlabel(axis)
    return [_plot(figure, title, [strip for _, strips in panels for strip in strips])]


def _latency(rows: Sequence[Row], order: Sequence[str], title: str) -> list[Plot]:
    stages = [name for name in stage_names(rows) if any(stage_measure(name).value(row) is not None for row in rows)]
    if not stages:
        return []
    groups = [(stage, _arms(rows, order, stage_measure(stage))) for stage in stages]
    arms = len(groups[0][1])
    spread = [(index - (arms - 1) / 2) * 0.8 / arms for index in range(arms)]
    figure = Figure(figsize=(_WIDTH_IN, len(stages) * (0.16 + 0.17 * arms) + 1.1 + 0.12 * arms), layout="constrained")
    axes = figure.subplots()
    for index, (_, strips) in enumerate(groups):
        _draw(axes, strips, [index + offset for offset in spread], thin=arms)
        if index:
            axes.axhline(index - 0.5, color="#e3e6ea", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(stages)), [_label(stage) for stage in stages])
    axes.set_ylim(len(stages) - 0.5, -0.5)
    _time_axis(axes, [value for _, strips in groups for strip in strips for value in _values(strip)])
    legend = [
        axes.plot([], [], linestyle="", color=s.style[0], marker=s.style[1], label=s.label)[0] for s in groups[0][1]
    ]
    figure.legend(handles=legend, loc="outside lower left", ncols=1 if arms > 4 else 2, frameon=False, fontsize=8)
    return [_plot(figure, title, [strip for _, strips in groups for strip in strips], by_stage=True)]


def _time_axis(axes: Axes, values: Sequence[float]) -> None:
    low, high = min(values), max(values)
    if low > 0 and high / low >= _LOG_FROM:
        axes.set_xscale("log")
        axes.set_xlabel("median time of the stage in a trial, ms (logarithmic)")
    else:
        axes.set_xlim(left=0)
        axes.set_xlabel("median time of the stage in a trial, ms")
    axes.xaxis.set_major_formatter("{x:,.10g}")


def _arms(rows: Sequence[Row], order: Sequence[str], measure: Measure) -> list[_Strip]:
    return [
        _Strip(
            label=_label(arm),
            style=_STYLES[index % len(_STYLES)],
            rows=tuple(row for row in rows if row.arm == arm),
            measure=measure,
        )
        for index, arm in enumerate(order)
        if any(row.arm == arm for row in rows)
    ]


def _draw(axes: Axes, strips: Sequence[_Strip], places: Sequence[float], thin: int = 1) -> None:
    half = 0.32 / thin
    for strip, place in zip(strips, places, strict=True):
        colour, marker = strip.style
        shown = [row for row in strip.rows if strip.measure.value(row) is not None]
        for index, row in enumerate(shown):
            # Equal values would hide each other: spread them over the strip, in the order of the ledger.
            shift = 0.0 if len(shown) == 1 else (index / (len(shown) - 1) - 0.5) * half
            axes.plot(
                [float(strip.measure.value(row) or 0)],
                [place + shift],
                linestyle="",
                marker=marker,
                markersize=5.5 if thin == 1 else 4.5,
                markerfacecolor=colour if comparable(row) else "white",
                markeredgecolor=colour,
                alpha=0.85,
                zorder=2,
            )
        middle, _ = median(strip.measure.value(row) for row in strip.rows if comparable(row))
        if middle is not None:
            axes.plot([middle, middle], [place - half, place + half], color="#16181d", linewidth=1.6, zorder=3)
        if thin == 1:
            said = "not known" if not shown else "no comparison" if middle is None else number(middle)
            axes.annotate(
                said,
                (1.0, place),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color="#16181d",
            )
    if thin == 1:
        axes.set_ylim(len(strips) - 0.5, -0.5)
    axes.grid(axis="x", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def _values(strip: _Strip) -> list[float]:
    return [value for row in strip.rows if (value := strip.measure.value(row)) is not None]


def _plot(figure: Figure, title: str, strips: Sequence[_Strip], *, by_stage: bool = False) -> Plot:
    figure.suptitle(visible(title), x=0.01, ha="left", fontsize=11, fontweight="bold", color="#16181d")
    parts = []
    for strip in strips:
        middle, known = median(strip.measure.value(row) for row in strip.rows if comparable(row))
        place = strip.measure.label if by_stage else strip.rows[0].suite
        parts.append(f"{place}, {strip.label}: {number(middle, strip.measure.digits)} (n = {known})")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata=_METADATA)
    svg = out.getvalue()
    # Inside HTML the XML prolog is an error; the drawing starts at its own tag.
    return Plot(title=title, description=f"{title}. Medians: {'; '.join(parts)}.", svg=svg[svg.index("<svg") :])


def _own_ids(svg: str, index: int) -> str:
    """The drawing with ids that no other drawing of the same page has."""
    prefix = f"plot{index}-"
    return re.sub(r'(<[^>]*?\bid="|url\(#|xlink:href="#)', rf"\g<1>{prefix}", svg)


def _label(text: str) -> str:
    shown = visible(text)
    if len(shown) <= _LABEL_BOUND:
        return shown
    half = (_LABEL_BOUND - 1) // 2
    return f"{shown[:half]}\N{HORIZONTAL ELLIPSIS}{shown[-half:]}"
