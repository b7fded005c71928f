#!/usr/bin/env python3
"""Programs that print `N queries/s` or `N ns`, under one preload library after the other.

    ab.py ROUNDS NAME=LIBRARY[,NAME=LIBRARY...] COMMAND [COMMAND...]

Each round runs every library once, in a random order. Prints, for each command and library, the median of the figures
(a second) and of their ratios to the first library's in the same round, with quartiles. LIBRARY: empty for none.
"""

import os
import random
import re
import statistics
import subprocess
import sys


def figure(command, library):
    environment = dict(os.environ, LD_PRELOAD=library) if library else dict(os.environ)
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    queries = re.search(r"([0-9.]+) queries/s", text)
    return float(queries[1]) if queries else 1e9 / float(re.search(r"([0-9.]+) ns", text)[1])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    rounds = int(sys.argv[1])
    libraries = [word.partition("=")[::2] for word in sys.argv[2].split(",")]
    for command in sys.argv[3:]:
        figures = {name: [] for name, _ in libraries}
        for _ in range(rounds):
            for name, library in random.sample(libraries, len(libraries)):
                figures[name].append(figure(command.split(), library))
        first = figures[libraries[0][0]]
        print(command, end="")
        for name, values in figures.items():
            ratios = [new / old for new, old in zip(values, first)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"; {name} {statistics.median(values):.4g} {middle:.3f} ({low:.2f} to {high:.2f})", end="")
        print(flush=True)


main()
