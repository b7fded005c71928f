"""Clients of a memcached with 4 threads: counters that all of them raise, and values of their own."""
import os
import socket
import subprocess
import threading
import time

CLIENTS, TURNS = 8, 1000
path = os.path.join(os.environ["DIR"], "socket")
server = subprocess.Popen(["memcached", "-u", "root", "-t", "4", "-s", path, "-m", "64"])


def connect():
    for _ in range(400):
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client.makefile("rwb")
        except OSError:
            time.sleep(0.02)
    raise SystemExit("memcached does not start")


def ask(stream, words):
    stream.write(words + b"\r\n")
    stream.flush()
    return stream.readline().strip()


def client(number, counted):
    stream = connect()
    for turn in range(TURNS):
        ask(stream, b"incr one 2")
        key = b"key%d-%d" % (number, turn % 50)
        ask(stream, b"set %s 0 0 4\r\n%04d" % (key, turn))
        if ask(stream, b"get " + key).startswith(b"VALUE"):
            counted[number] += stream.readline() == b"%04d\r\n" % turn
            stream.readline()
            counted[number] += 1


first = connect()
ask(first, b"set one 0 0 1\r\n0")
counted = [0] * CLIENTS
threads = [threading.Thread(target=client, args=(number, counted)) for number in range(CLIENTS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ask(first, b"get one")
print(first.readline().strip().decode(), sum(counted))
server.terminate()
server.wait()
