#!/usr/bin/env python3
"""Records the screencast of the guide's chapter "A slow server, now" (docs/guide/live.md) as an asciinema cast.

    cargo build --release && python3 docs/casts/record.py target/release docs/casts/live.cast

Everything in it happens: a shell runs in a terminal of its own, this script types, and what the terminal shows is
written down with its times. The programs are those of the chapter. It takes two minutes, and gcc.
"""

import codecs
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

COLUMNS, LINES = 100, 30
CHAPTER = Path(__file__).parent.parent / "guide" / "live.md"
# Seconds from key to key, and within which what is shown comes as one.
TYPING, TOGETHER = 0.045, 0.08

# What is typed, and how long to look at what comes of it. A line that begins with a backslash is keys, without Enter.
SCENES = [
    ("# This server is slow, and may not be restarted. It was started like this:", 2),
    ("turnwise run -- ./server > server.log &", 3),
    ("# Which lock? The list of all contended locks, now:", 2),
    ("turnwise top server", 8),
    ("\\\r", 12),  # opens the lock
    ("\\t", 7),  # threads
    ("\\?", 6),
    ("\\ ", 1),
    ("\\q", 2),
    ("# For scripts: a line of JSON, or OpenMetrics for Prometheus.", 2),
    ("turnwise top --once --json server | python3 -m json.tool | sed -n '/\"locks\"/,/\"share\"/p'", 7),
    ("kill %1", 2),
    ("clear", 0.5),
    ("# These two tellers lock two accounts in opposite order.", 2),
    ("turnwise run -- ./bank &", 4),
    ("# Nothing moves. Who waits for whom?", 2),
    ("turnwise why bank; echo \"exit status $?\"", 16),
    ("turnwise why --json bank | python3 -m json.tool | head -n 12", 8),
    ("kill %1", 2),
    ("# More: docs/guide/live.md, docs/top.md", 3),
]


def sources(folder):
    """Writes the programs of the chapter, and compiles them."""
    programs = re.findall(r"```c,file=(\S+)\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
    for name, text in programs:
        # The chapter's server ends by itself after a minute.
        (folder / name).write_text(text.replace("time(NULL) + 60", "time(NULL) + 600"))
        program = name.removesuffix(".c")
        assert os.system(f"cd '{folder}' && cc -O1 -g -fno-inline -pthread -o {program} {name}") == 0, name


class Terminal:
    """A shell in a terminal, and what it has shown so far."""

    def __init__(self, folder, programs):
        self.begun, self.events = time.monotonic(), []
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "TERM": "xterm-256color",
            "PS1": "$ ",
            "LANG": "C.UTF-8",
        }
        self.shell, self.screen = pty.fork()
        if self.shell == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile"], environment)
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))

    def watch(self, seconds):
        """Writes down what is shown for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.screen], [], [], left)[0]:
                try:
                    shown = os.read(self.screen, 65536)
                except OSError:
                    return
                self.events.append((time.monotonic() - self.begun, shown))

    def type(self, text):
        for key in text:
            os.write(self.screen, key.encode())
            self.watch(TYPING * (2.5 if key == " " else 1))

    def end(self):
        os.kill(self.shell, signal.SIGHUP)
        os.waitpid(self.shell, 0)
        os.close(self.screen)


def cast(events):
    """The file: a header, and a line for each piece that was shown."""
    header = {"version": 2, "width": COLUMNS, "height": LINES, "title": "turnwise: a slow server, now"}
    lines = [json.dumps({**header, "env": {"TERM": "xterm-256color", "SHELL": "/bin/bash"}})]
    # A character may come in two pieces.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces = []
    for at, shown in events:
        if pieces and at - pieces[-1][0] < TOGETHER:
            pieces[-1][1].append(shown)
        else:
            pieces.append((at, [shown]))
    for at, shown in pieces:
        text = decoder.decode(b"".join(shown))
        lines.append(json.dumps([round(at, 3), "o", text], ensure_ascii=False))
    return "\n".join(lines) + "\n"


def main():
    programs, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder = Path(tempfile.mkdtemp())
    try:
        sources(folder)
        terminal = Terminal(folder, programs)
        terminal.watch(1)
        for typed, seconds in SCENES:
            terminal.type(typed[1:] if typed.startswith("\\") else typed + "\n")
            terminal.watch(seconds)
        terminal.end()
        text = cast(terminal.events)
        assert str(folder) not in text and str(programs) not in text, "a path of this machine is shown"
        output.write_text(text)
        print(f"{output}: {terminal.events[-1][0]:.0f} s, {len(text)} bytes")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
