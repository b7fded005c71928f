#!/usr/bin/env python3
"""Programs under one preload library after the other, all of them in each round, in a random order.

    few.py ROUNDS NAME[,NAME...] COMMAND [COMMAND...]

NAME.so and the programs are beside this file, the programs' libraries in `lib`; the name `libc` stands for no library.
In a command, {dir} is an empty folder in memory. Prints, for each number that the program prints, its median, and the
median of its ratios to the first library's in the same round, with quartiles.
"""

import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def figures(command, library):
    environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(HERE, "lib"))
    if library != "libc":
        environment["LD_PRELOAD"] = os.path.join(HERE, library + ".so")
    folder = tempfile.mkdtemp(dir="/dev/shm")
    words = os.path.join(HERE, command.replace("{dir}", folder)).split()
    text = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
    shutil.rmtree(folder)
    return [float(number) for number in re.findall(r"[0-9.]+(?:e\+[0-9]+)?", text)]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    rounds, libraries = int(sys.argv[1]), sys.argv[2].split(",")
    for command in sys.argv[3:]:
        found = {library: [] for library in libraries}
        for _ in range(rounds):
            for library in random.sample(libraries, len(libraries)):
                found[library].append(figures(command, library))
        print(command)
        for library, rows in found.items():
            columns = []
            for values, first in zip(zip(*rows), zip(*found[libraries[0]])):
                ratios = sorted(new / old for new, old in zip(values, first) if old) or [math.nan]
                low, middle, high = (ratios[min(len(ratios) - 1, k * len(ratios) // 4)] for k in (1, 2, 3))
                columns.append(f"{statistics.median(values):.4g} x{middle:.3f} ({low:.2f}-{high:.2f})")
            print(f"   {library:8}", "; ".join(columns), flush=True)


main()
