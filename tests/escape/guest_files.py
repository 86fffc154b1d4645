"""The drivers of the code interpreter, which every sandbox of a host shares: nobody inside changes them. Prints TAP."""
import os
import sys

from harness.installed import Installed
from harness.tap import check, check_equal, run

if not os.access(os.environ["HOTCELL"], os.X_OK):
    sys.exit(77)

ATTACK = """
cd /opt/hotcell
n=0
fails() { if "$@" 2>>/tmp/why; then echo "worked: $*"; fi; n=$((n + 1)); }
fails touch new; fails mkdir d; fails rmdir python; fails rm -rf python; fails rm python/one.py
fails mv python q; fails mv python/one.py /tmp; fails mv /etc/hostname python/; fails mv /opt/hotcell /x; fails rm -rf /opt/hotcell
fails ln python/one.py hard; fails ln /etc/hostname hard; fails ln -s a soft; fails mknod fifo p; fails mknod n c 1 3
fails chmod 777 .; fails chmod 666 python/one.py; fails chown 1000 python/one.py; fails touch -d @1 python/one.py
fails truncate -s 0 python/one.py; fails bash -c 'echo evil >> python/one.py'; fails bash -c 'echo evil > python/one.py'
fails mount -t tmpfs none /opt/hotcell; fails mount --bind /tmp /opt/hotcell/python; fails mount -o remount,rw /opt/hotcell
fails umount /opt/hotcell
fails python3 -c "import os; os.setxattr('python/one.py', 'user.evil', b'1')"
fails python3 -c "import os; os.open('python/one.py', os.O_RDWR)"
fails python3 -c "import os; os.open('.', os.O_TMPFILE | os.O_RDWR)"
fails python3 -c "import os, mmap; mmap.mmap(os.open('python/one.py', os.O_RDONLY), 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)"
fails python3 -c "import os; f = os.open('python/one.py', os.O_RDONLY); os.ftruncate(f, 0)"
fails python3 -c "import os; f = os.open('python/one.py', os.O_RDONLY); os.write(os.open(f'/proc/self/fd/{f}', os.O_WRONLY), b'evil')"
fails python3 -c "import os; f = os.open('python/one.py', os.O_RDONLY); os.fchmod(f, 0o777)"
fails python3 -c "import os; f = os.open('python/one.py', os.O_PATH); os.chmod(f'/proc/self/fd/{f}', 0o777)"
echo $n; cat python/one.py; grep -c Read-only /tmp/why
"""


def test_nobody_inside_changes_it():
    with Installed() as installed:
        for user in ("root", "user"):
            status, out, _ = installed.run(ATTACK, "-u", user)
            check_equal((status, out.splitlines()[:2]), (0, ["34", "name = 'one'"]), f"{user}: {out}")
            check_equal(installed.contents(), installed.before, user)
        check(int(out.splitlines()[2]) >= 20, out)


run(sys.modules[__name__])
