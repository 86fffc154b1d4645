"""The wall clock is set, forward and back, under a running server: nothing lives shorter or longer.

Only that server's clock: tests/server/wall_clock.c is preloaded. The boot clock, by which lives end, is the host's.
"""
import base64
import datetime
import email.utils
import hashlib
import http.client
import mmap
import os
import struct
import tempfile
import time
import urllib.parse

from harness import scene, tap
from harness.cell import Cell, connection_of
from harness.daemon import Daemon
from harness.tap import PATIENCE_S, Skip, check, check_equal

SHIM = os.path.join(os.environ["BUILD"], "tests/server/wall_clock.so")
DAY = 86400
SLACK_S = 1.5  # by which the server may round


class Clocked(Daemon):
    """A server whose wall clock is `self.shift` seconds off."""

    def __init__(self, **options):
        tap.skip_if_sanitized("its runtime wants to be the first library")
        if not os.path.exists(SHIM):
            raise Skip("the clock is not built")
        self.file = tempfile.NamedTemporaryFile(prefix="hotcell-clock-")
        self.file.truncate(8)
        os.chmod(self.file.name, 0o644)
        self.offset = mmap.mmap(self.file.fileno(), 8)
        self.shift = 0
        super().__init__(env={"LD_PRELOAD": SHIM, "WALL_CLOCK": self.file.name}, **options)

    def set(self, seconds):
        self.shift = seconds
        self.offset[:] = struct.pack("<q", seconds)

    def now(self):
        return time.time() + self.shift

    def detail(self, id):
        status, value, headers = self.request("GET", f"/sandboxes/{id}")
        check_equal(status, 200, value)
        return value, headers

    def listed(self, id):
        return next(s for s in self.request("GET", "/v2/sandboxes")[1] if s["sandboxID"] == id)


def stamp(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Life:
    """A sandbox whose end the test knows, within the time that its create took."""

    def __init__(self, d, seconds):
        self.d, begun = d, time.monotonic()
        self.id = d.create(timeout=seconds)
        self.earliest, self.latest = begun + seconds, time.monotonic() + seconds

    def check_shown(self):
        """endAt on the server's clock, in both places."""
        for show in (lambda: self.d.detail(self.id)[0], lambda: self.d.listed(self.id)):
            # Whatever passes between a look at one clock and at the other makes the range wider.
            before = self.d.now() - time.monotonic() + self.earliest
            end = stamp(show()["endAt"])
            after = -time.monotonic() + self.d.now() + self.latest
            check(before - SLACK_S <= end <= after + SLACK_S, f"endAt {end}, not from {before} to {after}")

    def check_ends(self):
        """Not before its time, which has nothing to do with the clock's; and then, without another request."""
        scene.until(lambda: self.d.request("GET", f"/sandboxes/{self.id}")[0] == 404, "it lives on")
        check(time.monotonic() >= self.earliest, "it ended too early")


def test_lives_are_as_long_as_they_were():
    with Clocked() as d:
        check(abs(stamp(d.detail(d.create())[0]["startedAt"]) - time.time()) < 60, "the clock is wrong at the start")
        long, short = Life(d, 600), Life(d, 6)
        for shift in (DAY, -2 * DAY, 400 * DAY):
            d.set(shift)
            long.check_shown()
            later = Life(d, 300)
            later.check_shown()
            check_equal(d.detail(later.id)[0]["state"], "running")
        short.check_ends()
        d.set(-30 * DAY)
        back = Life(d, 2)
        back.check_ends()
        long.check_shown()
        check_equal(d.request("POST", f"/sandboxes/{long.id}/timeout", {"timeout": 900})[0], 204)
        end = stamp(d.detail(long.id)[0]["endAt"])
        check(abs(end - d.now() - 900) < 60, f"endAt {end} at {d.now()}")


def test_ends_keep_their_order():
    with Clocked(pool=0) as d:
        lives = [Life(d, 4), Life(d, 600)]
        d.set(7 * DAY)
        lives.insert(1, Life(d, 8))
        d.set(-7 * DAY)
        for life in lives[:2]:
            life.check_ends()
        lives[2].check_shown()


def test_pauses():
    with Clocked(pool=0) as d:
        id = d.create(timeout=3, autoPause=True)
        d.set(-DAY)
        scene.until(lambda: d.detail(id)[0]["state"] == "paused", "it is not paused")
        d.set(DAY)
        status, value, unused = d.request("POST", f"/sandboxes/{id}/connect", {"timeout": 300})
        check_equal(status, 201, value)
        check_equal(d.detail(id)[0]["state"], "running")


def lines(d, id):
    status, value, unused = d.request("GET", f"/sandboxes/{id}/logs")
    check_equal(status, 200, value)
    return [(entry["message"], stamp(entry["timestamp"])) for entry in value["logEntries"]]


def test_logs_and_metrics_go_on():
    with Clocked(pool=0) as d:
        cell = Cell(d)
        for word, shift in (("first", 0), ("second", DAY), ("third", -DAY)):
            d.set(shift)
            cell.run(f"echo the-{word}-line")
            found = scene.until(lambda: [t for text, t in lines(d, cell.id) if f"the-{word}-line" in text],
                                f"no line of {word}")
            check(abs(found[-1] - d.now()) < 60, f"{word}: {found[-1]} at {d.now()}")
            check_equal(d.request("GET", f"/sandboxes/{cell.id}/metrics")[0], 200)
            unused, headers = d.detail(cell.id)
            date = email.utils.parsedate_to_datetime(headers["Date"]).timestamp()
            check(abs(date - d.now()) < 60, f"Date {headers['Date']}")
        texts = " ".join(text for text, unused in lines(d, cell.id))
        check(texts.index("first") < texts.index("second") < texts.index("third"), texts)
        numbers = d.metrics()
        check(all(value >= 0 for name, value in numbers.items() if "seconds" in name), numbers)
        cell.check_alive()


def signed(cell, path, expiration):
    raw = f"{path}:read::{cell.token}:{expiration}".encode()
    signature = "v1_" + base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
    return "/files?" + urllib.parse.urlencode({"path": path, "signature": signature,
                                               "signature_expiration": expiration})


def test_signatures_end_by_the_wall_clock():
    """Their time is written in them: it is the clock that says what it is."""
    with Clocked(pool=0) as d:
        cell = Cell(d, secure=True)
        cell.run("echo -n content > /tmp/f")
        url = signed(cell, "/tmp/f", int(time.time()) + 3600)

        def fetch():
            connection = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE_S)
            with connection_of(connection):
                connection.request("GET", url, headers={"E2b-Sandbox-Id": cell.id, "E2b-Sandbox-Port": "49983"})
                response = connection.getresponse()
                return response.status, response.read()
        check_equal(fetch(), (200, b"content"))
        d.set(DAY)
        status, text = fetch()
        check(status == 401 and b"expired" in text, f"{status} {text}")
        d.set(-DAY)
        check_equal(fetch(), (200, b"content"))
        check_equal(d.request("GET", "/v2/sandboxes")[0], 200)  # keys have no time


if __name__ == "__main__":
    tap.run(__import__("__main__"))
