"""Loops of two builds in turn: how much faster the new one is, and how both do against the faster of two peers.

ab.py OLD NEW 'CELL;CELL;...' ROUNDS MS: OLD and NEW are builds of loop.rs against two commits.
"""
import random, re, statistics, subprocess, sys

FIGURES = {
    "speed": r"ours\s+speed ([0-9.]+)",
    "CPU": r"ours.*CPU (\d+) ns",
    "fairness": r"ours.*fairness ([0-9.]+)",
    "longest wait": r"ours.*longest wait (\d+)",
}


def run(program, cell, ms):
    out = subprocess.run([program, "", cell, "1", ms], capture_output=True, text=True, check=True).stdout
    found = {name: float(re.search(pattern, out).group(1)) for name, pattern in FIGURES.items()}
    found["ns"] = float(re.search(r"best peer: ([0-9.]+)", out).group(1)) / found["speed"]
    return found


programs, cells, rounds, ms = sys.argv[1:3], sys.argv[3].split(";"), int(sys.argv[4]), sys.argv[5]
for cell in cells:
    samples = {program: [] for program in programs}
    for _ in range(rounds):
        for program in random.sample(programs, 2):
            samples[program].append(run(program, cell, ms))
    old, new = (samples[program] for program in programs)
    ratio = sorted(a["ns"] / b["ns"] for a, b in zip(old, new))
    quarter = lambda n: ratio[min(len(ratio) - 1, len(ratio) * n // 4)]
    print(f"{cell:20} new against old {quarter(2):.3f} ({quarter(1):.3f} to {quarter(3):.3f})", end="")
    for name in ["speed", "ns", "CPU", "fairness", "longest wait"]:
        before, after = (statistics.median(sample[name] for sample in side) for side in (old, new))
        print(f" | {name} {before:g} -> {after:g}", end="")
    print(flush=True)
