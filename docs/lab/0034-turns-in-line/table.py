#!/usr/bin/env python3
"""table.py BEFORE AFTER: medians of two outputs of sim.sh, cell by cell.

For each: nanoseconds for an acquisition, lines moved for it, fairness, the longest wait in ms; then the speed.
"""
import re
import statistics
import sys

NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
TIME = r"([\d.]+) (ns|us|ms|s)"
ROW = re.compile(rf"([\d.]+)( k)? +{TIME} +{TIME} +{TIME} +([\d.]+) +[\d.]+% +([\d.]+)")


def read(name):
    cells = {}
    for line in open(name):
        machine, workload, _, cpus, threads, rest = line.split(None, 5)
        row = ROW.match(rest)
        op_ns = float(row[1]) * (1000 if row[2] else 1)
        longest_ms = float(row[7]) * NS[row[8]] / 1e6
        figures = op_ns, float(row[10]), float(row[9]), longest_ms
        cells.setdefault((machine, workload, f"{cpus}:{threads}"), []).append(figures)
    return {cell: [statistics.median(f) for f in zip(*runs)] for cell, runs in cells.items()}


before, after = map(read, sys.argv[1:3])
for cell in before:
    old, new = before[cell], after[cell]
    text = ["{:.0f}; {:.1f}; {:.2f}; {:.1f}".format(*f) for f in (old, new)]
    print("| " + " | ".join([*cell, *text, f"{old[0] / new[0]:.2f}"]) + " |")
