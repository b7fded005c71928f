#!/bin/bash
# The figures of 0035: simulated on 1 to 224 CPUs, then on this machine. Usage: measure.sh TURNWISE_LAB
set -eu
lab=$1
others=rwsem,biased-rwlock,queued-rwlock,rwsem-spinlock-stealing,rwsem-xadd-fast-stealing
for workload in tight,read=100 tight,read=99 tight,read=95 100/4000,read=100 100/4000,read=99 100/4000,writers=1; do
    "$lab" sim --machine sapphire-rapids-2s --lock "$others,big-reader" --workload "$workload" \
        --cpus 1,2,8,16,56,112,224 --duration 2ms --warm-up 2ms --json "sim-${workload//\//-}.json"
done
for after in 16 64 1000000; do
    for read in 99 95; do
        "$lab" sim --machine sapphire-rapids-2s --lock big-reader --workload "tight,read=$read" \
            --cpus 1,2,8,16,56,112,224 --duration 2ms --warm-up 2ms --set "spread_after=$after"
    done
done
"$lab" bench rwlock --lock rwsem,big-reader --json metal.json \
    --scenario uncontended-read,uncontended-write,2x100/0,2x99/1,2x95/5,2x50/50,8x95/5
