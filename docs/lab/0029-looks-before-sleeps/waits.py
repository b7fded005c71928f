#!/usr/bin/env python3
"""waits.py ROUNDS NAME=LIBRARY... (ONLY=text in the environment: cells whose names contain it): time and CPU time of condition waits under the C library ("libc=") and preload
libraries, interleaved; prints the medians, and for each library the ratio to the first one with the range of the rounds."""
import os, statistics, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("WAITS", "/tmp/waits")
CELLS = [
    ("ping-pong", "pingpong 2 0 200"),
    ("ping-pong, 1 us of work", "pingpong 2 1000 200"),
    ("ping-pong, 10 us of work", "pingpong 2 10000 200"),
    ("ping-pong, 100 us of work", "pingpong 2 100000 300"),
    ("ping-pong on one CPU", "taskset -c 0 pingpong 2 0 200"),
    ("queue 1:1", "queue 2 0 200"),
    ("queue 1:1, 1 us of work", "queue 2 1000 200"),
    ("queue 4:4", "queue 8 0 200"),
    ("a job each 50 us, 1 waiter", "pool 1 50000 300"),
    ("a job each 50 us, 20 waiters", "pool 20 50000 300"),
    ("jobs without pause, 20 waiters", "pool 20 0 200"),
    ("tell 1", "tell 1 0 200"),
    ("tell 8", "tell 8 0 200"),
    ("tell 32", "tell 32 0 200"),
]


def run(cell, library):
    words = cell.split()
    front = words[:3] if words[0] == "taskset" else []
    command = front + ["env", f"LD_PRELOAD={library}", PROGRAM] + words[len(front):]
    return [float(x) for x in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def main():
    rounds = int(sys.argv[1])
    libraries = [argument.split("=", 1) for argument in sys.argv[2:]]
    subprocess.run(["cc", "-O2", "-pthread", "-o", PROGRAM, HERE + "/waits.c"], check=True)
    for name, cell in CELLS:
        if os.environ.get("ONLY", "") not in name:
            continue
        results = {library: [] for library, _ in libraries}
        for _ in range(rounds):
            for library, path in libraries:
                results[library].append(run(cell, path))
        print(f"{name}:")
        for library, _ in libraries:
            line = f"  {library:8}"
            for which, unit in enumerate(["ns", "ns of CPU"]):
                mine = [r[which] for r in results[library]]
                ratios = [a[which] / b[which] for a, b in zip(results[libraries[0][0]], results[library])]
                line += f"  {statistics.median(mine):9.0f} {unit} ({statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f})"
            print(line, flush=True)


main()
