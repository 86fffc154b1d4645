## sudo to a user and back
# needs: sudo
# user: root
sudo -n true; echo $?; sudo -n -u nobody id -un; sudo -n -u nobody sh -c 'id -u; cat /etc/shadow 2>/dev/null; echo $?; touch /usr/x 2>/dev/null; echo $?'; sudo -n -u '#65534' -g '#65534' id -g; sudo -n -V | head -1 | cut -d' ' -f1,2; sudo -n sh -c 'echo $SUDO_USER; id -u'; echo in | sudo -n cat; sudo -n -u nobody sudo -n true 2>/dev/null; echo $?; setpriv --reuid=65534 --regid=65534 --clear-groups sudo -n id 2>/dev/null; echo $?; sudo -n kill -0 $$; echo $?; sudo -n sh -c 'kill -TERM $$'; echo $?
## apt and dpkg
# options: --ro /var/lib/dpkg:/var/lib/dpkg
# needs: apt-get dpkg
apt-get --version | head -1; dpkg --version | head -1; dpkg -l | wc -l; dpkg -l bash | tail -1 | awk '{print $2, $3}'; dpkg -s coreutils | head -2; dpkg -L bash | head -3; dpkg -S /usr/bin/sudo 2>/dev/null | head -1; dpkg --print-architecture; dpkg-query -W -f '${Package}\n' bash; apt-config dump > /dev/null; echo $?; dpkg --compare-versions 1.2 lt 1.10; echo $?
## ps
ps | head -1 | tr -s ' '; ps aux | head -1 | tr -s ' '; sleep 77 & sleep 0.2; ps -o comm=,args=,stat= -p $! ; ps -o ppid= -p $! | tr -d ' ' | sed "s/^$$\$/parent/"; ps -eo comm=,args= | grep -c '^sleep .*sleep 77'; ps -o pid= --ppid $$ | grep -c $!; pgrep -x sleep -P $$ | wc -l; kill %1; wait %1; echo $?; ps -eo pid,comm | grep -c ' ps$'; ps -p 999999 > /dev/null; echo $?; ps -o nlwp=,pri=,ni= -p $$; ps -T -p $$ | wc -l; ps -o user= -p $$ >/dev/null; echo $?; pidof nosuch; echo $?; ps -o etimes= -p $$ | awk '{print $1 < 100}'; ps axf >/dev/null; echo $?; pstree $$ 2>/dev/null | head -c 4; uptime | grep -c load; w -h 2>/dev/null | wc -l; vmstat 2>/dev/null | wc -l; pwdx $$ 2>/dev/null | sed 's/.*: //'; ls -l /proc/$$/exe | sed 's/.*-> //'; cat /proc/$$/comm; tr '\0' ' ' < /proc/self/cmdline; echo; grep -c . /proc/self/status > /dev/null; grep -E '^(Name|Threads)' /proc/self/status
## top free df
top -b -n1 | head -7 | sed -n '1p;7p' | sed 's/top - .*/top/' | tr -s ' '; top -b -n1 -p $$ | tail -1 | awk '{print $NF}'; free | awk '{print $1}' | head -3; free -m | awk 'NR == 2 {print ($2 > 0 && $3 >= 0 && $7 <= $2)}'; df . > /dev/null; echo $?; df -h / | awk 'NR == 2 {print $NF}'; df -P . | awk 'NR == 2 {print ($2 >= $3)}'; df -i / > /dev/null; echo $?; df /nothing 2>&1; lscpu > /dev/null; echo $?; [ "$(grep -c ^processor /proc/cpuinfo)" = "$(nproc)" ] && echo cpus agree; cat /proc/sys/kernel/ostype /proc/sys/kernel/pid_max | head -1; awk '{print NF}' /proc/loadavg /proc/uptime; grep -c MemTotal /proc/meminfo; mount > /dev/null; echo $?; findmnt -n -o TARGET / ; grep -c ' / ' /proc/self/mountinfo | sed 's/^[1-9][0-9]*$/some/'; getconf _NPROCESSORS_ONLN > /dev/null; echo $?; hostname | wc -l; cat /proc/version | cut -d' ' -f1,2; lsns 2>/dev/null >&2; dmesg 2>/dev/null | head -0; echo end
## getifaddrs
# needs: gcc
gcc -o i -xc - <<'X'
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <sys/socket.h>
int main(void) { struct ifaddrs *a; if (getifaddrs(&a)) { perror("getifaddrs"); return 1; } for (; a; a = a->ifa_next) { char b[99] = ""; if (strcmp(a->ifa_name, "lo")) continue; int f = a->ifa_addr ? a->ifa_addr->sa_family : -1; if (f == AF_INET) inet_ntop(f, &((struct sockaddr_in *)a->ifa_addr)->sin_addr, b, 99); if (f == AF_INET6) inet_ntop(f, &((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr, b, 99); printf("%s %d %s %x\n", a->ifa_name, f, b, a->ifa_flags & (IFF_UP | IFF_LOOPBACK | IFF_RUNNING)); } printf("%u\n", if_nametoindex("lo")); return 0; }
X
./i | sort; python3 -c 'import socket; print(socket.if_nameindex()[0])'; command -v ip > /dev/null && ip -o addr show lo | awk '{print $2, $3, $4}'; ip route get 127.0.0.1 2>/dev/null | head -1 | awk '{print $1, $2, $3, $4}'
## users
# user: root
id; id -un; whoami; getent passwd root | cut -d: -f1,3,4,6; getent group root | cut -d: -f1,3; getent passwd nobody | cut -d: -f1,3; su -s /bin/sh nobody -c 'id -un' ; setpriv --reuid=1234 --regid=55 --groups=1,2 id | sed 's/(.*//'; groups; ls -ld /tmp /root | awk '{print $1, $3}'; python3 -c 'import os, pwd; os.setgroups([7]); os.setresgid(5, 5, 5); os.setresuid(9, 9, 9); print(os.getresuid(), os.getresgid(), os.getgroups())'
## time and locale
date -u +%Y | awk '{print $1 > 2000}'; TZ=Europe/Berlin date -d @0; cal 1 2000 2>/dev/null | head -1; locale | head -1; LC_ALL=C.UTF-8 printf '%s\n' $'\u00e9' | wc -c; sleep 0.2; bc <<< '2^64' 2>/dev/null; iconv -f utf8 -t latin1 <<< é | wc -c; which ls; man -w ls 2>/dev/null | wc -l | sed 's/.*/man/'; less -V | head -1 | cut -c1-4; openssl version 2>/dev/null | cut -d' ' -f1; openssl rand -hex 4 2>/dev/null | wc -c; xxd <<< hi 2>/dev/null; strace -V 2>/dev/null | head -1 | cut -c1-6; rsync --version 2>/dev/null | head -1 | cut -c1-5; mktemp -d | cut -c1-5; getopt -o a: -- -a 1; flock /tmp/l echo locked; timeout 1 cat /dev/zero | head -c 100 | wc -c; watch -v | cut -c1-5; column -t <<< 'a b'; ls /tmp/l; rm /tmp/l
