"""Threads that write to one SQLite database, each by a connection of its own. Usage: sqlite.py THREADS ROWS"""
import sqlite3
import sys
import threading

threads, rows = int(sys.argv[1]), int(sys.argv[2])
with sqlite3.connect("rows.db") as database:
    database.execute("pragma journal_mode=wal")
    database.execute("pragma synchronous=off")
    database.execute("create table row (thread integer, value integer)")


def write(thread):
    database = sqlite3.connect("rows.db", timeout=60, isolation_level=None)
    for first in range(0, rows, 20):
        database.execute("begin immediate")
        for value in range(first, first + 20):
            database.execute("insert into row values (?, ?)", (thread, thread + value * threads))
        database.execute("commit")
        database.execute("select count(*) from row").fetchone()
    database.close()


workers = [threading.Thread(target=write, args=(thread,)) for thread in range(1, threads + 1)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
database = sqlite3.connect("rows.db")
count, total = database.execute("select count(*), sum(value) from row").fetchone()
print(count, total, database.execute("pragma integrity_check").fetchone()[0])
