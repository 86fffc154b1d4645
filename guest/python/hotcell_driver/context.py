"""The context: takes requests, one after the other, and runs what they say.

User code leaves things behind that strike at any time: timers whose handlers raise, tasks that call sys.exit(). Hence
every step after the code has run is guarded, what is owed to the server is remembered, and serve() goes on whatever
happened: `done` is sent exactly once for each execution.
"""
__builtins__ = dict(vars(__import__("builtins")))  # what the user does to builtins stays out of here

import builtins
import os
import sys

PRELOAD_AFTER_MS = 200  # a driver that is used at once is not kept waiting by it

_exit = os._exit


class Context:
    def __init__(self, channel, interrupts, streams, shell, loops):
        self.channel = channel
        self.interrupts = interrupts
        self.streams = streams
        self.shell = shell
        self.loops = loops
        self.count = 0
        self.builtins = dict(vars(builtins))
        self.once = []  # variables of the next execution
        self.before = []  # what they were
        self.owed = None  # the ID of the execution whose done must be sent
        self.preload = [shell.preload_errors, shell.preload_magics, shell.preload_asyncio]

    def serve(self):
        """Until the end of the requests."""
        self.channel.ready()
        while True:
            try:
                if self.owed is not None:
                    self.end()
                self.channel.events.complete()
                request = self.channel.requests.next()
                if request is not None:
                    self.handle(*request)
                elif not self.wait():
                    return
            except BaseException:
                pass

    def wait(self):
        """For more requests; meanwhile loads what most contexts need one day. False: there will be none."""
        requests = self.channel.requests
        while self.preload and self.loops.loop is None and not requests.pending(PRELOAD_AFTER_MS):
            self.preload.pop(0)()
        if not requests.data:
            self.loops.wait(requests.fd)
            if self.loops.loop is not None and not requests.pending():
                return True  # something of the user has stopped the loop
        return requests.wait()

    def handle(self, name, argument, content):
        if name == "env":
            key, _, value = content.partition("=")
            os.environ[key] = value
        elif name == "with":
            self.once.append(content.partition("=")[::2])
        elif name == "execute":
            self.execute(argument, content)

    def execute(self, id, code):
        self.interrupts.starting()
        self.owed = id
        self.count += 1
        self.channel.begin(self.count)
        try:
            self.mend()
            self.interrupts.install()
            self.apply()
            self.interrupts.run(self.run, code)
        except BaseException as error:
            self.interrupts.ending()
            self.guarded(self.report, error)

    def report(self, error):
        try:
            self.shell.report(error)
        finally:
            if not self.shell.errored:  # code that breaks Python also breaks its tracebacks
                self.channel.error(type(error).__name__, str(error), f"{type(error).__name__}: {error}")

    def run(self, code):
        self.interrupts.check()
        self.loops.before(code)
        self.shell.run(code, self.count)

    def mend(self):
        """What code before has deleted of the language comes back: without it IPython is silent."""
        now = vars(builtins)
        for name in self.builtins.keys() - now.keys():
            now[name] = self.builtins[name]

    def end(self):
        """What follows an execution, however it ended."""
        self.interrupts.ending()
        if self.channel.in_child:  # the code forked, and this is the child: it never was the driver
            for stream in self.streams:
                self.guarded(stream.finish)
            _exit(0)
        self.guarded(self.loops.after)
        self.guarded(self.restore)
        self.guarded(self.shell.results.finish)
        self.guarded(flush_libraries)
        for stream in self.streams:
            self.guarded(stream.finish)
        id, self.owed = self.owed, None
        self.channel.done(id)
        self.interrupts.finished()

    @staticmethod
    def guarded(function, *arguments):
        try:
            function(*arguments)
        except BaseException:
            pass

    def apply(self):
        """Variables for this execution."""
        once, self.once = self.once, []
        for key, value in once:
            self.before.append((key, os.environ.get(key)))
            os.environ[key] = value

    def restore(self):
        while self.before:
            key, value = self.before.pop()
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def flush_libraries():
    """What C code printed and the C library still holds. NumPy, among others, has loaded ctypes."""
    if "ctypes" in sys.modules:
        sys.modules["ctypes"].CDLL(None).fflush(None)
