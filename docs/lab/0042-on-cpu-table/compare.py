#!/usr/bin/env python3
"""compare.py FILE: what compare.sh printed, as a table: medians without and with the table, and the median of the
ratios of paired rounds with its 95% bootstrap interval."""

import random
import statistics
import sys

random.seed(1)
cells = {}
for line in open(sys.argv[1], encoding="utf-8"):
    which, cell, figures = line.strip().split("|")
    cells.setdefault(cell, {}).setdefault(which, []).append([float(x) for x in figures.split()])


def ratio(off, on, column, least):
    """Without over with."""
    pairs = [max(a[column], least) / max(b[column], least) for a, b in zip(off, on)]
    medians = sorted(statistics.median(random.choices(pairs, k=len(pairs))) for _ in range(4000))
    return f"{statistics.median(pairs):.2f} ({medians[100]:.2f}-{medians[-101]:.2f})"


for cell, runs in cells.items():
    off, on = runs["off"], runs["on"]
    both = [[statistics.median(run[column] for run in side) for side in (off, on)] for column in range(7)]
    (ns, _, _, wait, longest, fair, cpu) = [f"{a:.4g}, {b:.4g}" for a, b in both]
    speed, shorter = ratio(off, on, 0, 1), ratio(off, on, 3, 0.05)
    print(f"| {cell} | {ns} | {speed} | {wait} | {shorter} | {longest} | {fair} | {cpu} |")
