#!/usr/bin/env python3
"""metal.py BEFORE AFTER BELIEVED.so ROUNDS: two programs made of metal.rs, interleaved, for 60 ms each.

BELIEVED.so is made of xtask/src/perf/believed.c.
"""
import os
import random
import statistics
import subprocess
import sys

before, after, believed, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
CELLS = ["1 50 100", "2 0 0", "2 50 100", "4 50 100", "8 50 100", "32 50 100", "8 0 0", "8 100 4000", "8 20000 20000"]


def run(program, cell, cpus):
    env = dict(os.environ)
    if cpus:
        env.update(LD_PRELOAD=os.path.abspath(believed), TURNWISE_PERF_CPUS=cpus)
    out = subprocess.run([program, *cell.split(), "60"], capture_output=True, text=True, env=env, check=True).stdout
    return tuple(map(float, out.split()))


for cpus in (None, "64"):
    results = {(program, cell): [] for program in (before, after) for cell in CELLS}
    for _ in range(rounds):
        for cell in CELLS:
            for program in random.sample((before, after), 2):
                results[program, cell].append(run(program, cell, cpus))
    for cell in CELLS:
        pairs = list(zip(results[before, cell], results[after, cell]))
        speeds = [b[0] / a[0] for b, a in pairs]
        spread = sorted(statistics.median(random.choices(speeds, k=len(speeds))) for _ in range(2000))
        median = [statistics.median(r[n] for r in results[p, cell]) for n in (0, 1) for p in (before, after)]
        print(cpus or "here", cell, "ns %.1f %.1f, fairness %.2f %.2f" % tuple(median),
              "speed %.3f (%.3f to %.3f)" % (statistics.median(speeds), spread[50], spread[1949]))
