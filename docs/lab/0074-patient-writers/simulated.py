#!/usr/bin/env python3
"""Simulated readers-writer lock: simrw.py BUILD [BUILD] ...: ns an operation and fairness, for each build of turnwise-lab."""
import json, subprocess, sys
MACHINES = {"sapphire-rapids-2s": "2,4,8,16,56,112", "westmere-ex-80": "2,10,20,80"}
WORK = ["tight", "50/100", "100/4000", "1000/1000", "50/100,read=50", "50/100,read=95", "50/100,writers=1"]
for machine, cpus in MACHINES.items():
    for work in WORK:
        cells = []
        for build in sys.argv[1:]:
            text = subprocess.run([build, "sim", "--machine", machine, "--lock", "rwsem", "--cpus", cpus, "--workload", work, "--duration", "4ms", "--json", "-"], capture_output=True, text=True).stdout
            cells.append([cell["result"].get("Ok") for cell in json.loads(text)["cells"]])
        for n, count in enumerate(cpus.split(",")):
            row = [c[n] for c in cells]
            print(machine, work, count, " | ".join(f"{c['op_ns']:.0f} ns fair {c['fairness']:.2f} max {c['wait']['max_ns']/1e3:.0f} us reads {c['reads']/c['ops']:.2f}" if c else "stuck" for c in row), f"speed {row[0]['op_ns']/row[-1]['op_ns']:.3f}" if all(row) else "", flush=True)
