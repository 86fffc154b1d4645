"""`hotcell run` against a kernel process that was taken over: it says anything on the channel."""
import os
import shutil
import subprocess
import sys
import tempfile

from harness.tap import PATIENCE_S, check, check_equal, run

HOTCELL = os.environ["HOTCELL"]
if not os.access(HOTCELL, os.X_OK):
    sys.exit(77)

PROGRAM = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READY = 2, SPAWNED = 4, OUTPUT = 6, EXITED = 10, DIED = 12, LOG = 16 };

static void message(uint32_t type, const void *body, uint32_t size)
{
	uint32_t header[4] = { type, 0, size, 1 };
	send(3, header, sizeof(header), MSG_NOSIGNAL);
	send(3, body, size, MSG_NOSIGNAL);
}
static void listen_a_little(void)
{
	static char bytes[1 << 20];
	recv(3, bytes, sizeof(bytes), 0);
}
static void start(void)
{
	uint64_t ns = 1;
	listen_a_little();
	message(READY, &ns, 8);
	listen_a_little();
	message(SPAWNED, "\2\0\0\0", 4);
}
static void text(uint32_t type, uint32_t number, const char *s, uint32_t tail)
{
	static char body[8192];
	uint32_t length = (uint32_t)strlen(s);
	memcpy(body, &number, 4);
	memcpy(body + 4, &length, 4);
	memcpy(body + 8, s, length + 1);
	message(type, body, 9 + length + tail);
}
int main(void)
{
	static char big[65536];
	MODE
	return 0;
}
"""


def with_kernel(mode, *arguments, timeout=PATIENCE_S):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(HOTCELL, folder)
        shutil.copy(os.path.join(os.path.dirname(HOTCELL), "hotcell-stub"), folder)
        subprocess.run(["gcc", "-w", "-O1", "-static", "-x", "c", "-", "-o", f"{folder}/hotcell-kernel"],
                       input=PROGRAM.replace("MODE", mode).encode(), check=True)
        return subprocess.run([f"{folder}/hotcell", "run", *arguments, "--", "true"], timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True)


def fails(mode, message, *arguments):
    done = with_kernel(mode, *arguments)
    check_equal(done.returncode, 125, done.stderr)
    check(message in done.stderr, done.stderr)
    check(b"\x1b" not in done.stderr, done.stderr)


def test_silence_and_exit():
    fails("", b"ended unexpectedly while it started")
    fails("start();", b"ended unexpectedly")


def test_garbage():
    fails('send(3, "garbage garbage garbage garbage", 31, 0); sleep(9);', b"control channel")
    fails("uint32_t h[4] = { READY, 0, 0xffffffff, 0 }; send(3, h, 16, 0); sleep(9);", b"control channel")
    fails("message(4711, big, 100); sleep(9);", b"control channel")


def test_messages_out_of_order():
    fails("listen_a_little(); message(EXITED, big, 4); sleep(9);", b"out of order")
    fails("listen_a_little(); message(SPAWNED, big, 4); sleep(9);", b"out of order")
    fails("start(); message(SPAWNED, big, 4); sleep(9);", b"out of order")
    fails("start(); message(READY, big, 8); sleep(9);", b"READY twice")
    fails("start(); message(1, big, 8); sleep(9);", b"unexpected message")


def test_output_nobody_asked_for():
    fails("start(); message(OUTPUT, big, 100); sleep(9);", b"more output")


def test_short_messages():
    fails('start(); message(DIED, "\\0", 1); sleep(9);', b"malformed")
    fails('start(); message(EXITED, "\\0", 1); sleep(9);', b"out of order")
    fails('listen_a_little(); message(15, "\\2\\0\\0\\0\\377\\377\\377\\377", 8); sleep(9);', b"malformed")


def test_no_escape_sequences_reach_the_terminal():
    fails(r'start(); text(LOG, 0, "\033]0;title\007", 0); sleep(1);', b"?]0;title?")
    fails(r'start(); text(DIED, 3, "\033[2J\302\233x", 4096); sleep(1);', b"?[2J??x")


def test_a_flood_does_not_stop_the_clock():
    done = with_kernel('start(); for (;;) text(LOG, 1, "flood", 0);', "-q", "--timeout", "500ms")
    check_equal(done.returncode, 137, done.stderr)
    check(b"--timeout" in done.stderr, done.stderr)


run(sys.modules[__name__])
