"""Box plots, found by their shape: matplotlib keeps nothing of a box plot but its lines.

A box is a closed rectangle of 5 corners, or of 11 when it is notched, as a line or as a patch. It begins with the edge
of the first quartile, which tells how it stands. After it come, as every version of matplotlib draws them: the whiskers,
from a quartile outwards on the middle line; two caps; the median across the box; the mean, if wanted; the outliers.
The lines after a box are read in this order until one does not fit, and all of them are the box's.

            max ──┬──      cap
                  │        whisker
        Q3  ┌─────┴─────┐
            ├───────────┤  median
        Q1  └─────┬─────┘  the first edge of the path
            min ──┴──
               o           outliers
"""
from .axis import Positions, labels_of, title_of
from .values import number, numbers

BOX_BYTES = 200
CORNERS = {5: 2, 11: 5}  # corners of a box: which of them is the first at the third quartile


class Box:
    """One box; `turn` gives (across, along) of an artist's points, however the box stands."""

    def __init__(self, artist, path, upright):
        self.upright = upright
        self.artists = [artist]
        across, along = self.turn(path)
        self.span = (min(across), max(across))
        self.middle = sum(self.span) / 2
        self.first = float(along[0])
        self.third = float(along[CORNERS[len(along)]])
        self.low, self.high, self.median = self.first, self.third, None
        self.outliers = []

    def turn(self, path):
        x, y = [float(p[0]) for p in path], [float(p[1]) for p in path]
        return (x, y) if self.upright else (y, x)

    def is_middle(self, across):
        return all(abs(value - self.middle) <= 1e-6 * max(1.0, abs(self.middle)) for value in across)

    def holds(self, value):
        """Is it between the quartiles? Those of nothing are NaN, and all that is drawn there is, too."""
        return self.first <= value <= self.third or value != value


def same(a, b):
    return a == b or a != a and b != b


def chart(marks, budget):
    from matplotlib.lines import Line2D
    boxes, artists = [], marks.of(Line2D, patch_type())
    place = 0
    while place < len(artists):
        box = box_at(artists[place])
        if box is None or not read_lines(box, artists[place + 1:place + 10]):
            place += 1
            continue
        boxes.append(box)
        place += len(box.artists)
    if not boxes:
        return None
    for box in boxes:
        marks.claim(box.artists)
    return described(marks.axes, distinct(boxes), budget)


def patch_type():
    from matplotlib.patches import PathPatch
    return PathPatch


def box_at(artist):
    """The box that an artist is, by its corners."""
    if isinstance(artist, patch_type()):
        path = artist.get_path().vertices
        path = path[:-1] if len(path) in (6, 12) else path
        if len(path) not in CORNERS:
            return None
        path = [tuple(p) for p in path[:-1]] + [tuple(path[0])]  # the last may be what closes it
    else:
        path = list(zip(artist.get_xdata(orig=False), artist.get_ydata(orig=False)))
    if len(path) not in CORNERS or not all(map(same, path[0], path[-1])):
        return None
    turn = CORNERS[len(path)]
    for along in (1, 0):
        if same(path[0][along], path[1][along]) and same(path[turn][along], path[turn + 1][along]):
            return Box(artist, path, upright=along == 1)
    return None


def read_lines(box, artists):
    """Gives the box its lines; false when it has no whiskers or median, and so is none."""
    whiskers, markers = [], []
    for artist in artists:
        if isinstance(artist, patch_type()) or box_at(artist):
            break
        across, along = box.turn(list(zip(artist.get_xdata(orig=False), artist.get_ydata(orig=False))))
        if is_marker(artist) and box.is_middle(across):
            markers.append(along)
        elif len(along) == 2 and box.is_middle(across) and not markers:
            whiskers.append(along)
        elif len(along) != 2 or not same(*along) or not box.is_middle([sum(across) / 2]):
            break
        elif is_cap(box, whiskers, along, across):
            pass
        elif box.median is None and box.holds(along[0]):
            box.median = along[0]
        elif box.median is None:
            break
        box.artists.append(artist)
    if len(whiskers) != 2 or box.median is None:
        return False
    box.low, box.high = whiskers[0][1], whiskers[1][1]
    box.outliers = outliers_of(box, markers)
    return same(whiskers[0][0], box.first) and same(whiskers[1][0], box.third)


def is_marker(artist):
    return artist.get_linestyle() in ("None", "none", " ", "")


def is_cap(box, whiskers, along, across):
    """At the end of a whisker, and not as wide as the box, where a median could be as well."""
    narrow = max(across) - min(across) < (box.span[1] - box.span[0]) * 0.999
    return any(same(along[0], whisker[1]) for whisker in whiskers) and (narrow or not box.holds(along[0]))


def outliers_of(box, markers):
    """The last group of markers, unless it is a lone mean."""
    if not markers or len(markers) == 1 and len(markers[0]) == 1 and box.low <= markers[0][0] <= box.high:
        return []
    return markers[-1]


def distinct(boxes):
    """The same box plot drawn twice, as people do to colour it, is one."""
    seen = {}
    for box in boxes:
        seen[(box.upright, box.middle, box.low, box.first, box.median, box.third, box.high, tuple(box.outliers))] = box
    return list(seen.values())


def described(axes, boxes, budget):
    upright = boxes[0].upright
    budget.spend(BOX_BYTES * len(boxes))
    names = Positions(axes.xaxis if upright else axes.yaxis).names([box.span for box in boxes], budget)
    elements = [{"label": name, "min": number(box.low), "first_quartile": number(box.first),
                 "median": number(box.median), "third_quartile": number(box.third), "max": number(box.high),
                 "outliers": [v for v in numbers(box.outliers, budget) if v is not None]}
                for name, box in zip(names, boxes)]
    return {"type": "box_and_whisker", "title": title_of(axes, budget), "elements": elements,
            **labels_of(axes, budget, not upright)}
