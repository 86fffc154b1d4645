"""The context: takes requests, one after the other, and runs what they say."""
__builtins__ = dict(vars(__import__("builtins")))  # what the user does to builtins stays out of here

import os


class Context:
    def __init__(self, channel, interrupts, streams, shell):
        self.channel = channel
        self.interrupts = interrupts
        self.streams = streams
        self.shell = shell
        self.count = 0
        self.once = []  # variables of the next execution

    def serve(self):
        """Until the end of the requests."""
        self.channel.ready()
        while True:
            try:
                request = self.channel.requests.next()
                if request is not None:
                    self.handle(*request)
                elif not self.channel.requests.wait():
                    return
            except Exception:  # what the handlers of user code's signals and timers may raise between executions
                pass

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
        self.count += 1
        self.channel.begin(self.count)
        before = self.apply()
        try:
            self.interrupts.install()
            self.interrupts.run(self.run, code)
        except BaseException as error:
            self.shell.report(error)
        if self.channel.in_child:
            os._exit(0)
        self.restore(before)
        self.shell.results.finish()
        for stream in self.streams:
            stream.finish()
        self.channel.done(id)
        self.interrupts.finished()

    def run(self, code):
        self.interrupts.check()
        self.shell.errored = False
        self.shell.execution_count = self.count
        self.shell.run_cell(code, store_history=True)

    def apply(self):
        before = [(key, os.environ.get(key)) for key, _ in self.once]
        for key, value in self.once:
            os.environ[key] = value
        self.once = []
        return before

    def restore(self, before):
        for key, value in reversed(before):
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
