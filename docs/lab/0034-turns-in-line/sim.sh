#!/usr/bin/env bash
# sim.sh LAB: the simulated cells of 0034 with this `turnwise-lab`, one a line, for table.py.
set -euo pipefail
lab=$1
rows() { awk -v "of=$1" '/^Details/ { d = 1 } d && /^ *[0-9]+ +[0-9]+ / { print of, $0 }'; }
for machine in sapphire-rapids-2s:2,3,4,8,16,56,112,224 westmere-ex-80:2,3,4,8,16,40,80; do
    for workload in 50/100 tight 100/500 500/500 100/4000 2000/2000 10000/10000; do
        for seed in 1 2 3; do
            "$lab" sim --lock mutex --workload "$workload" --duration 20ms --seed "$seed" \
                --machine "${machine%:*}" --cpus "${machine#*:}" | rows "${machine%:*} $workload $seed"
        done
    done
done
# More threads than CPUs.
for workload in 50/100 tight 100/4000 500/500; do
    for seed in 1 2; do
        for cells in "20 80,320" "4 8,32"; do
            # shellcheck disable=SC2086
            set -- $cells
            "$lab" sim --lock mutex --workload "$workload" --duration 100ms --seed "$seed" \
                --machine westmere-ex-80 --cpus "$1" --threads "$2" | rows "over $workload $seed"
        done
    done
done
