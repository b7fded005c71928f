#!/usr/bin/env python3
"""pairs.py BEFORE AFTER [ROUNDS]: two builds of turnwise-lab, cell by cell, in interleaved pairs.

Prints for each cell whether the reports are the same, byte by byte but for who made them, and how many times as much
CPU time the first build takes: median and range. CPU time, and not time, since others may run.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

LOCKS = ["sim", "--machine", "westmere-ex-80", "--cpus", "80", "--workload", "tight", "--jobs", "1"]
AIM7 = ["aim7", "--machine", "westmere-ex-80", "--directories", "16"]
CELLS = {
    "MCS lock, 80 CPUs": [*LOCKS, "--lock", "mcs", "--duration", "100ms"],
    "Mutex, 80 CPUs": [*LOCKS, "--lock", "mutex", "--duration", "200ms"],
    "RwSem, 80 CPUs": [*LOCKS, "--lock", "rwsem", "--duration", "200ms"],
    "LockRef, 80 CPUs": [*LOCKS, "--lock", "lockref", "--duration", "200ms"],
    "AIM7 fserver, 8 nodes, 1500 users, Linux 3.7":
        [*AIM7, "-w", "fserver", "-u", "1500", "--locks", "linux-3.7", "--journal", "1000"],
    "AIM7 fserver, 4 nodes, 600 users, both patches":
        [*AIM7, "-w", "fserver", "-u", "600", "--nodes", "4", "--locks", "linux-3.7-patch-2", "--journal", "1000"],
    "AIM7 fserver, 8 nodes, 600 users, today's locks":
        [*AIM7, "-w", "fserver", "-u", "600", "--locks", "today", "--journal", "1000"],
    "AIM7 high_systime, 8 nodes, 600 users, Linux 3.10":
        [*AIM7, "-w", "high_systime", "-u", "600", "--locks", "linux-3.10", "--profiler"],
}


def plain(value):
    """A report without who made it."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in ("commit", "host", "command")}
    return [plain(v) for v in value] if isinstance(value, list) else value


def run(program, arguments):
    """The report of one run, and its CPU time in user mode."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([program, *arguments, "--json", report], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        with open(report, encoding="utf-8") as file:
            return json.dumps(plain(json.load(file)), sort_keys=True), took


def main():
    """Runs all cells."""
    programs, rounds = sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) > 3 else 7
    failed = False
    for name, arguments in CELLS.items():
        reports, ratios = set(), []
        for number in range(rounds):
            # The first to run takes turns.
            order = (0, 1) if number % 2 == 0 else (1, 0)
            took = [0.0, 0.0]
            for build in order:
                report, took[build] = run(programs[build], arguments)
                reports.add(report)
            ratios.append(took[0] / took[1])
        same = "same" if len(reports) == 1 else "DIFFERENT"
        failed = failed or len(reports) != 1
        middle, least, most = statistics.median(ratios), min(ratios), max(ratios)
        print(f"| {name} | {same} | {middle:.2f} ({least:.2f} to {most:.2f}) |", flush=True)
    sys.exit(failed)


main()
