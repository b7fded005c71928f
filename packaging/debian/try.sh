#!/bin/sh
# Runs in a clean root, as root: installs the packages of /packages, uses them, removes them. `cargo xtask dist roots`
# starts it. Nothing that they brought may be left.
set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/tmp/home XDG_CACHE_HOME=/tmp/home/cache LC_ALL=C
mkdir -p "$HOME"
say() { echo "-- $*"; }
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /packages \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o -print | sort
}
say "$(. /etc/os-release && echo "$PRETTY_NAME"), $(ldd --version 2>&1 | head -n 1)"
files >/tmp/before
apt-get install --yes /packages/*.deb >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }

say "the files have their sums"
dpkg --verify turnwise libturnwise-dev libturnwise-preload0 "$(dpkg-query -W -f '${Package}' 'libturnwise[0-9]*')"

say "the tool: version, manual, a program on our locks, a profile, a comparison"
test -s /usr/share/man/man1/turnwise-compare.1.gz || test ! -d /usr/share/doc/dpkg # some roots take no manuals
sh /packages/use.sh /usr/bin/turnwise

say "the preload library by its name, for a user who may write nowhere"
[ "$(turnwise library)" = "$(echo /usr/lib/*/libturnwise_preload.so.0)" ]
LD_PRELOAD=libturnwise_preload.so.0 cat /proc/self/maps | grep -q "$(turnwise library)"
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH=/usr/bin:/bin TMPDIR=/proc'
$nobody turnwise run -- cat /proc/self/maps | grep -q "$(turnwise library)"

say "the library: a C program with the shared one, and with the static one"
cd /tmp
cc -std=c11 -pthread -o shared /packages/queue.c $(pkg-config --cflags --libs turnwise)
ldd ./shared | grep libturnwise.so
timeout 100 ./shared
flags=$(pkg-config --static --cflags --libs turnwise | sed 's/-lturnwise/-l:libturnwise.a/')
cc -std=c11 -pthread -o static /packages/queue.c $flags
! ldd ./static | grep libturnwise.so
timeout 100 ./static

say "removed"
apt-get purge --yes turnwise 'libturnwise.*' >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; exit 1; }
files >/tmp/after
diff /tmp/before /tmp/after
say "nothing is left"
