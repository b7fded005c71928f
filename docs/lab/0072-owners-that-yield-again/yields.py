#!/usr/bin/env python3
"""Programs on the C library's locks and on several builds of the preload library, interleaved.

yields.py ROUNDS LIBRARIES -- COMMAND: LIBRARIES such as old.so,new.so. The command prints how much it did, as sysbench
and stress-ng do.
"""
import os, re, statistics, subprocess, sys

rounds, libraries, command = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[4:]
FIGURES = r"total number of events: +(\d+)", r"\] mutex +\d+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+)"


def speed(library):
    env = dict(os.environ) if library == "libc" else {**os.environ, "LD_PRELOAD": os.path.abspath(library)}
    text = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found = [match for figure in FIGURES for match in re.findall(figure, text.stdout + text.stderr)]
    return float(found[0])


contenders = ["libc", *libraries]
figures = {name: [] for name in contenders}
for _ in range(rounds):
    for name in contenders:
        figures[name].append(speed(name))
for name in contenders:
    ratios = sorted(ours / base for ours, base in zip(figures[name], figures["libc"]))
    lower, upper = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    print(f"{name} {statistics.median(figures[name]):.4g}, {statistics.median(ratios):.3f} ({lower:.3f} to {upper:.3f})")
