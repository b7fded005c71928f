#!/usr/bin/env python3
"""Counts perf's samples in the live view's code and in madvise, of Kyoto Cabinet's hash file, in interleaved rounds.

samples.py ROUNDS NAME=PRELOAD...    # each is a libturnwise_preload.so; "off" is the last one without a view

A sample in the view's code counts there alone, page faults among them once more. "calls" are other system calls that
hardly anything but the view makes here.
"""
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

FOLDER = tempfile.mkdtemp(dir="/dev/shm")
CALLS = re.compile(
    "__x64_sys_(prctl|tgkill|getdents64|fstatfs|readlinkat|unlinkat|fchmod|ftruncate|clock_nanosleep|nanosleep|mkdirat"
    "|kill|gettid|clock_gettime)"
)
COLUMNS = ["all", "view", "faults", "madvise", "calls"]
PROGRAM = "kchashtest order -th 4 -rnd -bnum 180000 -msiz 60000000".split() + [FOLDER + "/h.kch", "60000"]


def samples(preload, live):
    data = FOLDER + "/perf.data"
    for name in os.listdir(FOLDER):
        os.unlink(FOLDER + "/" + name)
    variables = dict(os.environ, LD_PRELOAD=preload, TURNWISE_LOCK="adaptive", **({} if live else {"TURNWISE_LIVE": "0"}))
    record = ["perf", "record", "-q", "-g", "-e", "cpu-clock", "-F", "8000", "-o", data]
    subprocess.run([*record, *PROGRAM], env=variables, stdout=subprocess.DEVNULL, check=True)
    command = ["perf", "script", "-i", data, "-F", "ip,sym,dso"]
    stacks = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n\n")
    stacks = [stack for stack in stacks if stack.strip()]
    view = [stack for stack in stacks if "turnwise_live" in stack]
    others = [stack for stack in stacks if "turnwise_live" not in stack]
    madvise = sum("madvise" in stack for stack in others)
    calls = sum("madvise" not in stack and CALLS.search(stack) is not None for stack in others)
    return len(stacks), len(view), sum("exc_page_fault" in stack for stack in view), madvise, calls


def main():
    arms = dict(argument.split("=", 1) for argument in sys.argv[2:])
    runs = [(name, preload, True) for name, preload in arms.items()] + [("off", list(arms.values())[-1], False)]
    seen = {name: [] for name, _, _ in runs}
    for _ in range(int(sys.argv[1])):
        for name, preload, live in random.sample(runs, len(runs)):
            seen[name].append(samples(preload, live))
    for name, figures in seen.items():
        for what, column in zip(COLUMNS, zip(*figures)):
            print(name, what, "sum", sum(column), "median", statistics.median(column), "most", max(column))


try:
    main()
finally:
    shutil.rmtree(FOLDER)
