"""Threads put numbers into a queue and take them out: Python's global lock, and the queue's lock and conditions.

Usage: queued.py THREADS ITEMS
"""
import queue
import sys
import threading
import time

threads, items = int(sys.argv[1]), int(sys.argv[2])
line = queue.Queue(maxsize=100)
sums = []


def produce():
    for number in range(items):
        line.put(number)


def consume():
    sums.append(sum(line.get() for _ in range(items)))


crew = [threading.Thread(target=role) for _ in range(threads // 2) for role in (produce, consume)]
begin = time.monotonic()
for thread in crew:
    thread.start()
for thread in crew:
    thread.join()
print("sum", sum(sums))
print(f"{items * (threads // 2) / (time.monotonic() - begin):.0f} items/s")
