"""Loops of several builds of loop.rs of 0049 in turn, with peers where PEERS is set, else without.

many.py 'NAME=PROGRAM[ ENV=VALUE...];...' 'CELL;...' ROUNDS MS: the first is what the others are compared with.
"""
import os, random, re, statistics, subprocess, sys
F = {"fair": r"ours\s+speed.*fairness ([0-9.]+)", "CPU": r"ours.*CPU (\d+) ns", "wait": r"ours.*longest wait (\d+)"}
subjects = []
for text in sys.argv[1].split(";"):
    words = text.split()
    name, program = words[0].split("=", 1)
    subjects.append((name, program, dict(w.split("=", 1) for w in words[1:])))
rounds, ms = int(sys.argv[3]), sys.argv[4]
for cell in sys.argv[2].split(";"):
    got = {}
    rw = cell.startswith("rw")
    mine = [s for s in subjects if not (rw and "MCS" in s[2])]
    for _ in range(rounds):
        for name, program, env in random.sample(mine, len(mine)):
            out = subprocess.run([program, "", cell, "1", ms], capture_output=True, text=True, env=dict(os.environ, **env))
            if out.returncode:
                print("FAILED", name, cell, out.stderr[-200:]); continue
            out = out.stdout
            r = {k: float(re.search(p, out).group(1)) for k, p in F.items()}
            speed = float(re.search(r"ours\s+speed ([0-9.]+)", out).group(1))
            r["ns"] = float(re.search(r"best peer: ([0-9.]+)", out).group(1)) / speed
            if "PEERS" in env: r["peer"] = r["ns"] * speed
            got.setdefault(name, []).append(r)
    med = lambda n, k: statistics.median(x[k] for x in got[n])
    first = subjects[0][0]
    peer = statistics.median(x["peer"] for n in got for x in got[n] if "peer" in x)
    print(f"{cell:22} peer {peer:.0f} ns", end="")
    for name, _, _ in mine:
        q = sorted(a["ns"] / b["ns"] for a, b in zip(got[first], got[name])); k = len(q)
        print(f" | {name} {med(name,'ns'):.0f} ns x{q[k//2]:.3f} ({q[k//4]:.2f}-{q[min(k-1,3*k//4)]:.2f}) CPU {med(name,'CPU'):.0f} f{med(name,'fair'):.2f} w{med(name,'wait'):.0f}", end="")
    print(flush=True)
