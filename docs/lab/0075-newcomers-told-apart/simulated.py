#!/usr/bin/env python3
"""Simulated locks, speed against before: simulated.py LOCK OLD NEW VARIANT [VARIANT...].

OLD and NEW are builds of turnwise-lab, NEW with variants.patch: VARIANT is put in V, which the readers-writer lock goes
by; M (the mutex's variant), X and Y (rests, at first and after a newcomer) are taken from the environment, and the
workloads from WORK. Prints nanoseconds and fairness before, then speeds and fairness.
"""
import json
import os
import subprocess
import sys

MACHINES = {"sapphire-rapids-2s": "4,8,16,56,112", "westmere-ex-80": "10,20,80"}
WORK = os.environ.get("WORK", "tight;50/100;50/100,read=50;50/100,read=95;300/300;1000/1000;100/4000").split(";")


def run(lock, build, variant, machine, cpus, work):
    command = [build, "sim", "--machine", machine, "--lock", lock, "--cpus", cpus, "--workload", work]
    command += ["--duration", "4ms", "--json", "-"]
    text = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, V=variant)).stdout
    return [cell["result"].get("Ok") for cell in json.loads(text)["cells"]]


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    lock, old, new, *variants = sys.argv[1:]
    for machine, cpus in MACHINES.items():
        for work in WORK:
            before = run(lock, old, "0", machine, cpus, work)
            print(machine, work, " ".join(f"{b['op_ns']:.0f}/{b['fairness']:.2f}" for b in before), flush=True)
            for variant in variants:
                pairs = list(zip(before, run(lock, new, variant, machine, cpus, work)))
                row = [f"{b['op_ns'] / n['op_ns']:.2f}/{n['fairness']:.2f}" if b and n else "stuck" for b, n in pairs]
                print("   ", variant, " ".join(row), flush=True)


main()
