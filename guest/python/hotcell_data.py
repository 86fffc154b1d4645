"""The values of results as JSON: data frames as columns, and what really is JSON of lists and dictionaries.

    frame_data(df)    {name: [value, ...], ...} of a pandas.DataFrame, or None when it is too large
    json_of(value)    the same value made of what JSON has, or None when it is no list or dictionary of such values

Both give only None, bool, int, float (finite), str, list and dict, DEPTH_MAX deep and about JSON_BYTES long (who
writes the text looks how long it is), and raise nothing but what ends programs. A frame shows whatever it holds, in
text if there is nothing better; a list or dictionary is shown as JSON only if nothing of it is lost but NaN and
infinity, which are null. pandas and numpy are not imported here: whose values are not there has not imported them.
"""
import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import math
import sys
import uuid
from _json import encode_basestring_ascii as as_json  # what code does to the module json is not seen here

JSON_BYTES = (8 << 20) - 4096  # a part of a result has at most 8 MiB
COLUMNS_MAX = 10_000           # pandas needs its time for each
DEPTH_MAX = 100                # the receiver's limit is a little more
FLOAT_BYTES = 20               # of one with a comma, as most are: 17 digits and the point
INT_BITS = 64                  # larger integers are texts in frames, and no JSON elsewhere


class NotJson(Exception):
    """Of json_of(): there is something that JSON has not. Of both: there is too much."""


class Size:
    """Counts what the JSON will need, so that nothing large is made in vain."""

    def __init__(self):
        self.left = JSON_BYTES

    def add(self, size):
        self.left -= size
        if self.left < 0:
            raise NotJson()

    def text(self, value):
        """A string that is valid UTF-8, as are all that JSON may have."""
        value = str.__str__(value) if isinstance(value, str) else str(value)
        if len(value) > self.left:
            raise NotJson()
        self.add(len(as_json(value)) + 2)
        return value if value.isascii() else value.encode("utf-8", "replace").decode()


def json_of(value):
    if not isinstance(value, (list, dict)):
        return None
    try:
        return strict(value, Size(), DEPTH_MAX)
    except Exception:  # NotJson, or a strange object's own
        return None


def strict(value, size, depth):
    """The value as JSON has it; NotJson when JSON has not."""
    if value is None or value is True or value is False:
        size.add(6)
        return value
    if isinstance(value, str):
        return size.text(value)
    if isinstance(value, int):
        return integer(value, size)
    if isinstance(value, float):
        return real(value, size)
    if depth == 0:  # so ends a cycle, too
        raise NotJson()
    if isinstance(value, dict):
        size.add(4)
        return {key_of(key, size): strict(item, size, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        size.add(4)
        return [strict(item, size, depth - 1) for item in value]
    return other(value, size, depth)


def other(value, size, depth):
    """Values of types that have one obvious form."""
    if isinstance(value, (datetime.date, datetime.time)):
        return size.text(iso(value)) if value == value else strict(None, size, depth)
    if isinstance(value, uuid.UUID):
        return size.text(str(value))
    if isinstance(value, enum.Enum):
        return strict(value.value, size, depth - 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return strict({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, size, depth - 1)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.bool_, numpy.integer, numpy.floating)):
        return strict(value.item(), size, depth)
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "biuf":
        size.add(2 * value.size - 1 if value.size else 0)
        return strict(value.tolist(), size, depth)
    raise NotJson()


def integer(value, size):
    value = int(value)
    if value.bit_length() > INT_BITS:
        raise NotJson()
    size.add(22)
    return value


def real(value, size):
    size.add(FLOAT_BYTES)
    return float(value) if math.isfinite(value) else None


def iso(value):
    return value.isoformat()


def key_of(key, size):
    """The name of a member; the ways of Python where JSON has one (json.dumps), texts of times, else NotJson."""
    if isinstance(key, str):
        return size.text(key)
    if key is None or isinstance(key, bool):
        return size.text({None: "null", True: "true", False: "false"}[key])
    if isinstance(key, enum.Enum):
        return key_of(key.value, size)
    if isinstance(key, (int, float, uuid.UUID)):
        return size.text(str(key))
    if isinstance(key, (datetime.date, datetime.time)):
        return size.text(iso(key))
    if type(key).__module__ == "numpy" and hasattr(key, "item") and not isinstance(key.item(), bytes):
        return key_of(key.item(), size)
    raise NotJson()


def frame_data(frame):
    try:
        size = Size()
        rows, columns = frame.shape
        if rows * columns * 2 > JSON_BYTES or columns > COLUMNS_MAX:
            return None
        names = column_names(frame.columns, size)
        return {name: column(frame.iloc[:, place], size) for place, name in enumerate(names)}
    except Exception:  # NotJson, or a strange frame's own
        return None


def column_names(columns, size):
    """The names as texts, each once: what comes again gets a number, as pandas.read_csv has it."""
    used, names = set(), []
    for column in columns:
        base = name = size.text(iso(column) if isinstance(column, datetime.date) else str(column))
        count = 0
        while name in used:
            count += 1
            name = f"{base}.{count}"
        size.add(len(name) + 4)
        used.add(name)
        names.append(name)
    return names


def column(series, size):
    """The values of a column, whole columns at once where its type says how."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "biu" and type(series.dtype).__module__.startswith("numpy"):
        size.add(4 * len(series))
        return series.tolist()
    if kind == "f" and type(series.dtype).__module__.startswith("numpy"):
        size.add(FLOAT_BYTES * len(series))
        return [value if math.isfinite(value) else None for value in series.tolist()]
    return [loose(value, size, DEPTH_MAX) for value in series]


def loose(value, size, depth):
    """A value of a frame: as JSON has it, else the nearest there is, else its text."""
    if missing(value):
        return strict(None, size, depth)
    if isinstance(value, int) and value.bit_length() > INT_BITS or isinstance(value, complex):
        return size.text(str(value))
    if isinstance(value, decimal.Decimal):
        return real(float(value), size)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return of_bytes(bytes(value), size)
    if isinstance(value, datetime.timedelta):
        return size.text(duration(value))
    if depth == 0:
        return size.text("...")
    if isinstance(value, collections.abc.Mapping):
        size.add(4)
        return {size.text(str(key)): loose(item, size, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ in ("ndarray", "Series", "Index"):
        size.add(4)
        return [loose(item, size, depth - 1) for item in value]
    try:
        return strict(value, size, 1)
    except NotJson:
        if size.left < 0:
            raise
        return size.text(str(value))


def missing(value):
    """None, and pandas' NaT and NA; NaN becomes null with all numbers."""
    return value is None or type(value).__name__ in ("NaTType", "NAType")


def of_bytes(value, size):
    """Text where bytes are text, else base64."""
    try:
        return size.text(value.decode())
    except UnicodeDecodeError:
        return size.text(base64.b64encode(value).decode())


def duration(value):
    """ISO 8601, as pandas writes it: P1DT2H3M4.5S."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    seconds, sign = value.total_seconds(), ""
    if seconds < 0:
        value, sign = -value, "-"
    hours, rest = divmod(value.seconds, 3600)
    rest = f"{rest % 60}.{value.microseconds:06d}".rstrip("0").rstrip(".") if value.microseconds else str(rest % 60)
    return f"{sign}P{value.days}DT{hours}H{value.seconds % 3600 // 60}M{rest}S"
