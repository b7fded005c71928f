#!/usr/bin/env bash
# measure.sh LIBRARY...: the C library's locks and preload libraries, interleaved: CPU time for each section behind few
# and many locks (many.c of 0028), then queries a second of SQLite (xtask/programs/sqlite.c). ROUNDS, MS: how many
# rounds, and how long a run of many.c lasts.
set -euo pipefail
here=$(dirname "$0")
cc -O2 -pthread -o /tmp/many "$here/../0028-contenders-not-cpus/many.c"
cc -O2 -pthread -o /tmp/sqlite "$here/../../../xtask/programs/sqlite.c" -lsqlite3
for ((round = 0; round < ${ROUNDS:-5}; round++)); do
    for cell in "1 8 1000" "4 8 1000" "16 16 1000" "64 64 1000"; do
        for library in "" "$@"; do
            read -r locks threads section <<<"$cell"
            echo "${library:-C library}: $(LD_PRELOAD=$library /tmp/many "$locks" "$threads" "$section" "${MS:-800}")"
        done
    done
    for mode in "one 4 60000" "shared 4 120000"; do
        for library in "$@"; do
            read -r what threads queries <<<"$mode"
            result=$(LD_PRELOAD=$library /tmp/sqlite "$what" "$threads" "$queries" | grep queries)
            echo "$library: SQLite $what $result"
        done
    done
done
