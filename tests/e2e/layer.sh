# The private layer over the host's files: changes are seen inside and stay there.
# only: inside
# options: --user root
set -eu
fail() { echo "failed: $*"; exit 1; }
## copy up
[ "$(stat -c %U /usr/bin/env)" = root ] || fail owner
before=$(md5sum < /usr/bin/env)
cp /usr/bin/env /tmp/env
exec 3< /usr/bin/env
printf 'tail' >> /usr/bin/env
[ "$(head -c "$(stat -c %s /tmp/env)" /usr/bin/env | md5sum)" = "$before" ] || fail content
[ "$(tail -c 4 /usr/bin/env)" = tail ] || fail appended
[ "$(tail -c 4 <&3)" = tail ] || fail "descriptor opened before"
/usr/bin/env true || fail runs
truncate -s 3 /usr/lib/os-release
[ "$(stat -c %s /usr/lib/os-release)" = 3 ] || fail truncated
: > /usr/lib/os-release
[ ! -s /usr/lib/os-release ] || fail emptied
## attributes without copying
chmod 4711 /usr/bin/env; chown 1000:33 /usr/bin/env; touch -d @1000000000 /usr/bin/env
[ "$(stat -c '%a %u %g %Y' /usr/bin/env)" = "711 1000 33 1000000000" ] || [ "$(stat -c '%a %u %g %Y' /usr/bin/env)" = "4711 1000 33 1000000000" ] || fail "$(stat -c '%a %u %g %Y' /usr/bin/env)"
chmod 700 /usr/share
[ "$(stat -c %a /usr/share)" = 700 ] || fail directory
find /usr/bin -type f > /dev/null
[ "$(stat -c '%u' /usr/bin/env)" = 1000 ] || fail kept
## whiteouts
n=$(ls /usr/bin | wc -l)
rm /usr/bin/env
[ ! -e /usr/bin/env ] || fail exists
[ "$(ls /usr/bin | wc -l)" = $((n - 1)) ] || fail listed
ls /usr/bin | grep -qx env && fail named
echo new > /usr/bin/env
[ "$(cat /usr/bin/env)" = new ] || fail again
[ "$(ls /usr/bin | grep -cx env)" = 1 ] || fail twice
rm /usr/bin/env; mkdir /usr/bin/env; touch /usr/bin/env/x; rm -r /usr/bin/env
[ ! -e /usr/bin/env ] || fail "comes back"
## removed directory is opaque
rm -rf /usr/share/zoneinfo
mkdir /usr/share/zoneinfo
[ -z "$(ls -A /usr/share/zoneinfo)" ] || fail "old content shows"
[ ! -e /usr/share/zoneinfo/UTC ] || fail "old name found"
rmdir /usr/share/zoneinfo
## rename lower files and directories
mv /usr/bin/env /usr/bin/environment
/usr/bin/environment true || fail run
[ ! -e /usr/bin/env ] || fail old
mv /usr/share/zoneinfo /usr/lib/zones
[ -s /usr/lib/zones/Etc/UTC ] || fail below
ls /usr/lib/zones/Europe | grep -q Berlin || fail list
echo x > /usr/lib/zones/Europe/Atlantis
rm /usr/lib/zones/Europe/Berlin
mv /usr/lib/zones/Europe /usr/lib/continent
[ "$(cat /usr/lib/continent/Atlantis)" = x ] || fail moved
[ ! -e /usr/lib/continent/Berlin ] || fail removed
[ -s /usr/lib/continent/Paris ] || fail "two renames"
[ ! -e /usr/share/zoneinfo ] || fail source
mv /usr/lib/zones /usr/share/zoneinfo
[ -s /usr/share/zoneinfo/Etc/UTC ] || fail back
[ ! -e /usr/share/zoneinfo/Europe ] || fail "whiteout lost"
## replace a lower file
cp /usr/bin/true /tmp/t; cp /tmp/t /usr/bin/t2; mv /usr/bin/t2 /usr/bin/false
/usr/bin/false || fail replaced
[ "$(ls /usr/bin | grep -cx false)" = 1 ] || fail twice
## hard link and symlink to lower files
ln /usr/bin/env /usr/bin/env2
[ "$(stat -c %i /usr/bin/env)" = "$(stat -c %i /usr/bin/env2)" ] || fail inode
echo changed > /usr/bin/env
[ "$(cat /usr/bin/env2)" = changed ] || fail "same file"
rm /usr/bin/env
[ "$(cat /usr/bin/env2)" = changed ] || fail "other name"
## allowed pieces of etc
[ -r /etc/ld.so.cache ] || fail cache
[ -d /etc/alternatives ] || fail alternatives
ls /etc | grep -qx alternatives || fail listed
for secret in /etc/ssh /etc/ssl/private /etc/gshadow- /etc/machine-id /etc/sudo.conf; do
	[ ! -e $secret ] || fail $secret
done
mkdir /etc/ssl/private; echo k > /etc/ssl/private/key
rm /etc/ld.so.cache; [ ! -e /etc/ld.so.cache ] || fail removed
ldconfig; [ -s /etc/ld.so.cache ] || fail made
## package list
# needs: dpkg
[ "$(dpkg -l | wc -l)" -gt 20 ] || fail list
dpkg -S /usr/bin/env | grep -q coreutils || fail search
## disk limit
# options: --disk 4M
said=$(dd if=/dev/zero of=/tmp/a bs=64k 2>&1) && fail "no limit"
echo "$said" | grep -q 'No space left' || fail message
[ "$(stat -c %s /tmp/a)" -gt 4000000 ] || fail "too early: $(stat -c %s /tmp/a)"
echo more >> /usr/bin/python3.11 2> /dev/null && fail "copied up past the limit"
rm /tmp/a
dd if=/dev/zero of=/dev/shm/b bs=64k count=32 2> /dev/null || fail "not given back"
fallocate -l 3M /tmp/c 2> /dev/null && fail fallocate
rm /dev/shm/b
fallocate -l 3M /tmp/c || fail "fallocate after removal"
## sudo of the user
# options: --user user
# needs: sudo
[ "$(sudo id -u)" = 0 ] || fail sudo
sudo sh -c 'echo x > /usr/bin/made-by-root'
[ "$(stat -c %U:%a /usr/bin/made-by-root)" = root:644 ] || fail owner
echo y > /usr/bin/made-by-root 2> /dev/null && fail permission
[ "$(sudo cat /etc/shadow | grep -c .)" -gt 5 ] || fail shadow
cat /etc/shadow 2> /dev/null && fail "shadow is readable"
su -c true < /dev/null > /dev/null 2>&1 && fail "su without a password"
exit 0
