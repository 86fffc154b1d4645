"""SIGINT: a KeyboardInterrupt in user code, and nowhere else.

The handler sees the frame that it interrupts. While user code runs, that is a frame below Interrupts.run(), and the
exception is raised in it; in run() itself the signal is only remembered. So there is no moment between "user code
runs" and "it does not" at which the exception could hit the driver.

A signal that comes between executions means nothing. From `count` on, which the driver sends in the state STARTING, each is
meant for the execution that it hits; who sent it waits for its arrival before the next execution is sent.
"""
__builtins__ = dict(vars(__import__("builtins")))  # what the user does to builtins stays out of here

import signal

from .watch import Watch

IDLE, STARTING, RUNNING, ENDING = range(4)


class Interrupts:
    def __init__(self):
        self.state = IDLE
        self.pending = False
        self.instead = None  # called instead of raising: True when it has taken care
        self.watch = Watch(self.wanted)

    def install(self):
        """Also takes the signal back from user code that kept it."""
        if signal.getsignal(signal.SIGINT) != self.handle:
            signal.signal(signal.SIGINT, self.handle)

    def wanted(self):
        """A signal that came must be handled soon."""
        return self.state in (STARTING, RUNNING) and signal.getsignal(signal.SIGINT) == self.handle

    def handle(self, number, frame):
        self.watch.handled()
        if self.state == STARTING or self.state == RUNNING and frame is not None and \
                frame.f_code is Interrupts.run.__code__:
            self.pending = True
        elif self.state == RUNNING and not (self.instead and self.instead()):
            raise KeyboardInterrupt

    def starting(self):
        self.state = STARTING

    def ending(self):
        self.state = ENDING

    def run(self, function, *arguments):
        """Calls it; in it SIGINT raises."""
        self.state = RUNNING
        try:
            return function(*arguments)
        finally:
            self.state = ENDING

    def check(self):
        """The first thing in user code: what came before."""
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def finished(self):
        self.pending = False
        self.state = IDLE
