#!/usr/bin/env python3
"""Programs under a CPU quota, on the C library's locks and on ours that believe in several numbers of CPUs.

quota.py TURNWISE BELIEVED.SO PERCENT ROUNDS NUMBERS -- COMMAND: NUMBERS such as 2,1,64. The command prints `time: S`,
once or more, or `ops_per_second: N`; else its time by the clock counts. As root; control groups of version 1. Believed.so: cc -shared -fPIC of
xtask/src/perf/believed.c.
"""
import os, re, statistics, subprocess, sys, time

turnwise, believed, percent, rounds, numbers = sys.argv[1:6]
command = sys.argv[7:]
group = f"/sys/fs/cgroup/cpu/lab-quota-{os.getpid()}"
os.mkdir(group)
open(f"{group}/cpu.cfs_period_us", "w").write("100000")
open(f"{group}/cpu.cfs_quota_us", "w").write(str(int(percent) * 1000))

def enter():
    open(f"{group}/cgroup.procs", "w").write(str(os.getpid()))

def run(lock):
    env = dict(os.environ)
    line = list(command)
    if lock != "libc":
        env["TURNWISE_PERF_CPUS"] = lock
        env["LD_PRELOAD"] = believed
        line = [turnwise, "run", "--"] + line
    begin = time.monotonic()
    out = subprocess.run(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=enter)
    took = time.monotonic() - begin
    assert out.returncode == 0, out.stdout[-500:]
    if rate := re.search(r"ops_per_second: ([0-9.]+)", out.stdout):
        return 1 / float(rate[1])
    times = re.findall(r"(?m)^time: ([0-9.]+)", out.stdout)
    return sum(map(float, times)) if times else took

locks = ["libc"] + numbers.split(",")
got = {lock: [] for lock in locks}
for _ in range(int(rounds)):
    for lock in locks:
        got[lock].append(run(lock))
for lock in locks:
    ratios = sorted(a / b for a, b in zip(got["libc"], got[lock]))
    n = len(ratios)
    print(f"{lock:5} {statistics.median(got[lock]):.4g}  speed against libc {statistics.median(ratios):.3f} "
          f"({ratios[n // 4]:.3f} to {ratios[-1 - n // 4]:.3f})", flush=True)
time.sleep(0.2)
os.rmdir(group)
