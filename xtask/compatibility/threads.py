"""Python's locks, queues, semaphores, barriers, conditions, pools and subprocesses."""
import concurrent.futures
import os
import queue
import subprocess
import threading

box, total = queue.Queue(maxsize=8), [0]
lock = threading.RLock()


def consume():
    while (item := box.get()) is not None:
        with lock, lock:
            total[0] += item


consumers = [threading.Thread(target=consume) for _ in range(4)]
for consumer in consumers:
    consumer.start()
for item in range(1000):
    box.put(item)
for _ in consumers:
    box.put(None)
for consumer in consumers:
    consumer.join()

barrier, passed, semaphore = threading.Barrier(4), [], threading.BoundedSemaphore(2)


def meet():
    for _ in range(50):
        barrier.wait(timeout=60)
    with semaphore:
        passed.append(1)


meeting = [threading.Thread(target=meet) for _ in range(4)]
for thread in meeting:
    thread.start()
for thread in meeting:
    thread.join()

with concurrent.futures.ThreadPoolExecutor(6) as pool:
    run = lambda number: subprocess.run(["sh", "-c", f"exit {number}"], check=False).returncode
    codes = sum(pool.map(run, [0, 1, 2, 3, 4] * 6))
child = os.fork()
if child == 0:
    with lock:
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
condition = threading.Condition()
with condition:
    assert not condition.wait(timeout=0.02)
print(total[0], sum(passed), codes, "done")
