## pipes
seq 1 1000 | grep 7 | sort -rn | head -3 | tr '\n' ' '; echo
(echo a; echo b >&2; echo c) 2>&1 | cat -n; false | true; echo "${PIPESTATUS[@]}"
set -o pipefail; false | true; echo $?; yes | head -1; echo "${PIPESTATUS[@]}"
## big pipe
head -c 3000000 /dev/zero | tr '\0' x | (sleep 0.1; wc -c)
head -c 1000000 /dev/urandom > r; cat r | tee copy | cmp - r && cmp r copy && echo same
## here-documents
v=world; cat <<A; cat <<'B'; cat <<-C
hello $v $((1+2)) $(echo sub)
A
raw $v $(no)
B
	tabs stripped
	C
cat <<< "here string $v"; while read -r a b; do echo "$b/$a"; done <<< "x y"
## big here-document
s=$(printf '%0100000d' 7); cat <<X | wc -c
$s
X
## redirections
echo one > f; echo two >> f; cat < f; exec 3> g; echo three >&3; exec 3>&-; cat g
exec 4< f; read -u 4 l; echo "$l"; read -u 4 l; echo "$l"; exec 4<&-; ls nothing 2> e; wc -l < e
{ echo out; echo err >&2; } > o 2> e; cat o e; echo x 2>/dev/null >&2; cat f - <<< stdin; set -C; echo x > f; echo $?
exec 5<> f; echo ZZ >&5; exec 5>&-; cat f; cat /dev/null; echo y >/dev/full; echo $?
## process substitution
diff <(seq 1 3) <(seq 2 4); tee >(wc -c > count) < /etc/passwd > /dev/null; until [ -s count ]; do sleep 0.02; done; [ "$(cat count)" = "$(wc -c < /etc/passwd)" ] && echo counted
cat <(echo a) <(echo b) <(echo c); paste -d, <(seq 3) <(seq 4 6); while read x; do s=$((s+x)); done < <(seq 10); echo $s
## globs
mkdir -p a/b/c; touch a/1.txt a/2.txt a/b/3.txt a/b/c/.hidden 'sp ace' x{1..3}.{a,b}
echo *; echo a/*.txt; echo x[12].?; shopt -s globstar nullglob dotglob extglob; echo **/*; echo nothing*; echo !(x*); echo +([a-z])
for f in *; do printf '<%s>' "$f"; done; echo
## job control
set -m
sleep 5000 & j=$!; jobs | sed 's/  */ /g'; kill -STOP $j; sleep 0.2; jobs | sed 's/  */ /g'; kill -CONT $j; sleep 0.2; kill %1; wait $j; echo $?
(exit 3) & wait $!; echo $?; sleep 0.1 & wait; echo done; { until [ -e go ]; do sleep 0.02; done; echo later; } & echo first; : > go; wait
[ "$(ps -o pgid= -p $$ | tr -d ' ')" = "$(ps -o pgid= -p $BASHPID | tr -d ' ')" ] && echo group
## wait -n
for i in 3 1 2; do (until [ -e turn$i ]; do sleep 0.02; done; exit $i) & done; for i in 1 2 3; do : > turn$i; wait -n; echo $?; done
## traps
trap 'echo got USR1' USR1; kill -USR1 $$; trap 'echo int' INT; kill -INT $$; trap 'echo exit $?' EXIT
(trap 'echo sub term; exit 5' TERM; kill -TERM $BASHPID; sleep 1); echo $?
trap 'echo chld' CHLD; /bin/true; trap - CHLD; trap '' HUP; kill -HUP $$; echo survived
bash -c 'kill -TERM $$'; echo $?; bash -c 'kill -9 $$'; echo $?; bash -c 'ulimit -c 0; kill -SEGV $$'; echo $?; trap -p | sort
trap 'echo debug $BASH_COMMAND' DEBUG; x=1; trap - DEBUG; trap 'echo err' ERR; false; exit 4
# status: 4
## coprocess
coproc C { while read x; do echo "<$x>"; done; }; echo one >&${C[1]}; read y <&${C[0]}; echo $y; eval "exec ${C[1]}>&-"; wait $C_PID; echo $?
## read with a timeout
read -t 0.1 x < <(sleep 200); echo $(( $? > 128 )); read -n 3 y <<< abcdef; echo $y; read -d : z <<< 'p:q'; echo $z; mapfile -t m < <(seq 3); echo ${#m[@]} ${m[2]}
## fifo
mkfifo p; (cat p; echo end) & echo through > p; wait; (echo a; sleep 0.1; echo b) > p & while read l; do echo "got $l"; done < p; wait; test -p p && echo fifo
## exec and descriptors
exec 9> log; flock 9; echo locked; (flock -n 9 && echo same description); flock -n log true; echo $?; exec 9>&-; flock -n log echo free
bash -c 'echo $0 $@' zero one two; (exec -a renamed bash -c 'echo $0'); exec 6<&0; echo /dev/fd/6 | wc -w; ls -l /proc/self/fd | awk 'NR > 1 {print $9}' | head -3 | tr '\n' ' '
## exit statuses
nosuchprogram 2>/dev/null; echo $?; touch nx; ./nx 2>/dev/null; echo $?; /tmp 2>/dev/null; echo $?; (exit 255); echo $?; sh -c 'exit 256'; echo $?
printf '#!/nonexistent/shell\n' > bad; chmod +x bad; ./bad 2>/dev/null; echo $?; printf 'echo no shebang $1\n' > ns; chmod +x ns; ./ns arg; echo $?
printf '#!/bin/cat\nprinted\n' > sc; chmod +x sc; ./sc; printf '#!/usr/bin/env -S bash -e\necho in $0 with $#\n' > se; chmod +x se; ./se a b
## umask cd and pwd
umask 027; touch f; mkdir d; stat -c '%a' f d; cd d; pwd; cd ..; ln -s d l; cd l; pwd; pwd -P; cd -; pushd d; popd; cd /usr/bin/..; pwd; cd nothing; echo $?
## ulimit
ulimit -n 64; ulimit -n; bash -c 'for i in {10..80}; do eval "exec $i>f" 2>/dev/null || { echo stopped at $i; break; }; done'
(ulimit -f 1; head -c 5000 /dev/zero > big; echo $?); stat -c %s big; ulimit -t 1; bash -c 'while :; do :; done'; echo $?
## times and random
SECONDS=0; sleep 1.1; [ $SECONDS -ge 1 ] && echo slept; [ $RANDOM != $RANDOM ] || [ $RANDOM != $RANDOM ] && echo random; printf '%(%Y)T\n' 0; TIMEFORMAT=%R; { time sleep 0.1; } 2>&1 | awk '{print ($1 >= 0.1)}'
## arrays and arithmetic
declare -A m=([a]=1 [b]=2); for k in $(printf '%s\n' "${!m[@]}" | sort); do echo $k=${m[$k]}; done; a=(1 2 3); echo ${a[@]:1} ${#a[@]} $((2**10)) $((0x1f)) ${v:-default} "${a[*]/2/two}"; printf '%q\n' 'a b'; IFS=:; set -- a b; echo "$*"
## recursion and many processes
for i in $(seq 150); do (exit $((i % 3))) ; n=$((n + $?)); done; echo $n; f() { [ $1 -eq 0 ] && echo bottom || f $(($1 - 1)); }; f 100; g() { [ $1 -eq 0 ] && echo $BASH_SUBSHELL || (g $(($1 - 1))); }; g 12
for i in {1..40}; do sleep 0.1 & done; wait; echo $?; jobs -r | wc -l
## large environment and arguments
export BIG=$(printf '%0120000d' 1); env | wc -c | awk '{print ($1 > 120000)}'; /bin/echo $(seq 1 20000) | wc -c; x=$(printf '%0200000d' 1); /bin/echo $x 2>/dev/null; echo $?
## dev files
echo a > /dev/stdout; echo b >&2 2> /dev/stdout; cat /dev/fd/0 <<< c; head -c 4 /dev/zero | od -An -tx1; head -c 10 /dev/urandom | wc -c; echo d > /dev/null; test -c /dev/null && echo char; [ -t 0 ] || echo no tty; test -r /dev/tty; (: < /dev/tty) 2>/dev/null; echo $?
## sockets by name
(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; echo $?
