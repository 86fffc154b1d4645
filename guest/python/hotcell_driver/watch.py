"""Brings SIGINT home when Python has lost it.

Python handles a signal in the main thread when its code goes on. One that comes between the last look and the call that
waits, or to another thread, does not end the wait: time.sleep(1000) sleeps on. With threads that want to run this is one
of a hundred. So a thread sees by the wakeup descriptor that a signal has come, and if the handler has not run (it empties
the descriptor) some time later, it sends the signal again, to the main thread.
"""
__builtins__ = dict(vars(__import__("builtins")))  # what the user does to builtins stays out of here

import os
import signal
from _thread import get_ident, start_new_thread
from select import POLLIN, poll
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_kill, pthread_sigmask, valid_signals
from time import sleep

from .protocol import moved

PATIENCE_S = 0.02
PATIENCE_MAX_S = 1.0  # C code that does not come back is not asked more often

_read = os.read


class Watch:
    def __init__(self, wanted):
        self._wanted = wanted
        self._main = get_ident()
        self._fds = [moved(fd) for fd in os.pipe()]
        for fd in self._fds:
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._fds[1], warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=self._forget)
        before = pthread_sigmask(SIG_BLOCK, valid_signals())
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # no more threads: it works nearly always without
            pass
        finally:
            pthread_sigmask(SIG_SETMASK, before)

    def handled(self):
        try:
            if self._fds:
                _read(self._fds[0], 4096)
        except OSError:
            pass

    def _run(self):
        poller = poll()
        poller.register(self._fds[0], POLLIN)
        patience = PATIENCE_S
        while all(event == POLLIN for _, event in poller.poll()):
            sleep(patience)
            try:
                came = SIGINT in _read(self._fds[0], 4096)
            except BlockingIOError:
                came = False
            except OSError:
                return
            if came and self._wanted():
                patience = min(2 * patience, PATIENCE_MAX_S)
                pthread_kill(self._main, SIGINT)
            else:
                patience = PATIENCE_S

    def _forget(self):
        """In a forked child, which shares the descriptor."""
        fds, self._fds = self._fds, []
        try:
            signal.set_wakeup_fd(-1)
            for fd in fds:
                os.close(fd)
        except (OSError, ValueError):  # closed by the user; not forked by the main thread
            pass
