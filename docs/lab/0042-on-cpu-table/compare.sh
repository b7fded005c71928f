#!/usr/bin/env bash
# compare.sh BESIDE ONOFF ROUNDS: BESIDE (beside.rs as an example of turnwise, with table.patch) without and with the
# table that ONOFF (onoff.c) attaches, interleaved. As root. Give the output to compare.py.
set -euo pipefail
offset=$("$(dirname "$0")"/pid_offset.py)
for _ in $(seq "$3"); do
    while read -r cell; do
        echo "off|$cell|$("$1" $cell 600)"
        echo "on|$cell|$("$2" "$offset" "$1" $cell 600)"
    done <<'CELLS'
2 2 pinned 50 100
2 2 pinned 2000 2000
2 2 pinned 20000 20000
2 2 free 2000 2000
4 1 pinned 2000 2000
8 2 free 2000 4000
8 2 pinned 200 1000
8 0 free 50 100
CELLS
done
