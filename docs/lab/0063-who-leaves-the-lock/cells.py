#!/usr/bin/env python3
"""Long sections on simulated machines with different builds of turnwise-lab.

    cells.py NAME=PROGRAM... > table.md

A cell is the median of seeds 1 to 3: nanoseconds for an acquisition; fairness; longest wait in ms; CPU time for an
acquisition in microseconds. Run it in the repository's root.
"""

import concurrent.futures
import itertools
import json
import statistics
import subprocess
import sys

XEON = "./docs/results/here-xeon-16.toml"
SAPPHIRE, WESTMERE = "sapphire-rapids-2s", "westmere-ex-80"
LOADS = ("5000/0", "20000/0", "20000/2000", "20000/20000", "50000/0", "50000/5000", "50000/50000")
CELLS = [
    *((XEON, load, 16, threads, 100) for threads in (8, 16, 32) for load in LOADS),
    *((XEON, load, 8, threads, 100) for threads in (8, 16) for load in LOADS),
    *((XEON, load, 2, threads, 100) for threads in (2, 8, 32) for load in LOADS),
    *((SAPPHIRE, load, cpus, cpus, 40) for cpus in (16, 56, 112) for load in ("50/100", "2000/2000", *LOADS)),
    *((WESTMERE, load, 20, threads, 40) for threads in (80, 320) for load in ("50/100", "500/500", "20000/0")),
]


def run(program, cell, seed):
    machine, load, cpus, threads, ms = cell
    command = [program, "sim", "--lock", "mutex", "--json", "-", "--warm-up", "5ms", "--machine", machine]
    command += ["--workload", load, "--cpus", str(cpus), "--threads", str(threads), "--duration", f"{ms}ms"]
    report = subprocess.run([*command, "--seed", str(seed)], capture_output=True, check=True).stdout
    figures = json.loads(report)["cells"][0]["result"]["Ok"]
    return figures["op_ns"], figures["fairness"], figures["wait"]["max_ns"] / 1e6, figures["cpu_ns"] / 1e3


def main():
    builds = [word.partition("=")[::2] for word in sys.argv[1:]]
    if not builds or any(not program for _, program in builds):
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = list(itertools.product(CELLS, builds, (1, 2, 3)))
        figures = dict(zip(runs, pool.map(lambda r: run(r[1][1], r[0], r[2]), runs)))
    print("| machine, load, CPUs:threads |", " | ".join(name for name, _ in builds), "|")
    print("|---" * (1 + len(builds)), end="|\n")
    for cell in CELLS:
        columns = []
        for build in builds:
            per_seed = [figures[cell, build, seed] for seed in (1, 2, 3)]
            columns.append("{:.0f}; {:.2f}; {:.1f}; {:.1f}".format(*map(statistics.median, zip(*per_seed))))
        machine, load, cpus, threads, _ = cell
        name = "xeon-16" if machine == XEON else machine
        print(f"| {name}, {load}, {cpus}:{threads} |", " | ".join(columns), "|")


main()
