"""One asyncio loop for the life of the context.

Code of a cell finds it as the running loop, whether the cell awaits or not: create_task() works everywhere, and tasks
that are not done when an execution ends go on in the next one and while the driver waits for it. Unlike in a notebook,
asyncio.run() and run_until_complete() work as well: where no coroutine runs, the loop is only marked as running.

asyncio is not imported before code looks as if it needs it.
"""
import re
import sys

NEEDED = re.compile(r"\b(?:async|await)|aio|\banyio|\bhttpx")


class Loops:
    def __init__(self, interrupts):
        self.interrupts = interrupts
        self.loop = None
        self.task = None  # of the cell that awaits
        self.cancelled = False  # by an interrupt

    def before(self, code):
        """Marks the loop as running, if there is or must be one."""
        self.cancelled = False
        if self.loop is None and ("asyncio" in sys.modules or NEEDED.search(code)):
            self._make()
        if self.loop is not None:
            if self.loop.is_closed():
                self._make()
            self._events._set_running_loop(self.loop)

    def after(self):
        if self.loop is not None:
            self._events._set_running_loop(None)

    def _make(self):
        import asyncio
        from asyncio import events
        self._events = events
        self.loop = _marked_loop(asyncio)()
        asyncio.set_event_loop(self.loop)

    def run(self, coroutine):
        """IPython's loop_runner: a cell that awaits."""
        if self.loop is None:
            self.before("await")
        self.task = self.loop.create_task(coroutine)
        self.interrupts.instead = self._cancel
        try:
            while True:
                try:
                    return self.loop.run_until_complete(self.task)
                except KeyboardInterrupt:  # from a callback, or from a task that is not ours
                    if self.task.done():
                        raise
                    self.cancelled = True
                    self.task.cancel()
        finally:
            self.interrupts.instead = None
            self.task = None

    def _cancel(self):
        """SIGINT while the loop waits: the exception goes to what awaits, not into the loop. The second one does not
        ask any more, nor when code runs."""
        if self.cancelled or not self.loop.is_running() or sys.modules["asyncio"].current_task(self.loop):
            return False
        self.cancelled = True
        self.loop.call_soon_threadsafe(self.task.cancel)
        return True

    def wait(self, descriptor):
        """Runs what goes on in the background until the descriptor can be read. False: there is no loop."""
        if self.loop is None or self.loop.is_closed():
            return False
        try:
            self.loop.add_reader(descriptor, self.loop.stop)
            try:
                self.loop.run_forever()
            finally:
                self.loop.remove_reader(descriptor)
        except Exception:  # the user has broken it
            self.loop = None
            return False
        return True


def _marked_loop(asyncio):
    """The loop's class, and asyncio.run() made to know it."""
    events, original = asyncio.events, asyncio.run

    class Unmarked:
        """Takes the mark off, unless the loop really runs."""

        def __enter__(self):
            self.loop = events._get_running_loop()
            if isinstance(self.loop, ContextLoop) and not self.loop.is_running():
                events._set_running_loop(None)
            else:
                self.loop = None

        def __exit__(self, *unused):
            if self.loop is not None:
                events._set_running_loop(self.loop)

    class ContextLoop(asyncio.SelectorEventLoop):
        def run_until_complete(self, future):
            with Unmarked():
                return super().run_until_complete(future)

        def run_forever(self):
            with Unmarked():
                return super().run_forever()

    def run(main, **options):
        with Unmarked():
            return original(main, **options)

    policy = asyncio.get_event_loop_policy()
    if hasattr(policy, "_loop_factory"):
        policy._loop_factory = ContextLoop  # loops that the user makes can run beside the marked one, too
    if not hasattr(original, "__wrapped__"):
        run.__doc__, run.__wrapped__, run.__module__ = original.__doc__, original, original.__module__
        asyncio.run = run
    return ContextLoop
