#!/bin/sh
# Uses an installed tool: use.sh TOOL, or use.sh WORDS… TOOL, where the words run a program of another processor. CAT:
# a program of that processor which prints a file, instead of `cat`.
set -eu
XDG_CACHE_HOME=$(mktemp -d)
export XDG_CACHE_HOME
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
out=$XDG_CACHE_HOME/out
use() { timeout 100 "$@" >"$out" 2>&1 || { cat "$out"; echo "failed: $*"; exit 1; }; }
has() { grep -E "$1" "$out" || { cat "$out"; echo "nothing there is like: $1"; exit 1; }; }

use "$@" --version
has "^turnwise ${VERSION:-}"
use "$@" run -- "${CAT:-cat}" /proc/self/maps
has libturnwise_preload >/dev/null
use "$@" profile -- @sample -t 2 -s 0.2
has acquisitions >/dev/null
use "$@" compare --runs 3 --warmup 0 -- @sample -t 2 -s 0.2
has '^(Adaptive|No difference) '
