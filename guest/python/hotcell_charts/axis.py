"""What an axis of matplotlib says about the numbers along it: their scale, the ticks, and what positions are called."""
import bisect
import datetime
import re

from .values import moment, number, numbers, text

TICKS_MAX = 1000
MOMENT_BYTES = 36
SPREAD = 0.45  # around a category
# The unit of a label: in round brackets that follow a space, or in square ones. One level of brackets inside.
UNIT = re.compile(r"\s\(((?:[^()]|\([^()]*\))*)\)|\[([^][]*)\]")


def title_of(axes, budget):
    for place in ("center", "left", "right"):
        if axes.get_title(place):
            return text(axes.get_title(place), budget)
    return None


def label_of(artist):
    """The label that the user gave, if any."""
    label = artist.get_label()
    return None if label is None or str(label).startswith("_") else str(label)


def labels_of(axes, budget, swapped=False):
    """The labels of both axes and their units; swapped where x is drawn upwards."""
    said = {}
    for name, label in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())):
        name = {"x": "y", "y": "x"}[name] if swapped else name
        said[name + "_label"] = text(label, budget) if label else None
        said[name + "_unit"] = unit_of(said[name + "_label"])
    return {key: said[key] for key in ("x_label", "y_label", "x_unit", "y_unit")}


def unit_of(label):
    found = UNIT.search(label or "")
    return (found[1] or found[2] or None) if found else None


class Positions:
    """Translates the numbers along an axis of matplotlib into what was plotted: dates, categories, or numbers."""

    def __init__(self, axis):
        from matplotlib import category, dates
        self.axis = axis
        converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
        date_types = tuple(getattr(dates, name) for name in
                           ("DateConverter", "ConciseDateConverter", "_SwitchableDateConverter") if hasattr(dates, name))
        self.is_date = isinstance(converter, date_types)
        self.frequency = getattr(axis, "freq", None) if type(converter).__name__ == "PeriodConverter" else None
        self.categories = None
        if isinstance(converter, category.StrCategoryConverter):
            mapping = getattr(axis.get_units() if hasattr(axis, "get_units") else axis.units, "_mapping", {})
            self.categories = {place: name for name, place in mapping.items()}

    def dates(self, values, zone=True):
        """The ISO texts of numbers on a date axis; without `zone` as they were plotted: naive unless aware."""
        if self.frequency is not None:
            import pandas
            return [None if value is None else moment(pandas.Period(ordinal=int(round(value)), freq=self.frequency))
                    for value in values]
        units = self.axis.get_units() if hasattr(self.axis, "get_units") else self.axis.units
        aware = units if hasattr(units, "utcoffset") else None
        whens = [None if when is None else when.replace(tzinfo=datetime.timezone.utc) for when in naive(values)]
        if aware or not zone:
            whens = [when and (when.astimezone(aware) if aware else when.replace(tzinfo=None)) for when in whens]
        return [when and when.isoformat() for when in whens]

    def values(self, floats, originals, budget):
        """What was plotted. `originals`: the same before matplotlib made numbers of it, or None."""
        if self.is_date:
            return self.moments(floats, originals, budget)
        if self.categories is None:
            return numbers(floats, budget)
        names = {place: text(name, budget) for place, name in self.categories.items()}
        longest = max((len(name) for name in names.values()), default=0)
        budget.spend(len(floats) * (longest + 4))
        return [self.category(value, names) for value in numbers(floats, budget)]

    @staticmethod
    def category(value, names):
        """The category of a place; what is spread a little around it belongs to it, what is between two to none."""
        near = None if value is None else round(value)
        return names[near] if near in names and abs(value - near) < SPREAD else value

    def moments(self, floats, originals, budget):
        budget.spend(MOMENT_BYTES * len(floats))
        if originals is not None and hasattr(originals, "__len__") and len(originals) == len(floats):
            said = [moment(value) for value in originals]
            if any(said):
                return said
        return self.dates(numbers(floats, budget), zone=False)

    def scale(self):
        """The name of the scale. Ticks 0, 1, 2… that have names are categories, too."""
        if self.is_date:
            return "datetime"
        if self.categories is not None:
            return "categorical"
        scale = self.axis.get_scale()
        return "categorical" if scale == "linear" and self.named_ticks() else scale

    def named_ticks(self):
        if not has_fixed_ticks(self.axis):
            return False
        places, names = self.tick_places(), self.tick_names()
        return (len(places) > 0 and list(places) == list(range(len(places))) and
                not any(is_number(name) or not name.strip() for name in names))

    def tick_places(self):
        return list(self.axis.get_majorticklocs()[:TICKS_MAX])

    def tick_names(self):
        return [str(name) for name in self.axis.get_major_formatter().format_ticks(self.tick_places())]

    def ticks(self, budget):
        places = self.tick_places()
        if not self.is_date:
            return numbers(places, budget)
        budget.spend(MOMENT_BYTES * len(places))
        return self.dates([number(place) for place in places])

    def tick_labels(self, budget):
        return [text(name, budget) for name in self.tick_names()]

    def names(self, spans, budget):
        """What each span (start, end) along the axis is called: by category, tick, date, or its middle."""
        if self.categories is None and not self.is_date and has_fixed_ticks(self.axis):
            ticks = NamedTicks(self.tick_places(), self.tick_names())
            return [text(ticks.name(sum(span) / 2), budget) for span in spans]
        formatter = self.own_formatter()
        return [text(self.name(span, formatter), budget) for span in spans]

    def name(self, span, formatter):
        middle = number((span[0] + span[1]) / 2)
        if middle is None:
            return ""
        if self.categories is not None and round(middle) in self.categories:
            return self.categories[round(middle)]
        if self.is_date:
            said = self.dates([middle], zone=False)[0] or ""
            return re.sub(r"T00:00:00$", "", said)
        said = formatter.format_ticks([middle])[0] if formatter else ""
        return said or format(middle, ".12g")

    def own_formatter(self):
        """The formatter that the user has set, if any: what matplotlib sets on its own knows only its own ticks."""
        from matplotlib import ticker
        formatter = self.axis.get_major_formatter()
        users = (ticker.FuncFormatter, ticker.StrMethodFormatter, ticker.FormatStrFormatter, ticker.PercentFormatter)
        return formatter if isinstance(formatter, users) else None


