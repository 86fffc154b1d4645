"""SIGKILL for each kind of process of a sandbox, at chosen and at random moments. Nothing of the
sandbox is left, and whoever is left says what happened. FAULTS_SEED and FAULTS_ROUNDS repeat or extend
the random part.
"""
import os
import random
import sys
import time

from harness import scene, tap
from harness.scene import Scene
from harness.tap import check, check_equal

HOTCELL = os.environ["HOTCELL"]
SEED = int(os.environ.get("FAULTS_SEED", time.time_ns() % 1000000))
ROUNDS = int(os.environ.get("FAULTS_ROUNDS", "25"))


def check_message(place, *parts):
    status, message = place.status(), place.message()
    check_equal(status, 125, message)
    check(message.startswith("hotcell: ") and message.count("\n") == 1, message)
    for part in parts:
        check(part in message, message)


def test_the_command():
    with Scene(HOTCELL) as place:
        place.wait_ready()
        place.child.kill()
        check_equal(place.status(), -9)
        place.check_clean()


def test_the_kernel_process():
    with Scene(HOTCELL) as place:
        place.wait_ready()
        scene.kill(place.kernel())
        check_message(place, "the kernel process ended unexpectedly", "signal 9 (KILL)")
        place.check_clean()


def test_the_first_guest_from_the_host():
    with Scene(HOTCELL) as place:
        place.wait_ready()
        scene.kill(place.first_guest())
        check_message(place, "first process was killed")
        place.check_clean()


def test_the_first_guest_from_inside():
    """pid 1 cannot be killed from its own namespace, whoever asks."""
    script = "kill -9 1; kill -TERM 1; kill -SEGV 1; echo $?; kill -9 -1; exit 5"
    for options in ([], ["--user", "root"]):
        with Scene(HOTCELL, script, options) as place:
            check(place.status() in (5, 137), place.message())
            place.check_clean()


def test_the_main_program():
    with Scene(HOTCELL) as place:
        place.wait_ready()
        scene.kill(scene.children(place.first_guest())[0])
        check_equal(place.status(), 137, place.message())
        place.check_clean()


def test_any_other_guest():
    """The sandbox goes on, whichever of its processes the host kills."""
    script = "(while :; do sleep 5; done) & for i in 1 2 3; do sleep 1000 & done; echo ready; wait; echo waited; exit 3"
    with Scene(HOTCELL, script) as place:
        place.wait_ready()
        main = scene.children(place.first_guest())[0]
        scene.until(lambda: len(scene.children(main)) == 4, "four children")
        for guest in scene.children(main):
            scene.kill(guest)
        check_equal(place.child.stdout.readline(), b"waited\n")
        check_equal(place.status(), 3, place.message())
        place.check_clean()


def test_helpers_of_the_start():
    """What runs while a sandbox starts and is neither of its two programs: the holder of id maps, the
    child before it is the kernel process. Killed itself, or orphaned by a kill of the command."""
    hit = {True: 0, False: 0}
    end = time.monotonic() + 120
    while min(hit.values()) < 5 and time.monotonic() < end:
        orphan = hit[True] < hit[False]
        with Scene(HOTCELL, "exit 7", ["--ro", "/usr/share:/share"]) as place:
            while place.child.poll() is None:
                helpers = [p for p in scene.children(place.child.pid) if scene.comm(p) == "hotcell"]
                if helpers and scene.kill(place.child.pid if orphan else helpers[-1]):
                    hit[orphan] += 1
                    break
            status = place.status()
            check(status in (7, 125) or orphan and status == -9, f"{status} {place.message()}")
            check(status != 125 or place.message().startswith("hotcell: "), place.message())
            place.check_clean()
    check(max(hit.values()) > 0, "no helper was seen")


def victim(place, choice):
    if choice == "command":
        return place.child.pid
    if choice == "kernel":
        return place.kernel()
    if choice == "first":
        return place.first_guest()
    guests = place.guests()
    return guests[choice % len(guests)] if guests else None


def check_end(place, choice):
    """A run that was hit ends with the reason; one that was not goes on until it is ended."""
    if isinstance(choice, int):
        place.child.terminate()  # the program may have survived, and has no handler; -15: not begun
        check(place.status() in (137, 143, 0, 1, -15), f"{place.child.returncode} {place.message()}")
    elif choice == "command":
        check_equal(place.status(), -9)
    else:
        check_message(place)


def random_round(rng):
    choice = rng.choice(["command", "command", "kernel", "first", rng.randrange(100)])
    pause = rng.choice([0.02, 0.3]) * rng.random()
    with Scene(HOTCELL) as place:
        started = time.monotonic()
        target = None
        while not target or time.monotonic() < started + pause:
            target = victim(place, choice)
            check(place.child.poll() is None, f"ended by itself: {place.message()}")
        if not scene.kill(target) and not isinstance(choice, int):
            raise AssertionError("the process was gone before it was killed")
        check_end(place, choice)
        place.check_clean()


def test_at_random_moments():
    print(f"# FAULTS_SEED={SEED}")
    for number in range(ROUNDS):
        try:
            random_round(random.Random(SEED + number))
        except Exception:
            print(f"# failed with FAULTS_SEED={SEED + number} FAULTS_ROUNDS=1")
            raise


def test_at_the_end():
    """The command is killed about when the program ends by itself."""
    rng = random.Random(SEED)
    for unused in range(10):
        with Scene(HOTCELL, "echo ready; exit 7") as place:
            place.wait_ready()
            end = time.monotonic() + 0.01 * rng.random()
            while time.monotonic() < end:
                pass
            scene.kill(place.child.pid)
            check(place.status() in (7, -9), place.message())
            place.check_clean()


tap.run(sys.modules[__name__])
