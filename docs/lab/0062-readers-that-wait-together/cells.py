#!/usr/bin/env python3
"""The readers-writer lock on simulated machines with different builds of docs/lab/0049-what-the-cache-tells/sim.rs.

    cells.py NAME=PROGRAM... > table.md

A cell is the median of seven seeds: million operations a second; fairness; lines moved for an operation. Run it in the
repository's root.
"""

import concurrent.futures
import itertools
import re
import subprocess
import sys

LOADS = ("1000/1000,read=50", "1000/1000,read=90", "5000/5000,read=50", "500/500,read=50", "50/100,read=50",
         "200/200,read=90", "tight,read=50", "50/100,writers=7", "1000/1000,writers=7", "50/100,writers=1")
PLACES = {
    "sapphire-rapids-2s": "8,16,56,112",
    "./docs/results/here-xeon-16.toml": "8,16,32/16",
    "./docs/results/here.toml": "8/2,32/2",
}


def run(program, machine, load):
    ms = "40" if PLACES[machine].endswith("/2") else "6"
    command = [program, machine, "", load, PLACES[machine], "rwsem", ms, "7"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"([0-9.]+)\(f *([0-9.]+) w *([0-9.]+) t *([0-9.]+)\)", out)
    return [f"{speed}; {fairness}; {lines}" for speed, fairness, _, lines in found]


def main():
    builds = [word.partition("=")[::2] for word in sys.argv[1:]]
    if not builds or any(not program for _, program in builds):
        sys.exit(__doc__)
    rows = list(itertools.product(PLACES, LOADS))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        columns = [list(pool.map(lambda row: run(program, *row), rows)) for _, program in builds]
    for machine in PLACES:
        print(f"\n| {machine} | build |", " | ".join(PLACES[machine].split(",")), "|")
        print("|---" * (3 + PLACES[machine].count(",")), end="|\n")
        for n, (of, load) in enumerate(rows):
            for (name, _), cells in zip(builds, columns):
                if of == machine:
                    print(f"| {load} | {name} |", " | ".join(cells[n]), "|")


main()
