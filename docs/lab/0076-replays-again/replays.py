#!/usr/bin/env python3
"""Records programs again and again, replays each recording on this machine's file: replays.py ROUNDS MACHINE.toml.

Run it where `turnwise` and `turnwise-lab` are in the PATH. Prints what the replays say, their errors included.
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


def replay(command, machine):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        recording = os.path.join(folder, "run.tw")
        words = command.replace("{dir}", folder).split()
        subprocess.run(["turnwise", "profile", "--lock", "libc", "--recording", recording, "--", *words],
                       capture_output=True, check=True)
        text = subprocess.run(["turnwise-lab", "sim", "--record", recording, "--recorded-on", machine,
                               "--machine", machine, "--lock", "libc"], capture_output=True, text=True)
        return text.stdout + text.stderr


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for name, command in PROGRAMS.items():
        for _ in range(int(sys.argv[1])):
            print("==", name, flush=True)
            print(replay(command, sys.argv[2]), flush=True)


main()
