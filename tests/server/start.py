"""Starts and ends of `hotcell serve`: what it prints, who it is, what stops it and what it says then."""
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import stat
import subprocess

from harness import daemon, process, scene, tap
from harness.daemon import Daemon
from harness.tap import PATIENCE_S, Skip, check, check_equal

HOTCELL = os.environ["HOTCELL"]


def run(*arguments, **environment):
    return subprocess.run([HOTCELL, "serve", *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                          env=dict(process.ENVIRONMENT, **{"HOME": "/nonexistent", **environment}))


def check_refused(done, *parts):
    check_equal(done.returncode, 1, done.stderr)
    check(done.stderr.startswith("hotcell: ") and done.stdout == "", done.stderr + done.stdout)
    for part in parts:
        check(part in done.stderr, f"'{part}' is not in: {done.stderr}")


def refused_start(d):
    before = len(d.log()) if os.path.exists(os.path.join(d.root, "log")) else 0
    d.start(wait=False)
    out = d.child.stdout.read().decode()
    status = d.child.wait(PATIENCE_S)
    d.child.stdout.close()
    d.err.close()
    said = [line + "\n" for line in d.log()[before:].splitlines() if not line.startswith("{")]
    return subprocess.CompletedProcess([], status, out, "".join(said))


def test_first_start():
    with Daemon() as d:
        check(re.fullmatch(r"http://127\.0\.0\.1:\d+", d.exports["E2B_API_URL"]), d.exports)
        check_equal(d.exports["E2B_SANDBOX_URL"], d.exports["E2B_API_URL"])
        check(re.fullmatch(r"e2b_[0-9a-f]{40}", d.key), "the key")
        check_equal(stat.S_IMODE(os.stat(d.data).st_mode), 0o700, "mode of the data directory")
        check(d.key not in d.log(), "the key is in the log")
        for name in os.listdir(d.data):
            path = os.path.join(d.data, name)
            if os.path.isfile(path):
                check(d.key.encode() not in open(path, "rb").read(), f"the key is in {name}")
                check_equal(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, name)
        check_equal(d.request("GET", "/health")[0] // 100, 2)
        d.wait_pool()


def test_second_start_shows_no_key():
    with Daemon(pool=0) as d:
        key = d.key
        check_equal(d.stop(), 0)
        later = d.again().start()
        check("E2B_API_KEY" not in later.exports and later.key == key, later.exports)
        d.child, d.err = later.child, later.err


def test_who_it_is():
    with Daemon() as d:
        d.wait_pool()
        server = os.stat(f"/proc/{d.child.pid}").st_uid
        if os.geteuid() == 0:
            check(server != 0, "the server is root")
            check_equal(os.stat(d.data).st_uid, server, "owner of the data directory")
            with open(f"/proc/{d.child.pid}/status") as file:
                status = file.read()
            check("CapEff:\t0000000000000000" in status and "NoNewPrivs:\t1" in status, status)
            check_equal(os.stat(f"/proc/{d.launcher()}").st_uid, 0, "the launcher")
            users = {os.stat(f"/proc/{p}").st_uid for p in d.kernels()}
            check_equal(len(users), 2, "every sandbox has a uid of its own")
            check(0 not in users and server not in users, users)
        else:
            check_equal(server, os.geteuid())


def test_unprivileged():
    if os.geteuid() != 0:
        raise Skip("the other tests are")
    with Daemon(user=daemon.plain_user()) as d:
        d.wait_pool()
        launcher = d.launcher()
        check_equal({os.stat(f"/proc/{p}").st_uid for p in [d.child.pid, launcher, *d.kernels()]},
                    {daemon.plain_user()})
        check_equal(d.stop(), 0)
        d.check_nothing_left(launcher)


def test_term_ends_everything():
    with Daemon(pool=4) as d:
        d.wait_pool()
        launcher = d.launcher()
        check_equal(d.stop(), 0)
        d.check_nothing_left(launcher)
        check_equal(len(d.events("server.stopped")), 1)


def test_interrupt_is_the_same():
    with Daemon() as d:
        d.wait_pool()
        launcher = d.launcher()
        check_equal(d.stop(signal.SIGINT), 0)
        d.check_nothing_left(launcher)


def test_two_servers_one_directory():
    with Daemon(pool=0) as d:
        other = d.again()
        check_refused(refused_start(other), "another server uses", "--data-dir")
        check_equal(d.request("GET", "/health")[0] // 100, 2)


def test_port_in_use():
    with Daemon(pool=0) as d:
        done = run("--data-dir", os.path.join(d.root, "other"), "--listen", f"127.0.0.1:{d.port}")
        check_refused(done, f"127.0.0.1:{d.port}", "in use")


def test_help_and_check():
    done = run("--help")
    check_equal(done.returncode, 0)
    for word in ("--data-dir", "--tls-certificate", "[default: 2G]", "[default: 127.0.0.1:7878]"):
        check(word in done.stdout, word)
    done = run("--check", "--memory", "512M", HOME="/nonexistent", XDG_DATA_HOME="/nonexistent/x")
    check_equal(done.returncode, 0, done.stderr)
    check("memory = 512M\n" in done.stdout and "listen = 127.0.0.1:7878\n" in done.stdout, done.stdout)


def test_what_check_prints_is_a_file():
    with process.CleanDirectory() as folder:
        path = os.path.join(folder, "hotcell.conf")
        first = run("--check", "--data-dir", folder, "--timeout-max", "90s", "--domain", "x.example").stdout
        with open(path, "w") as file:
            file.write(first)
        check_equal(run("--check", "--config", path).stdout, first)


def test_configuration_errors():
    with process.CleanDirectory() as folder:
        path = os.path.join(folder, "hotcell.conf")
        for text, *parts in [
                ("memory = 2X\n", ":1: memory: '2X' is not a size such as 512M"),
                ("# fine\n\nmemmory = 2G\n", ":3: unknown name 'memmory'", "--help"),
                ("memory\n", ":1: 'memory' is not 'name = value'"),
                ("listen = nowhere\n", "listen: 'nowhere' is not HOST:PORT"),
                ("listen = unix:relative\n", "absolute path"),
                ("listen_tls = 127.0.0.1:1\n", "listen_tls needs tls_certificate and tls_key"),
                ("tls_key = /nonexistent\n", "belong together"),
                ("tls_key = /nonexistent\ntls_certificate = /nonexistent\n", "No such file"),
                ("timeout_max = 1y\n", ":1: timeout-max: '1y' is not a duration"),
                ("log_level = loud\n", "log_level: 'loud' is not debug, info, warn or error"),
                ("store = tape\n", "neither disk nor memory"),
                ("data_dir = relative\n", "not an absolute path"),
                ("pool_size = 9999\n", ":1: pool-size: '9999' is out of range"),
                ("memory =\n", ":1: memory needs a value")]:
            with open(path, "w") as file:
                file.write(text)
            check_refused(run("--check", "--config", path), *parts)
    check_refused(run("--check", "--config", "/nonexistent/file"), "/nonexistent/file", "No such file")
    check_refused(run("--nothing"), "unknown option --nothing")
    check_refused(run("word"), "'word' is not an option")


def test_corrupt_database():
    with Daemon(pool=0) as d:
        d.stop()
        path = os.path.join(d.data, "hotcell.db")
        for suffix in ("-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(b"no database at all" * 1000)
        done = refused_start(d.again())
        check_equal(done.returncode, 1)
        check("no database" in done.stderr and "move it away" in done.stderr, done.stderr)


def test_damaged_page():
    with Daemon(pool=0) as d:
        d.stop()
        path = os.path.join(d.data, "hotcell.db")
        sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 8192)
        done = refused_start(d.again())
        check_equal(done.returncode, 1)
        check("damaged" in done.stderr and "restore a backup" in done.stderr, done.stderr)


def test_newer_database():
    with Daemon(pool=0) as d:
        d.stop()
        db = sqlite3.connect(os.path.join(d.data, "hotcell.db"))
        db.execute("PRAGMA user_version = 1000")
        db.close()
        done = refused_start(d.again())
        check("made by a newer Hotcell" in done.stderr, done.stderr)


def test_directory_of_somebody_else():
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Daemon(pool=0, user=daemon.plain_user()) as d:
        d.stop()
        os.chown(d.data, 12345, 12345)
        os.chmod(d.data, 0o755)
        done = refused_start(d.again())
        check("belongs to user 12345" in done.stderr and "--data-dir" in done.stderr, done.stderr)


def test_closed_parent():
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Daemon(pool=0) as d:
        d.stop()
        os.chmod(d.root, 0o700)
        done = refused_start(d.again())
        check("every directory above must let that user through" in done.stderr, done.stderr)


def test_full_disk():
    if os.geteuid() != 0:
        raise Skip("needs root for a small file system")
    folder = os.path.realpath(Daemon().root)
    disk = os.path.join(folder, "data")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "none", disk], check=True)
    try:
        with open(os.path.join(disk, "filler"), "wb") as file:
            try:
                file.write(b"x" * (1 << 20))
            except OSError:
                pass
        done = refused_start(Daemon(pool=0, root=folder))
        check_equal(done.returncode, 1)
        check("disk is full" in done.stderr or "No space left" in done.stderr, done.stderr)
    finally:
        daemon.unmount(disk)
        shutil.rmtree(folder)


def test_killed_server():
    with Daemon(pool=4) as d:
        d.wait_pool()
        launcher = d.launcher()
        d.child.kill()
        d.child.wait()
        d.check_nothing_left(launcher)
        later = d.again().start()
        later.wait_pool()
        d.child, d.err = later.child, later.err


def test_killed_launcher():
    with Daemon(pool=4) as d:
        d.wait_pool()
        launcher = d.launcher()
        os.kill(launcher, signal.SIGKILL)
        check_equal(d.child.wait(PATIENCE_S), 1)
        check("start the server again" in d.log(), d.log())
        later = d.again().start()
        later.wait_pool()
        # The next launcher sweeps what the killed one could not remove.
        scene.until(lambda: not scene.groups_of(launcher), "control groups are left")
        check_equal(len(os.listdir(os.path.join(d.data, "sandboxes"))), 4)
        d.child, d.err = later.child, later.err


def test_killed_kernel_processes():
    with Daemon(pool=3) as d:
        d.wait_pool()
        before = set(d.kernels())
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        scene.until(lambda: not before & set(d.kernels()), "they are still there")
        d.wait_pool()
        check_equal(len(d.kernels()), 3)


def test_no_descriptors_left():
    """Neither the launcher nor the server has enough for what the pool should hold."""
    with Daemon(pool=40, descriptors=64) as d:
        scene.until(lambda: d.events("pool.failed"), "the pool never failed")
        # One start may have got so far that only its end is seen; others say what is missing.
        scene.until(lambda: any("open files" in e["reason"] or "descriptors" in e["reason"]
                                for e in d.events("pool.failed")), "no failure says what is missing")
        check(d.kernels(), "there is no sandbox at all")
        check_equal(d.request("GET", "/health")[0] // 100, 2)
        launcher = d.launcher()
        check_equal(d.stop(), 0)
        d.check_nothing_left(launcher)


def test_reload():
    with process.CleanDirectory() as folder:
        path = os.path.join(folder, "hotcell.conf")
        os.chmod(folder, 0o755)
        with open(path, "w") as file:
            file.write("log_level = info\n")
        with Daemon("--config", path, pool=0) as d:
            for text, event in [("log_level = debug\nmemory = 1G\n", "config.loaded"),
                                ("memory = x\n", "config.failed"),
                                ("store = memory\n", "config.needs_restart")]:
                with open(path, "w") as file:
                    file.write(text)
                d.child.send_signal(signal.SIGHUP)
                scene.until(lambda: d.events(event), f"no {event}: {d.log()}")
            check_equal(d.request("GET", "/health")[0] // 100, 2)


def make_certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{folder}/key.pem", "-out",
                    f"{folder}/certificate.pem"], check=True, capture_output=True)
    os.chmod(f"{folder}/key.pem", 0o644)  # the server's user reads it again
    return f"{folder}/certificate.pem", f"{folder}/key.pem"


def served_certificate(port):
    return ssl.get_server_certificate(("127.0.0.1", port))


def test_tls_and_a_new_certificate():
    with process.CleanDirectory() as folder:
        os.chmod(folder, 0o755)
        certificate, key = make_certificate(folder, "first")
        with Daemon("--listen-tls", "127.0.0.1:0", "--tls-certificate", certificate, "--tls-key", key,
                    pool=0) as d:
            port = d.tls_port()
            check_equal(served_certificate(port), open(certificate).read())
            make_certificate(folder, "second")
            d.child.send_signal(signal.SIGHUP)
            scene.until(lambda: d.events("config.loaded"), d.log())
            check_equal(served_certificate(port), open(certificate).read())
            with open(certificate, "w") as file:
                file.write("nonsense")
            before = served_certificate(port)
            d.child.send_signal(signal.SIGHUP)
            scene.until(lambda: d.events("config.failed"), d.log())
            check_equal(served_certificate(port), before)


def test_log_lines_are_json():
    with Daemon() as d:
        d.wait_pool()
        d.stop()
        check_equal([line for line in d.log().splitlines() if not line.startswith("{")], [])
        check(d.events("server.started")[0]["ts"].endswith("Z"), d.log())


def test_unix_socket():
    with Daemon(pool=0) as probe:
        path = os.path.join(probe.root, "data", "socket")
        probe.stop()
        later = Daemon("--listen", f"unix:{path}", pool=0, root=probe.root).start()
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            check(s.recv(100).startswith(b"HTTP/1.1 2"), "no answer")
        probe.child, probe.err = later.child, later.err


if __name__ == "__main__":
    tap.run(__import__("__main__"))
