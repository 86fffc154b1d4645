"""Shown by `make run`: what a program sees and may do inside a sandbox."""
import os
import socket
import subprocess
import tempfile

print("I am", subprocess.check_output(["id", "-un"], text=True).strip(),
      "with pid", os.getpid(), "on", socket.gethostname(), "running", os.uname().sysname)

print("The project is here, copy-on-write:", ", ".join(sorted(os.listdir("."))[:6]), "...")
with open("README.md", "w") as readme:
    readme.write("rewritten")
print("I just rewrote README.md to", repr(open("README.md").read()), "- in here only.")

with tempfile.TemporaryFile() as scratch:
    scratch.write(os.urandom(1 << 20))
    print("I can write files:", scratch.tell(), "bytes in /tmp")

print("Programs and pipes work:",
      subprocess.check_output("seq 1000 | sort -rn | head -3 | xargs echo", shell=True,
                              text=True).strip())

for what, attempt in {
    "the host's users": lambda: [line for line in open("/etc/shadow")],
    "the network": lambda: socket.create_connection(("192.0.2.1", 80), timeout=2),
    "mounting": lambda: subprocess.run(["mount", "-t", "tmpfs", "x", "/mnt"], check=True,
                                       stderr=subprocess.PIPE),
}.items():
    try:
        attempt()
        print(f"Out of reach, but reached: {what}!")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"Out of reach: {what} ({type(error).__name__})")
