#!/bin/sh
# same.sh BEFORE AFTER: whether two builds of turnwise-lab simulate the same, figure by figure, and the CPU time of
# each. For changes of the engine alone: machines, locks, AIM7, and case studies whose plan of runs is the same.
set -eu
before=$1 after=$2 dir=$(mktemp -d) failed=0
same() {
    name=$1
    shift
    for build in before after; do
        eval "program=\$$build"
        # shellcheck disable=SC2154 # set by eval
        command time -f "%U" -o "$dir/$build.time" "$program" "$@" --json "$dir/$build.json" >"$dir/out" 2>&1 ||
            { cat "$dir/out"; exit 1; }
        python3 -c '
import json, sys
def without(value):
    if isinstance(value, dict):
        return {k: without(v) for k, v in value.items() if k not in ("commit", "host", "command")}
    return [without(v) for v in value] if isinstance(value, list) else value
json.dump(without(json.load(open(sys.argv[1]))), open(sys.argv[2], "w"), indent=1)
' "$dir/$build.json" "$dir/$build.plain"
    done
    if cmp -s "$dir/before.plain" "$dir/after.plain"; then verdict=same; else verdict=DIFFERENT failed=1; fi
    echo "$name: $verdict, $(cat "$dir/before.time") s before, $(cat "$dir/after.time") s after"
}
for machine in westmere-ex-80 altix-64 epyc-milan-2s mesh-1024; do
    same "sim $machine" sim --machine "$machine" --jobs 1 --duration 2ms --warm-up 0ms --cpus 1,3,40,64 \
        --lock mutex,rwsem,ttas,ttas-backoff,ticket,mcs,linux-mutex-baseline,osv-mutex-spin-after-push,queued-rwlock
done
same "sim osv-4" sim --machine osv-4 --lock mutex,ttas,osv-mutex-spin --cpus 4 --threads 3,20 --jobs 1
same "sim, perturbed" sim --lock mutex,mcs --cpus 20 --perturb pct --jobs 1 --duration 2ms
for locks in linux-3.7 linux-3.7-patch-2 today; do
    same "aim7 $locks" aim7 --machine westmere-ex-80 --workfile fserver --users 600 --locks "$locks" --journal 256
done
for study in spin_backoff rwsem_stealing dcache; do
    same "reproduce $study" reproduce "$study" --quick --jobs 1
done
rm -r "$dir"
exit "$failed"
