"""Programs under one preload library after another: programs.py ROUNDS NAME[,NAME...] [PROGRAM...].

NAME.so is in this folder; the name libc stands for no library. SQLite's program is xtask/programs/sqlite.c, built as
./sqlite. Prints the median, and that of the ratios to the first library's in the same round, with quartiles.
"""
import os, random, re, shutil, statistics, subprocess, sys, tempfile, time
CMD = {
 "cache": "kccachetest order -th 4 -rnd 150000",
 "mixed": "kccachetest wicked -th 4 -capcnt 100000 200000",
 "phash": "kcprototest order -th 4 -rnd 250000",
 "ptree": "kcprototest order -tree -th 4 -rnd 100000",
 "pmixed": "kcprototest wicked -th 4 150000",
 "khash": "kchashtest order -th 4 -rnd -bnum 300000 -msiz 100000000 {dir}/hash.kch 100000",
 "thash": "tchmttest typical -nc {dir}/hash.tch 4 40000 100000",
 "tree": "tcbmttest typical -nc {dir}/tree.tcb 4 20000",
 "tmem": "tcumttest combo 4 150000",
 "stress": "stress-ng --mutex 1 --mutex-procs 4 -t 1 --metrics-brief",
 "sbt": "sysbench threads --threads=8 --thread-yields=100 --thread-locks=1 --time=1 run",
 "sbl": "sysbench threads --threads=4 --thread-yields=1 --thread-locks=2 --time=1 run",
 "sbm": "sysbench mutex --threads=4 --mutex-num=1 --mutex-locks=3000000 --mutex-loops=10 run",
 "one": "./sqlite one 4 60000",
 "shared": "./sqlite shared 4 120000",
 "rcache": "cache_bench --threads=4 --ops_per_thread=100000 --num_shard_bits=0 --cache_size=67108864",
 "rfill": "db_bench --benchmarks=fillrandom,readrandom --db={dir}/rocks --num=50000 --threads=4 --disable_wal=1 --seed=1",
}
FIG = r"total number of events: +(\d+)", r"\] mutex +\d+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+)"
def speed(lib, name):
    env = dict(os.environ) if lib == "libc" else {**os.environ, "LD_PRELOAD": os.path.abspath(lib + ".so")}
    d = tempfile.mkdtemp(dir="/dev/shm")
    t = time.monotonic()
    r = subprocess.run(CMD[name].replace("{dir}", d).split(), env=env, capture_output=True, text=True)
    t = time.monotonic() - t
    shutil.rmtree(d)
    if name in ("stress", "sbt", "sbl"):
        f = [m for p in FIG for m in re.findall(p, r.stdout + r.stderr)]
        return float(f[0])
    assert r.returncode == 0, (r.stdout[-300:], r.stderr[-300:])
    return 1 / t
rounds, libs, names = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:] or list(CMD)
for name in names:
    got = {l: [] for l in libs}
    for _ in range(rounds):
        for l in random.sample(libs, len(libs)): got[l].append(speed(l, name))
    out = []
    for l in libs:
        q = statistics.quantiles([a / b for a, b in zip(got[l], got[libs[0]])], n=4) if rounds > 1 else [0]*3
        out.append(f"{l} {statistics.median(got[l]):.4g} x{q[1]:.3f} ({q[0]:.2f}-{q[2]:.2f})")
    print(f"{name:7}", "; ".join(out), flush=True)
