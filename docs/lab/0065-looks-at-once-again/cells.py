#!/usr/bin/env python3
"""Short and middling sections on simulated machines with different builds of turnwise-lab.

    cells.py NAME=PROGRAM...

A cell is the median of seeds 1 to 3: nanoseconds for an acquisition; fairness; longest wait in us; CPU time for an
acquisition in ns; speed against the first build. Run it in the repository's root.
"""

import concurrent.futures
import itertools
import json
import statistics
import subprocess
import sys

HERE, XEON = "./docs/results/here.toml", "./docs/results/here-xeon-16.toml"
LOADS = ("0/0", "50/100", "200/200", "500/1000", "1000/1000", "2000/2000", "1000/5000")
MACHINES = [
    *((HERE, 2, threads, 20) for threads in (2, 8)),
    *((XEON, cpus, threads, 10) for cpus, threads in ((2, 2), (4, 4), (8, 8), (16, 16), (16, 64))),
    *(("sapphire-rapids-2s", cpus, cpus, 4) for cpus in (2, 16, 56, 112)),
    *(("westmere-ex-80", cpus, cpus, 4) for cpus in (20, 80)),
    *(("epyc-milan-2s", cpus, cpus, 4) for cpus in (2, 64)),
]
CELLS = [(load, *machine) for load in LOADS for machine in MACHINES]


def run(program, cell, seed):
    load, machine, cpus, threads, ms = cell
    command = [program, "sim", "--lock", "mutex", "--json", "-", "--warm-up", "2ms", "--machine", machine]
    command += ["--workload", load, "--cpus", str(cpus), "--threads", str(threads), "--duration", f"{ms}ms"]
    report = subprocess.run([*command, "--seed", str(seed)], capture_output=True, check=True).stdout
    figures = json.loads(report)["cells"][0]["result"]["Ok"]
    return figures["op_ns"], figures["fairness"], figures["wait"]["max_ns"] / 1e3, figures["cpu_ns"]


def main():
    builds = [word.partition("=")[::2] for word in sys.argv[1:]]
    if not builds or any(not program for _, program in builds):
        sys.exit(__doc__)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = list(itertools.product(CELLS, builds, (1, 2, 3)))
        figures = dict(zip(runs, pool.map(lambda r: run(r[1][1], r[0], r[2]), runs)))
    for cell in CELLS:
        columns, first = [], None
        for build in builds:
            medians = [statistics.median(column) for column in zip(*(figures[cell, build, seed] for seed in (1, 2, 3)))]
            first = first or medians
            op_ns, fairness, longest_us, cpu_ns = medians
            speed = first[0] / op_ns
            columns.append(f"{op_ns:.0f}; {fairness:.2f}; {longest_us:.0f}; {cpu_ns:.0f}; {speed:.3f}")
        load, machine, cpus, threads, _ = cell
        name = machine.rpartition("/")[2].removesuffix(".toml")
        print(f"| {name}, {load}, {cpus}:{threads} |", " | ".join(columns), "|")


main()
