#!/bin/sh
# Checks that the tool, the files that it carries and the C library need no glibc later than 2.28:
# carried.sh BUILT [WORDS that run the tool]
set -eu
built=$1
shift
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
for command in profile run; do
    XDG_CACHE_HOME=$cache "$@" "$built/turnwise" $command -- @sample -t 1 -s 0.05 >/dev/null
done
files=$(find "$cache/turnwise" -type f)
[ "$(echo "$files" | wc -l)" = 3 ] || { echo "these are not two libraries and the sample: $files"; exit 1; }
sh packaging/glibc.sh "$built/turnwise" "$built/libturnwise_c.so" $files
