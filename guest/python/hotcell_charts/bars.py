"""Bars: upright and lying, grouped, stacked, histograms."""
from .axis import Positions, label_of, labels_of, title_of
from .values import number, text

BAR_BYTES = 48  # of one bar as JSON, without its names


def chart(marks, budget):
    from matplotlib.container import BarContainer
    axes = marks.axes
    containers = [c for c in axes.containers if isinstance(c, BarContainer)]
    if not containers:
        return None
    marks.claim([bar for container in containers for bar in container])
    groups = [c for c in containers if any(is_placed(bar) for bar in c)] or containers
    marks.claim(intervals(axes, groups, marks))
    lying = all(is_lying(group) for group in groups)
    along = Positions(axes.yaxis if lying else axes.xaxis)
    elements = []
    for place, group in enumerate(groups):
        label = label_of(group) or label_of(next(iter(group), group)) or f"Group {place}"
        elements.extend(bars_of(group, label, lying, along, budget))
    return {"type": "bar", "title": title_of(axes, budget), "elements": elements, **labels_of(axes, budget, lying)}


def is_placed(bar):
    """Bars at NaN are not drawn; some libraries have them for their legends."""
    return number(bar.get_x()) is not None and number(bar.get_y()) is not None


def is_lying(group):
    if hasattr(group, "orientation") and group.orientation:
        return group.orientation == "horizontal"
    starts = {round(bar.get_x(), 9) for bar in group}
    return len(group) > 1 and len(starts) == 1


def bars_of(group, label, lying, along, budget):
    label = text(label, budget)
    budget.spend((BAR_BYTES + len(label)) * len(group))
    drawn = [bar for bar in group if is_placed(bar)]
    spans = [span_of(bar, lying) for bar in drawn]
    values = [bar.get_width() if lying else bar.get_height() for bar in drawn]
    return [{"label": name, "group": label, "value": number(value)}
            for name, value in zip(along.names(spans, budget), values)]


def span_of(bar, lying):
    start, size = (bar.get_y(), bar.get_height()) if lying else (bar.get_x(), bar.get_width())
    return start, start + size


def intervals(axes, groups, marks):
    """Lines over the middles of bars: confidence intervals as seaborn draws them, one unnamed line for each bar."""
    from matplotlib.lines import Line2D
    lying = all(is_lying(group) for group in groups)
    middles = {round(sum(span_of(bar, lying)) / 2, 6) for group in groups for bar in group}
    found = []
    for artist in marks.of(Line2D):
        across = artist.get_ydata(orig=False) if lying else artist.get_xdata(orig=False)
        if label_of(artist) or not 2 <= len(across) <= 6:
            continue
        if round((min(across) + max(across)) / 2, 6) in middles and max(across) - min(across) < 1:
            found.append(artist)
    return found
