#!/usr/bin/env bash
# many.sh OLD.so NEW.so: CPU time for each section under the C library's locks and two preload libraries, interleaved.
# The library without skips was built with `skip_bits_max = 0` in crates/turnwise/src/wait/policy.rs.
set -euo pipefail
here=$(dirname "$0")
cc -O2 -pthread -o "$here/many" "$here/many.c"
for round in 1 2 3 4 5; do
    for cell in "1 8 1000" "4 8 1000" "16 16 1000" "64 64 1000" "16 4 -50" "16 16 -50" "64 16 -50"; do
        for library in "" "$1" "$2"; do
            read -r locks threads section <<<"$cell"
            echo "$round ${library:-C library} $(LD_PRELOAD=$library "$here/many" "$locks" "$threads" "$section" 250)"
        done
    done
done
