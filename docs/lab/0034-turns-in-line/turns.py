#!/usr/bin/env python3
"""turns.py TRACE: how often and for how long each thread has the lock, from a trace of `turnwise-lab sim --trace`.

A turn is a row of acquisitions by one thread, with no other thread's between them.
"""
import collections
import json
import statistics
import sys

WARM_UP_US = 2000

begun = (e for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "lock" and e["ph"] == "B")
turns = []
for event in begun:
    if event["ts"] < WARM_UP_US:
        continue
    thread = event["name"].rsplit(" ", 1)[1]
    if turns and turns[-1][0] == thread:
        turns[-1][1] += 1
    else:
        turns.append([thread, 1, event["ts"]])

by_thread = collections.defaultdict(list)
for thread, length, _ in turns:
    by_thread[thread].append(length)
lengths = sorted(length for _, length, _ in turns)
took_us = sorted(after[2] - before[2] for before, after in zip(turns, turns[1:]))


def spread(values):
    return f"{min(values)} to {max(values)}"


print("acquisitions a thread:", spread([sum(of) for of in by_thread.values()]))
print("turns a thread:", spread([len(of) for of in by_thread.values()]))
print(f"sections a turn: mean {statistics.mean(lengths):.2f}, one in {lengths.count(1)} of {len(lengths)}, "
      f"99% at most {lengths[len(lengths) * 99 // 100]}, most {lengths[-1]}")
print(f"a turn: median {statistics.median(took_us):.2f} us, 99% at most {took_us[len(took_us) * 99 // 100]:.1f}, "
      f"longest {took_us[-1]:.1f}")
