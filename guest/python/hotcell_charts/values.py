"""Values that JSON has, and how many of them there may be."""
import datetime
import math

JSON_BYTES = (8 << 20) - (64 << 10)  # what a part may have, but for the names of the fields
TEXT_MAX = 10_000                    # characters of one title or label
NUMBER_BYTES = 20                    # of one number with a comma, as most are: 17 digits and the point


class TooLarge(Exception):
    """The chart does not fit."""


class Budget:
    """How many bytes of JSON a figure may still become."""

    def __init__(self, size=JSON_BYTES):
        self.left = size

    def spend(self, size):
        if size > self.left:
            raise TooLarge()
        self.left -= size


def text(value, budget):
    """A string that is valid UTF-8, cut when it is endless."""
    value = str(value)[:TEXT_MAX].encode("utf-8", "replace").decode()
    budget.spend(4 + (len(value) if value.isascii() else 6 * len(value)))
    return value


def number(value):
    """A float, or None for what is not a finite number (masked, NaN, infinity, too large for a float)."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def numbers(values, budget):
    """A list of floats and None from an array, masked or not, of any type that has floats."""
    import numpy
    values = numpy.ma.asarray(values)
    budget.spend(NUMBER_BYTES * values.size)
    values = numpy.ma.filled(values.astype(float), numpy.nan).ravel()
    finite = numpy.isfinite(values)
    values = values.tolist()
    return values if finite.all() else [v if ok else None for v, ok in zip(values, finite.tolist())]


def significant(value, digits):
    """The value rounded to so many significant digits."""
    return float(f"{value:.{max(1, digits) - 1}e}")


def exponent(value):
    """Of ten: 3 for 1234, -1 for 0.5."""
    return math.floor(math.log10(abs(value))) if value else 0


def moment(value):
    """The ISO text of a date, datetime, numpy.datetime64, pandas.Timestamp or pandas.Period; None for what is none."""
    if hasattr(value, "to_timestamp"):
        value = value.to_timestamp()
    if hasattr(value, "dtype") and getattr(value.dtype, "kind", "") == "M":
        value = value.astype("datetime64[us]").item()
    if not isinstance(value, datetime.date) or value != value:  # NaT is no time
        return None
    return value.isoformat()
