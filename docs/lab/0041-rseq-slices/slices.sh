#!/usr/bin/env bash
# slices.sh: the figures of 0041, one line a run. First apply engine.patch, put apart.rs into lab/sim/examples, and
# `cargo build --release -p turnwise-sim --example apart`.
# Columns: what was run; ns for an acquisition; wait p50, p99, p99.9, longest (ns); fairness; lines moved, remote ones,
# for an acquisition; sleeps; preemptions; CPUs that the busy threads had.
set -euo pipefail
apart=${1:-target/release/examples/apart}
run() {
    for seed in $(seq "$seeds"); do "$apart" machine=graviton4 "$@" seed="$seed" ms=200; done
}
seeds=5
for place in "cpus=2 threads=2 busy=2" "cpus=8 threads=8 busy=8" "cpus=8 threads=32 busy=8" \
    "cpus=8 threads=8 busy=4 pinned=no"; do
    for work in "inside=50 outside=100" "inside=2000 outside=4000" "inside=2000 outside=16000" \
        "inside=20000 outside=160000"; do
        run $place $work lock=mutex extension=0
        for ns in 5000 50000; do
            for asks in always contended kept; do run $place $work lock=mutex extension=$ns asks=$asks; done
        done
    done
done
seeds=3
for place in "cpus=2 threads=4" "cpus=2 threads=8" "cpus=8 threads=16" "cpus=8 threads=32"; do
    for work in "inside=50 outside=100" "inside=2000 outside=4000" "inside=20000 outside=160000"; do
        for ns in 0 5000 50000; do
            for asks in always contended; do run $place $work lock=mutex extension=$ns asks=$asks; done
        done
    done
done
for lock in backoff queued ticket; do
    for place in "cpus=8 threads=12 busy=0" "cpus=8 threads=8 busy=8"; do
        for work in "inside=50 outside=400" "inside=2000 outside=16000"; do
            for ns in 0 5000; do run $place $work lock=$lock extension=$ns asks=always; done
        done
    done
done
