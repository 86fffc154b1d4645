"""Lines and scattered points."""
from .axis import Positions, label_of, labels_of, title_of
from .values import text


def scatter(marks, budget):
    from matplotlib.collections import PathCollection
    axes = marks.axes
    clouds = [c for c in marks.of(PathCollection) if is_scatter(c, axes)]
    marks.claim(clouds)
    if not clouds:
        return None
    filled = [c for c in clouds if len(c.get_offsets())] or clouds
    x, y = Positions(axes.xaxis), Positions(axes.yaxis)
    return chart("scatter", axes, x, y, budget,
                 lambda: [series(cloud.get_label(), *cloud_values(cloud, x, y, budget), budget) for cloud in filled])


def is_scatter(collection, axes):
    """Contours are path collections, too, but theirs are not placed in the coordinates of the data."""
    transform = collection.get_offset_transform() if hasattr(collection, "get_offset_transform") else \
        collection._transOffset
    return transform.contains_branch(axes.transData)


def cloud_values(cloud, x, y, budget):
    offsets = cloud.get_offsets()
    return x.values(offsets[:, 0], None, budget), y.values(offsets[:, 1], None, budget)


def line(marks, budget):
    """Lines of the data, and those that error bars and stems hang on."""
    from matplotlib.lines import Line2D
    axes = marks.axes
    gone = appendages(axes)
    every = [artist for artist in marks.of(Line2D) if id(artist) not in gone]
    lines = plotted(every, axes)
    if not every or marks.charts and all(map(is_guide, lines)):
        return None
    names, order = container_names(axes), list(axes.get_lines())
    places = {id(artist): place for place, artist in enumerate(order)}
    legend = LegendNames(axes, lines)
    x, y = Positions(axes.xaxis), Positions(axes.yaxis)

    def elements():
        said = []
        for artist in lines:
            label = names.get(id(artist)) or label_of(artist) or legend.find(artist) or f"Line {places[id(artist)]}"
            said.append(series(label, *line_values(artist, x, y, budget), budget))
        return said
    return chart("line", axes, x, y, budget, elements)


def appendages(axes):
    """The lines that belong to error bars and stems without being data: caps, bars, base lines."""
    gone = set()
    for container in axes.containers:
        if hasattr(container, "has_xerr"):
            _, caps, limits = container.lines
            gone.update(id(artist) for artist in (*caps, *limits))
        elif hasattr(container, "stemlines"):
            gone.add(id(container.baseline))
    return gone


def container_names(axes):
    """The labels that matplotlib gives to the whole of an error bar or stem, by its line."""
    names = {}
    for container in axes.containers:
        artist = getattr(container, "markerline", None) or (container[0] if hasattr(container, "has_xerr") else None)
        if artist is not None and label_of(container):
            names[id(artist)] = label_of(container)
    return names


def plotted(lines, axes):
    """What was plotted, without lines that only lead the eye: axhline, unnamed flat ones beside others, empty ones."""
    data = [artist for artist in lines if is_data(artist, axes)]
    filled = [artist for artist in data if len(artist.get_xdata(orig=False))] or data
    return [artist for artist in filled if not is_guide(artist)] or filled


def is_data(artist, axes):
    return type(artist).__name__ != "AxLine" and artist.get_transform().contains_branch(axes.transData)


def is_guide(artist):
    x, y = artist.get_xdata(orig=False), artist.get_ydata(orig=False)
    return len(x) == 2 and (x[0] == x[1] or y[0] == y[1]) and not label_of(artist)


class LegendNames:
    """The names that a legend gives to lines without a label: by their colour, where just one line has it."""

    def __init__(self, axes, lines):
        self.names = {}
        legend = axes.get_legend()
        if legend is None or all(label_of(artist) for artist in lines):
            return
        colours = [self.colour(artist) for artist in lines]
        handles = getattr(legend, "legend_handles", None) or getattr(legend, "legendHandles", [])
        said = [(self.colour(handle), text.get_text()) for handle, text in zip(handles, legend.get_texts())]
        for colour, name in said:
            if colours.count(colour) == 1 and [c for c, _ in said].count(colour) == 1:
                self.names[colour] = name

    @staticmethod
    def colour(artist):
        from matplotlib.colors import to_rgba
        return to_rgba(artist.get_color()) if hasattr(artist, "get_color") else None

    def find(self, artist):
        return self.names.get(self.colour(artist)) if self.names else None


def line_values(artist, x, y, budget):
    return (x.values(artist.get_xdata(orig=False), artist.get_xdata(orig=True), budget),
            y.values(artist.get_ydata(orig=False), artist.get_ydata(orig=True), budget))


def series(label, xs, ys, budget):
    budget.spend(6 * len(xs))
    return {"label": text(label, budget), "points": [list(point) for point in zip(xs, ys)]}


def chart(type, axes, x, y, budget, elements):
    said = {"type": type, "title": title_of(axes, budget), "elements": elements(), **labels_of(axes, budget)}
    for name, positions in (("x", x), ("y", y)):
        said[name + "_ticks"] = positions.ticks(budget)
        said[name + "_tick_labels"] = positions.tick_labels(budget)
        said[name + "_scale"] = positions.scale()
    return said
