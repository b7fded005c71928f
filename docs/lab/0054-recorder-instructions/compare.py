#!/usr/bin/env python3
"""Compares recorders by the time and the CPU time of Kyoto Cabinet's hash file, in interleaved rounds.

compare.py ROUNDS TURNWISE PRELOAD NAME=RECORDER[,PRELOAD]...

TURNWISE is a program `turnwise` whose recordings have the layout of these recorders. "run" is PRELOAD alone.
With CALLGRIND=1 in the environment, instructions are counted in place of the rest (30,000 records, ROUNDS ignored).
"""
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

FOLDER = tempfile.mkdtemp(dir="/dev/shm")
RECORDING = FOLDER + "/recording"
DATABASE = FOLDER + "/hash.kch"
LENGTH = 4 << 30


def hash_file(records):
    sizes = ["-bnum", str(3 * records), "-msiz", str(1000 * records)]
    return ["kchashtest", "order", "-th", "4", "-rnd", *sizes, DATABASE, str(records)]


def beginning(turnwise):
    made = FOLDER + "/made"
    command = [turnwise, "profile", "--lock", "adaptive", "--recording", made, "--", "/usr/bin/env"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(made, "rb") as file:
        return file.read(16)


def environment(recorder, preload, head):
    for path in (DATABASE, RECORDING):
        if os.path.exists(path):
            os.unlink(path)
    libraries = [library for library in (recorder, preload) if library]
    variables = dict(os.environ, LD_PRELOAD=":".join(libraries), TURNWISE_LOCK="adaptive")
    if recorder:
        with open(RECORDING, "wb") as file:
            file.write(head)
            file.truncate(LENGTH)
        variables["TURNWISE_RECORDING"] = RECORDING
    return variables


def instructions(variables):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + FOLDER + "/out", *hash_file(30_000)]
    told = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", told).group(1))


def run(variables):
    process = subprocess.Popen(hash_file(100_000), env=variables, stdout=subprocess.PIPE, text=True)
    seconds = sum(float(time) for time in re.findall(r"^time: ([0-9.]+)", process.stdout.read(), re.M))
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, "the program failed"
    return {
        "seconds": seconds,
        "cpu": used.ru_utime + used.ru_stime,
        "sys": used.ru_stime,
        "faults": used.ru_minflt,
        "switches": used.ru_nvcsw,
    }


def spread(values):
    values = sorted(values)
    count = len(values)
    return f"{statistics.median(values):.3f} ({values[count // 4]:.3f} to {values[3 * count // 4]:.3f})"


def main():
    rounds, turnwise, preload = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    arms = {"run": (None, preload)}
    for argument in sys.argv[4:]:
        name, libraries = argument.split("=", 1)
        recorder, _, other = libraries.partition(",")
        arms[name] = (recorder, other or preload)
    head = beginning(turnwise)
    if os.environ.get("CALLGRIND"):
        for name, libraries in arms.items():
            print(name, instructions(environment(*libraries, head)))
        return
    seen = {name: [] for name in arms}
    for _ in range(rounds):
        for name in random.sample(list(arms), len(arms)):
            seen[name].append(run(environment(*arms[name], head)))
    for name, runs in seen.items():
        print(name, {figure: spread(run[figure] for run in runs) for figure in runs[0]})
    names = list(arms)
    for base, other in [("run", name) for name in names[1:]] + [(names[1], name) for name in names[2:]]:
        for figure in ("seconds", "cpu"):
            ratios = [one[figure] / two[figure] for one, two in zip(seen[base], seen[other])]
            print(f"{other} to {base} by {figure}: {spread(ratios)}")


main()
