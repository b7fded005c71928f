#!/usr/bin/env bash
# sim.sh BEFORE AFTER: the tables of 0034. Each argument is a `turnwise-lab`, without and with prototype.patch.
set -euo pipefail
for lab in "$1" "$2"; do
    for workload in 50/100 tight 100/4000 100/500; do
        for seed in 1 2 3; do
            "$lab" sim --lock mutex --workload "$workload" --duration 20ms --seed "$seed" \
                --machine sapphire-rapids-2s --cpus 8,16,56,112,224
            "$lab" sim --lock mutex --workload "$workload" --duration 20ms --seed "$seed" \
                --machine westmere-ex-80 --cpus 16,40,80
        done
    done
done
# More threads than CPUs, without the rules for many CPUs.
for many in 16 4294967295; do
    for workload in 500/500 100/4000; do
        "$1" sim --lock mutex --workload "$workload" --duration 40ms --machine westmere-ex-80 \
            --cpus 20 --threads 80,320,1000 --set "many_cpus=$many"
    done
done