def naive(values):
    """datetimes, UTC without saying so, of days as matplotlib counts them; None for what no year has."""
    import numpy
    from matplotlib import dates
    micros = numpy.array([numpy.nan if value is None else value for value in values], float) * 86_400e6
    micros[~(numpy.abs(micros) < 1e17)] = numpy.nan
    whens = numpy.datetime64(dates.get_epoch(), "us") + numpy.nan_to_num(numpy.rint(micros)).astype("timedelta64[us]")
    return [when if ok and isinstance(when, datetime.datetime) else None
            for when, ok in zip(whens.tolist(), numpy.isfinite(micros).tolist())]


def has_fixed_ticks(axis):
    """Has the user placed the ticks and named them?"""
    from matplotlib import ticker
    return (isinstance(axis.get_major_locator(), ticker.FixedLocator) and
            isinstance(axis.get_major_formatter(), (ticker.FixedFormatter, ticker.FuncFormatter)))


class NamedTicks:
    """Finds the name of the tick that a place belongs to: the next one, the lower of two, unless all are far."""

    def __init__(self, places, names):
        named = sorted((float(place), name) for place, name in zip(places, names) if name)
        self.places = [place for place, _ in named]
        self.texts = [name for _, name in named]
        self.reach = min((b - a for a, b in zip(self.places, self.places[1:]) if b > a), default=1.0) / 2 + 1e-9

    def name(self, middle):
        after = bisect.bisect_left(self.places, middle)
        near = [at for at in (after - 1, after) if 0 <= at < len(self.places)]
        best = min(near, key=lambda at: round(abs(self.places[at] - middle), 9), default=None)
        if best is None or abs(self.places[best] - middle) > self.reach:
            return format(middle, ".12g")
        return self.texts[best]


def is_number(name):
    try:
        float(name.replace("\u2212", "-").replace(",", ""))
        return True
    except ValueError:
        return False
