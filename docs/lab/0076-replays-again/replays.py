#!/usr/bin/env python3
"""Records programs again and again, and replays each recording: replays.py ROUNDS MACHINE.toml LAB [LAB...].

`turnwise` is in the PATH; LAB are builds of turnwise-lab, MACHINE.toml what `turnwise-lab calibrate` wrote. `now` in its
place: each LAB measures the machine anew before each recording. Prints the errors about the recorded runs, for each
program and build, in order.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = {
    "@sample -t 2": "@sample -t 2",
    "@sample -t 4": "@sample -t 4",
    "kccachetest order": "kccachetest order -th 2 -rnd 200000",
    "kccachetest wicked": "kccachetest wicked -th 2 200000",
    "kcprototest order": "kcprototest order -th 2 -rnd 200000",
    "tchmttest write": "tchmttest write {dir}/hash 2 200000",
    "sysbench mutex": "sysbench mutex --threads=2 --mutex-num=1 --mutex-locks=200000 --mutex-loops=10 run",
}


def errors(command, machine, labs):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        recording = os.path.join(folder, "run.tw")
        machines = [machine] * len(labs)
        if machine == "now":
            machines = [os.path.join(folder, f"{place}.toml") for place in range(len(labs))]
            for lab, measured in zip(labs, machines):
                subprocess.run([lab, "calibrate", "-o", measured], capture_output=True, check=True)
        words = command.replace("{dir}", folder).split()
        subprocess.run(["turnwise", "profile", "--lock", "libc", "--recording", recording, "--", *words],
                       capture_output=True, check=True)
        found = []
        for lab, machine in zip(labs, machines):
            text = subprocess.run([lab, "sim", "--record", recording, "--recorded-on", machine, "--machine", machine,
                                   "--cpus", "2", "--lock", "libc"], capture_output=True, text=True, check=True).stdout
            found.append(float(re.search(r"an error of ([-+0-9.]+)%", text)[1]))
        return found


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    for name, command in PROGRAMS.items():
        rounds = [errors(command, sys.argv[2], sys.argv[3:]) for _ in range(int(sys.argv[1]))]
        for lab, found in zip(sys.argv[3:], zip(*rounds)):
            print(f"{name:20} {lab}: {' '.join(f'{e:+.0f}' for e in sorted(found))}; {statistics.median(found):+.1f}%",
                  flush=True)


main()
