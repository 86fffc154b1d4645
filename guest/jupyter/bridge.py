"""The driver of the code interpreter for every language that has a Jupyter kernel (docs/interpreter.md).

    bridge.py KERNEL

    requests (3) ──► Bridge ── Jupyter wire protocol, loopback ──► kernel
    events   (4) ◄──        ◄── iopub, shell, stdin             ◄──
                           ◄── its own output: a log, read when it has ended

While the kernel executes, one poll waits for its channels and for a pipe into which signals are written.
An execution is over when the kernel has answered it and said that it is idle; or when the kernel has
ended, which is an error, and our end as well: the next execution starts a new bridge.

What code prints comes in messages. What the kernel itself writes to its standard output is, as in
Jupyter, nobody's: most kernels repeat there what they send.

Jupyter starts the kernel in a session of its own: an interrupt of our process group reaches us alone, and
the kernel gets it the way it wants (a signal, or a message). It ends with us, however we end.
"""
import base64
import ctypes
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading

import frames
import languages

START_TIMEOUT_S = 60
POLL_MS = 2000  # how soon a second interrupt follows
JSON_MAX = 8 << 20
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def load(name):
    """The kernel's manager, not started; frames.Failed with what to do."""
    try:
        import zmq
        from jupyter_client import KernelManager
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as problem:
        raise frames.Failed(f"There is no language {name!r} here, and Jupyter kernels need a package: install "
                            f"python3-jupyter-client and the kernel ({problem})")
    found = KernelSpecManager().find_kernel_specs()
    if name not in found:
        raise frames.Failed(f"There is no language or Jupyter kernel {name!r} here: install it. Installed kernels: "
                            f"{', '.join(sorted(found)) or 'none'}")
    return zmq, KernelManager(kernel_name=name)


def end_with_us():
    """In the kernel's process, before it is the kernel: whoever kills the bridge has killed the kernel, too."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Log:
    """The end of what the kernel has written to its own output."""

    SIZE = 4000

    def __init__(self):
        self.read, self.write = os.pipe()
        self.kept = b""
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def follow(self):
        while data := os.read(self.read, 65536):
            self.kept = (self.kept + data)[-self.SIZE:]

    def start(self):
        """The kernel has the writing end now."""
        os.close(self.write)
        self.thread.start()

    def text(self):
        """Of a kernel that has ended; a child of it may still write."""
        self.thread.join(0.5)
        return COLOURS.sub("", self.kept.decode("utf-8", "replace")).strip()


class KernelGone(Exception):
    """It has ended between executions."""


class Bridge:
    def __init__(self, name, events):
        self.name = name
        self.events = events
        self.requests = frames.Reader(3)
        self.zmq, self.manager = load(name)
        self.once = {}  # variables of `with`
        self.count = 0
        self.waiting = False
        self.log = Log()
        self.signals = self.catch_signals()

    # the kernel

    def start(self):
        self.manager.client_class = "jupyter_client.blocking.BlockingKernelClient"
        try:
            self.manager.start_kernel(stdin=subprocess.DEVNULL, stdout=self.log.write,
                                      stderr=subprocess.STDOUT, preexec_fn=end_with_us)
            self.log.start()
            self.client = self.manager.client()
            self.client.start_channels()
            self.client.wait_for_ready(timeout=START_TIMEOUT_S)
        except Exception as problem:
            self.stop()
            raise frames.Failed(f"The Jupyter kernel {self.name!r} does not start: {problem}\n{self.log.text()}".strip())
        self.language = languages.find(self.kernel_language())
        self.sockets = {channel: getattr(self.client, channel + "_channel").socket
                        for channel in ("iopub", "shell", "stdin")}
        self.poller = self.zmq.Poller()
        for socket in self.sockets.values():
            self.poller.register(socket, self.zmq.POLLIN)
        self.poller.register(self.signals, self.zmq.POLLIN)

    def kernel_language(self):
        self.client.kernel_info()
        while True:
            reply = self.client.get_shell_msg(timeout=START_TIMEOUT_S)
            if reply["msg_type"] == "kernel_info_reply":
                return reply["content"].get("language_info", {}).get("name", "")

    def stop(self):
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def is_alive(self):
        return self.manager.is_alive()

    def catch_signals(self):
        """SIGINT and the end of a child wake the poll."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, lambda *unused: None)
        signal.signal(signal.SIGCHLD, self.on_child)
        return read

    def on_child(self, *unused):
        """The kernel is the only child."""
        if self.waiting:
            raise KernelGone

    def caught(self):
        """The numbers of the signals since the last call."""
        try:
            return set(os.read(self.signals, 4096))
        except BlockingIOError:
            return set()

    # requests

    def next_request(self):
        self.waiting = True
        try:
            return self.requests.next() if self.is_alive() else None
        except KernelGone:
            return None
        finally:
            self.waiting = False

    def run(self):
        """Until there are no more requests, or no kernel."""
        while request := self.next_request():
            name, argument, content = request
            if name == "execute":
                self.caught()  # what came before is nobody's
                self.execute(argument, content.decode("utf-8", "replace"))
            elif name in ("env", "with"):
                key, _, value = content.decode("utf-8", "replace").partition("=")
                if name == "with":
                    self.once[key] = value
                elif os.environ.get(key) != value:
                    os.environ[key] = value
                    self.run_silently([self.language.set(key, value)])

    def run_silently(self, lines):
        """Code of ours; what it prints is nobody's."""
        code = "\n".join(line for line in lines if line)
        if code:
            self.converse(code, silent=True)

    def execute(self, id, code):
        once, self.once = self.once, {}
        self.run_silently([self.language.set(key, value) for key, value in once.items()])
        self.count += 1
        self.converse(code, silent=False)
        if self.is_alive():
            self.run_silently([self.language.set(key, os.environ[key]) if key in os.environ else self.language.unset(key)
                               for key in once])
        self.events.send("done", id)

    # one execution

    def converse(self, code, silent):
        """Sends code, and handles messages until it is over."""
        turn = Turn(self, silent)
        # stop_on_error is about requests that wait behind this one. There are none, but a kernel told so refuses
        # what comes within a moment after the error.
        turn.id = self.client.execute(code, silent=silent, store_history=not silent, allow_stdin=False, stop_on_error=False)
        while not turn.is_over():
            ready = dict(self.poller.poll(POLL_MS))
            if self.signals in ready and signal.SIGINT in self.caught() and not silent:
                turn.interrupt(again=True)
            elif not ready:
                turn.interrupt(again=False)
            handled = sum(self.handle(channel, turn) for channel, socket in self.sockets.items() if socket in ready)
            if not handled and not self.is_alive():
                turn.died()
                return
        turn.finish()

    def handle(self, channel, turn):
        """All messages that wait on a channel; how many."""
        count = 0
        while True:
            try:
                message = getattr(self.client, f"get_{channel}_msg")(timeout=0)
            except queue.Empty:
                return count
            count += 1
            if message.get("parent_header", {}).get("msg_id") == turn.id:
                getattr(turn, "on_" + message["msg_type"], lambda content: None)(message["content"])


