"""Programs on the C library's locks and on those of preload libraries, in turn, with 4 and more threads.

programs.py FOLDER LIBRARY,... ROUNDS SECONDS [THREADS,...]: FOLDER has the programs of xtask/programs, in lib their
libraries, and LIBRARY.so; after SECONDS no further round begins.
"""
import os, re, shutil, statistics, subprocess, sys, tempfile, time

folder, libraries = os.path.abspath(sys.argv[1]), sys.argv[2].split(",")
rounds, seconds = int(sys.argv[3]), float(sys.argv[4])
threads = [int(n) for n in (sys.argv[5] if len(sys.argv) > 5 else "4,16").split(",")]
TIME = r"time: ([0-9.]+)"
PROGRAMS = [  # name, command, figure, whether it is a time
    ("Kyoto cache, ordered", "kccachetest order -th {n} -rnd 50000", TIME, True),
    ("Kyoto cache, mixed", "kccachetest wicked -th {n} -capcnt 100000 20000", TIME, True),
    ("Kyoto prototype hash", "kcprototest order -th {n} -rnd 40000", TIME, True),
    ("Kyoto prototype, mixed", "kcprototest wicked -th {n} 25000", TIME, True),
    ("Kyoto hash file", "kchashtest order -th {n} -rnd -bnum 300000 -msiz 100000000 {dir}/h.kch 20000", TIME, True),
    ("Tokyo hash", "tchmttest typical -nc {dir}/h.tch {n} 8000 100000", "^" + TIME, True),
    ("sysbench mutex", "sysbench mutex --threads={n} --mutex-num=1 --mutex-locks=500000 --mutex-loops=10 run",
     r"total time: +([0-9.]+)s", True),
    ("SQLite, one connection", "sqlite one {n} 10000", r"([0-9.]+) queries/s", False),
    ("SQLite, shared cache", "sqlite shared {n} 20000", r"([0-9.]+) queries/s", False),
    ("LevelDB mixed", "leveldb {dir}/mixed mixed {n} 10000", r"([0-9.]+) operations/s", False),
]


def run(command, figure, library):
    scratch = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    words = command.format(dir=scratch).split()
    words[0] = os.path.join(folder, words[0])
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(folder, "lib"))
    if library:
        env["LD_PRELOAD"] = os.path.join(folder, library + ".so")
    try:
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=40)
        found = re.findall(figure, done.stdout + done.stderr, re.M)
        if done.returncode != 0 or not found:
            print("FAILED", command, library, done.returncode, done.stderr[-200:], flush=True)
            return None
        return sum(map(float, found))
    except subprocess.TimeoutExpired:
        print("TIMEOUT", command, library, flush=True)
        return None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


begin, found = time.time(), {}
for turn in range(rounds):
    for name, command, figure, lower in PROGRAMS:
        for n in threads:
            if turn > 0 and time.time() - begin > seconds:
                break
            order = [None] + libraries
            order = order[turn % len(order):] + order[:turn % len(order)]
            figures = {library: run(command.replace("{n}", str(n)), figure, library) for library in order}
            if all(figures.values()):
                found.setdefault((name, n, lower), []).append(figures)
for (name, n, lower), rows in found.items():
    median = lambda library: statistics.median(row[library] for row in rows)
    print(f"{name} | {n} threads | libc {median(None):.4g}", end="")
    for library in libraries:
        speed = [row[None] / row[library] if lower else row[library] / row[None] for row in rows]
        print(f" | {library} {statistics.median(speed):.2f} ({min(speed):.2f} to {max(speed):.2f})", end="")
    print(f" | {len(rows)} rounds", flush=True)
