#!/usr/bin/env python3
"""Counts perf's samples of Kyoto Cabinet's hash file by file, under several recorders, in interleaved rounds.

samples.py ROUNDS TURNWISE PRELOAD NAME=RECORDER...

Arguments as of ../0054-recorder-instructions/compare.py; "run" is PRELOAD alone. Prints the medians, of 8,000 samples
for each second of CPU time.
"""
import pathlib
import random
import statistics
import subprocess
import sys

SHARED = pathlib.Path(__file__).parent.parent / "0054-recorder-instructions" / "compare.py"
exec(SHARED.read_text().removesuffix("main()\n"))
FILES = ["libturnwise_recorder.so", "libgcc_s.so.1", "libturnwise_preload.so", "[kernel.kallsyms]"]


def samples(variables):
    data = FOLDER + "/perf.data"
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "8000", "-o", data]
    subprocess.run([*record, *hash_file(100_000)], env=variables, stdout=subprocess.DEVNULL, check=True)
    command = ["perf", "script", "-i", data, "-F", "ip,sym,dso"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    counts = {name: sum(name in line for line in lines) for name in FILES}
    return {"all": len(lines), **counts}


def main():
    rounds, turnwise, preload = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    arms = {"run": None, **dict(argument.split("=", 1) for argument in sys.argv[4:])}
    head = beginning(turnwise)
    seen = {name: [] for name in arms}
    for _ in range(rounds):
        for name in random.sample(list(arms), len(arms)):
            seen[name].append(samples(environment(arms[name], preload, head)))
    for name, runs in seen.items():
        print(name, {file: spread([run[file] for run in runs]) for file in runs[0]})


main()