class Turn:
    """What the kernel says to one execution, made into events."""

    def __init__(self, bridge, silent):
        self.bridge = bridge
        self.events = bridge.events
        self.silent = silent
        self.accepted = silent
        self.interrupted = False  # and silent since
        self.idle = self.replied = self.failed = False

    def is_over(self):
        return self.idle and self.replied

    def interrupt(self, again):
        """Twice, if the kernel stays silent: one that had not quite begun has missed the first."""
        if again or self.interrupted:
            self.bridge.manager.interrupt_kernel()
        self.interrupted = again

    def accept(self):
        if not self.accepted:
            self.accepted = True
            self.events.send("count", str(self.bridge.count))

    def show(self, name, *arguments):
        """An event of the execution; nothing of code of ours is shown."""
        if not self.silent:
            self.accept()
            getattr(self.events, name)(*arguments)

    # messages

    def on_status(self, content):
        if content.get("execution_state") == "idle":
            self.idle = True

    def on_execute_input(self, unused):
        self.accept()

    def on_stream(self, content):
        self.show("text", "stderr" if content.get("name") == "stderr" else "stdout", content.get("text", ""))

    def on_execute_result(self, content):
        self.show("result", "main", parts_of(content.get("data", {})))

    def on_display_data(self, content):
        self.show("result", "display", parts_of(content.get("data", {})))

    on_update_display_data = on_display_data

    def on_error(self, content):
        if not self.failed:
            self.failed = True
            trace = "\n".join(map(str, content.get("traceback") or []))
            self.show("error", str(content.get("ename", "")), str(content.get("evalue", "")), COLOURS.sub("", trace))

    def on_input_request(self, unused):
        """Not asked for; a kernel that asks nevertheless gets nothing."""
        self.bridge.client.input("")

    def on_execute_reply(self, content):
        self.replied = True
        self.status = content.get("status")
        if self.status == "error":
            self.reply = content
        for part in content.get("payload") or []:
            if part.get("source") == "page" and "text/plain" in part.get("data", {}):
                self.show("text", "stdout", COLOURS.sub("", part["data"]["text/plain"]) + "\n")

    # the end

    def finish(self):
        if self.status == "error":
            self.on_error(self.reply)
        elif self.status != "ok" and not self.failed:
            self.on_error({"ename": "ExecutionAborted", "evalue": "The kernel has not executed the code."})
        if not self.silent:
            self.accept()

    def died(self):
        process = self.bridge.manager.provisioner.process if self.bridge.manager.provisioner else None
        status = process.poll() if process else None
        how = f" with status {status}" if status is not None and status >= 0 else \
            f" by signal {-status}" if status is not None else ""
        self.failed = False
        self.on_error({"ename": "KernelDied", "evalue": f"The Jupyter kernel {self.bridge.name!r} has ended{how}.",
                       "traceback": [self.bridge.log.text()]})


def parts_of(data):
    """The parts of a result, in the kernel's order."""
    parts = []
    for kind, content in data.items():
        if not re.fullmatch(r"[!-~]{1,120}", kind):
            continue
        if isinstance(content, list) and all(isinstance(line, str) for line in content) and not is_json(kind):
            content = "".join(content)
        if is_json(kind) or not isinstance(content, str):
            content = json.dumps(content)
            if len(content) > JSON_MAX:
                continue
        elif kind in ("image/png", "image/jpeg", "application/pdf"):
            content = re.sub(r"\s", "", content)
            if not is_base64(content):
                continue
        elif kind == "text/plain":
            content = unquoted(content)
        parts.append((kind, content))
    return parts


def unquoted(text):
    """A string as the value of an expression is shown without its quotes, in every language."""
    return text[1:-1] if re.fullmatch(r"'.*'|\".*\"", text, re.DOTALL) and len(text) > 1 else text


def is_json(kind):
    return kind in ("application/json", "e2b/data", "e2b/chart") or kind.endswith("+json")


def is_base64(text):
    try:
        base64.b64decode(text, validate=True)
        return True
    except ValueError:
        return False


def main():
    events = frames.Events(4)
    try:
        bridge = Bridge(sys.argv[1], events)
        bridge.start()
    except frames.Failed as problem:
        events.send("failed", "-", str(problem))
        return 1
    events.send("ready")
    try:
        bridge.run()
    finally:
        bridge.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
