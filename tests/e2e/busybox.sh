# needs: busybox
## applets
b() { /usr/bin/busybox "$@"; }
b echo hello; b seq 3; b expr 6 '*' 7; b printf '%s-%d\n' a 5
b mkdir -p d/e; b touch d/e/f; b find d | b sort; b ls -l d | b awk '{print $1, $NF}'
printf 'b\na\nc\n' | b sort -r | b head -n 2 | b tail -n 1
b cp -r d g; b rm -r d; b ls; b test -d g/e && b echo yes
b sh -c 'for i in 1 2 3; do echo $i; done | while read x; do echo "<$x>"; done'
echo data | b gzip | b gunzip; echo abc | b md5sum; b basename /a/b/c .c; b dirname /a/b/c
## shell with a here-document
busybox sh <<'X'
cat <<Y
$((2 + 3)) $(echo sub)
Y
trap 'echo bye' EXIT
f() { local a=1; echo "f $a $#"; }
f x y
case abc in a*) echo matched;; esac
sleep 0.05 & wait $!; echo "status $?"
X
## archives and editors
mkdir t; echo one > t/1; echo two > t/2; busybox tar cf t.tar t; busybox tar tf t.tar | sort; rm -r t
busybox tar xf t.tar; cat t/1 t/2; busybox sed -i s/one/ONE/ t/1; cat t/1; busybox awk '{print $1 $1}' t/2
busybox diff t/1 t/2; busybox cut -c1 t/1; busybox wc -c < t.tar; busybox od -c t/1; busybox stat -c '%s %a' t/1
## failures
busybox cat /nowhere 2>&1; busybox sh -c 'exit 7'; echo $?; busybox false; echo $?; busybox rmdir nothing 2>&1
