#!/usr/bin/env bash
# numa.sh spin|mutex APART: the figures of 0040, one line a run; the columns are those of 0041's slices.sh. APART is its
# apart.rs, made as that script says. For `mutex` apply distance.patch as well (FAR_TIMES=1 is the lock as it is), and
# for turns of time the prototype.patch that 0034 has in commit 6b1a55e2, and turns.patch, before it.
set -euo pipefail
what=$1 apart=$2
run() {
    for seed in 1 2 3; do
        for place in "machine=sapphire-rapids-2s cpus=16 spread=yes" "machine=sapphire-rapids-2s cpus=112" \
            "machine=sapphire-rapids-2s cpus=224" "machine=westmere-ex-80 cpus=10" "machine=westmere-ex-80 cpus=40" \
            "machine=westmere-ex-80 cpus=80"; do
            for work in "inside=50 outside=100" "inside=50 outside=100 lines=8" "inside=100 outside=500"; do
                "$apart" $place $work "$@" seed="$seed" ms=10
            done
        done
    done
}
if [ "$what" = mutex ]; then
    for times in 1 4; do FAR_TIMES=$times run lock=mutex; done
else
    run lock=backoff
    run lock=distance
    for times in 1 4 16; do run lock=far times=$times; done
    # Is it the distance, or only that they stay away longer?
    run lock=far times=1 first=800 limit=40000
    run lock=far times=1 first=3200 limit=160000
    run lock=far times=1 first=200 limit=160000
fi
