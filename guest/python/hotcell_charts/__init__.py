"""The data of a matplotlib figure as JSON: what was plotted, not how it looks.

Theory of operation
-------------------
`chart_of(figure)` reads the artists of a figure, as the user's code left them, and gives one dictionary: a chart of
one kind, a `superchart` of several, or {} for a figure without data. Nothing of the figure is changed, nothing is
drawn. The dictionary is what the clients of the code interpreter know:

  all                        type, title, elements
  line, scatter, bar, box    and x_label, y_label, x_unit, y_unit
  line, scatter              and x_ticks, x_tick_labels, x_scale, and the same of y

Each of the figure's axes goes through the table KINDS. A kind looks for its own marks and takes them off the list of
what is left (a box plot is made of lines, an error bar too), so the order of the table is the order of who may
claim a line. Axes that hold marks of several kinds (bars and a curve) give several charts; axes with marks that are
of no kind (an image, circles) give `unknown`, as does what fails or is too large:

  figure ── axes ──► Marks (artists left) ──► box ─► bar ─► pie ─► scatter ─► line     what is left is decoration
                                               │      │      │       │         │
                                               └──────┴──────┴───────┴─────────┴────► charts ──► one, or a superchart

Limits: one Budget per figure, in bytes of JSON, keeps the result near the 8 MiB that a part may have (who writes the
text looks how long it is); a chart that does not fit is `unknown`. All values are numbers, texts or None: NaN and
infinity are None. Whatever goes wrong in foreign code (formatters, converters, artists of one's own) costs that chart
and is not seen by the user.

matplotlib is not imported before there is a figure, so that this module costs nothing at start.
"""
import logging
import warnings

from . import bars, boxes, pies, points
from .axis import title_of
from .values import Budget, text

KINDS = (boxes.chart, bars.chart, pies.chart, points.scatter, points.line)
AXES_MAX = 256


def chart_of(figure):
    """The chart of a figure: {} when there is nothing in it. Raises nothing but what ends programs."""
    try:
        with Quiet():
            return figure_chart(figure)
    except Exception:  # the figure is still shown as an image
        return {}


class Quiet:
    """Warnings and log lines about ticks come once, with the image, and not a second time from here."""

    def __enter__(self):
        self.logger = logging.getLogger("matplotlib")
        self.level = self.logger.level
        self.logger.setLevel(logging.CRITICAL)
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *exception):
        self.warnings.__exit__(*exception)
        self.logger.setLevel(self.level)


def figure_chart(figure):
    budget = Budget()
    every = [axes for axes in figure.get_axes() if not is_colorbar(axes)][:AXES_MAX]
    charts = [chart for axes in every if axes.has_data() for chart in axes_charts(axes, budget)]
    if not charts:
        return {}
    suptitle = getattr(figure, "_suptitle", None)
    title = text(suptitle.get_text(), budget) if suptitle is not None else None
    if len(charts) == 1:
        charts[0]["title"] = charts[0]["title"] or title or None
        return charts[0]
    return {"type": "superchart", "title": title or "", "elements": charts}


def is_colorbar(axes):
    return axes.get_label() == "<colorbar>" or getattr(axes, "_colorbar", None) is not None


class Marks:
    """The artists of axes that no kind of chart has claimed yet, in the order in which they were plotted."""

    def __init__(self, axes):
        self.axes = axes
        self.left = list(axes.get_children())
        self.claim([axes.patch, *axes.spines.values()])
        self.charts = []

    def of(self, *types):
        return [artist for artist in self.left if isinstance(artist, types)]

    def claim(self, artists):
        gone = {id(artist) for artist in artists}
        self.left = [artist for artist in self.left if id(artist) not in gone]


def axes_charts(axes, budget):
    """The charts of one of a figure's axes: one of each kind that is there, never none."""
    if getattr(axes, "name", "") == "3d":  # there is no kind with a third coordinate
        return [unknown(axes)]
    marks = Marks(axes)
    for kind in KINDS:
        left = budget.left
        try:
            chart = kind(marks, budget)
        except Exception:  # TooLarge, or foreign code
            chart, budget.left = unknown(axes), left
        if chart:
            marks.charts.append(chart)
    return marks.charts or [unknown(axes)]


def unknown(axes):
    return {"type": "unknown", "title": title_of(axes, Budget()), "elements": []}
