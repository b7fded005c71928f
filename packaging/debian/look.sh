#!/bin/sh
# Unpacks Debian's packages next to the system, and uses what is in them: look.sh FOLDER [COMPILER WORDS…], where the
# words run programs of another processor.
set -eu
packages=$1 cc=${2:-cc}
shift "$(($# < 2 ? 1 : 2))"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
export VERSION
for package in "$packages"/*.deb; do
    dpkg-deb --extract "$package" "$root"
    dpkg-deb --info "$package" md5sums | (cd "$root" && md5sum --check --quiet --strict)
    [ "$(dpkg-deb --field "$package" Version)" = "$VERSION-1" ] || { echo "another version: $package"; exit 1; }
done
for file in share/man/man1/turnwise.1.gz share/man/man1/turnwise-compare.1.gz include/turnwise.hpp \
    include/turnwise_tsan.h; do
    [ -e "$root/usr/$file" ] || { echo "no package has usr/$file"; exit 1; }
done
if [ $# != 0 ]; then # there is no `cat` of that processor
    CAT=$root/cat
    export CAT
    echo '#include <stdio.h>
int main(int n, char **name) { FILE *f = fopen(name[n - 1], "r"); for (int c; (c = getc(f)) != EOF;) putchar(c); }' |
        "$cc" -x c -o "$CAT" -
fi
sh packaging/use.sh "$@" "$root/usr/bin/turnwise"
libraries=$root/usr/lib/$("$cc" -print-multiarch)
[ "$("$@" "$root/usr/bin/turnwise" library)" = "$libraries/libturnwise_preload.so.0" ] ||
    { echo "the tool does not take the library of its package"; exit 1; }
flags=$(PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs turnwise)
"$cc" -std=c11 -pthread crates/capi/examples/queue.c $flags -o "$root/program"
LD_LIBRARY_PATH=$libraries "$@" "$root/program"
