#!/bin/bash
# compare.sh OLD NEW OLD2 NEW2 [ROUNDS]: the cells of the patch's example `floor`, by turns: the median of each binary,
# and of the ratio of times in each pair.
python3 - "$@" <<'P'
import random, statistics, subprocess, sys

bins, rounds = sys.argv[1:5], int(sys.argv[5]) if len(sys.argv) > 5 else 13


def run(program, cell):
    return float(subprocess.run([program, cell], capture_output=True, text=True).stdout)


def interval(ratios):
    medians = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    return f"{statistics.median(ratios):.2f} ({medians[50]:.2f} to {medians[1949]:.2f})"


for cell in "1 10 100 1000 std1 tight2 2x50/100 4x50/100 long sleep first".split():
    ns = [[] for _ in bins]
    for _ in range(rounds if cell != "first" else 7):
        for i in random.sample(range(4), 4):
            ns[i].append(run(bins[i], cell))
    columns = [cell.ljust(9)] + [f"{statistics.median(values):10.2f}" for values in ns]
    for old, new in ((0, 1), (2, 3)):
        columns.append("  " + interval([b / a for a, b in zip(ns[old], ns[new])]))
    print(*columns, flush=True)
P
