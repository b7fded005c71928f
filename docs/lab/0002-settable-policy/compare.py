"""Speed of preload libraries: compare.py LIBRARY..., beside the program ./contend, built from contend.c.

For 2 to 32 threads: the median of each library's 24 ratios to the first one, and how often that one's threads had it.
"""

import statistics
import subprocess
import sys

TURNS = 24


def had(library, threads):
    environment = {"LD_PRELOAD": library}
    done = subprocess.run(["./contend", str(threads)], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


libraries = sys.argv[1:]
for threads in (2, 4, 8, 32):
    counts = [[] for _ in libraries]
    for turn in range(TURNS):
        for n in range(len(libraries)):
            library = (turn + n) % len(libraries)
            counts[library].append(had(libraries[library], threads))
    ratios = [statistics.median(a / b for a, b in zip(own, counts[0])) for own in counts]
    print(threads, *(f"{ratio:.3f}" for ratio in ratios), statistics.median(counts[0]))
