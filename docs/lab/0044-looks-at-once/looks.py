#!/usr/bin/env python3
"""Speed of our mutex against std's under settings of looks.patch, interleaved.

looks.py LAB "A=1;A=2 B=3" CELL,CELL ROUNDS

LAB is a `turnwise-lab` built with the patch; each setting is a list of variables of its environment.
"""

import json
import os
import random
import statistics
import subprocess
import sys

lab, settings, cells, rounds = sys.argv[1], sys.argv[2].split(";"), sys.argv[3].split(","), int(sys.argv[4])
LOCKS = ["--lock", "mutex", "--lock", "std", "--against", "std"]
SAMPLES = ["--samples", "5", "--sample-ms", "50", "--json", "-"]
pairs = {}
for _ in range(rounds):
    for setting in random.sample(settings, len(settings)):
        environment = dict(os.environ, **dict(pair.split("=") for pair in setting.split()))
        for cell in cells:
            command = [lab, "bench", "mutex", *LOCKS, "--scenario", cell, *SAMPLES]
            report = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            locks = {lock["name"]: lock["rounds_ns"] for lock in json.loads(report)["scenarios"][0]["locks"]}
            pairs.setdefault((cell, setting), []).extend(zip(locks["mutex"], locks["std"]))
for cell in cells:
    for setting in settings:
        runs = pairs[cell, setting]
        speeds = sorted(std / ours for ours, std in runs)
        low, high = speeds[len(speeds) // 4], speeds[3 * len(speeds) // 4]
        ours, std = (statistics.median(column) for column in zip(*runs))
        speed = f"{statistics.median(speeds):.3f} ({low:.3f} to {high:.3f})"
        print(f"{cell:14} {setting:24} ours {ours:8.1f} ns, std {std:8.1f} ns, speed {speed}")
