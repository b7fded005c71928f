"""loop.py ROUNDS "PROGRAM ARGUMENTS…"…: runs the commands in turn, and prints medians and ranges of what they print."""
import re
import statistics
import subprocess
import sys

rounds, commands = int(sys.argv[1]), sys.argv[2:]
samples = {command: [] for command in commands}
for _ in range(rounds):
    for command in commands:
        out = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
        samples[command].append({name: float(value) for name, value in re.findall(r"(\S+) ([\d.]+)", out)})
for command, runs in samples.items():
    print(command)
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(f"  {name} {statistics.median(values):.3g} ({min(values):.3g} to {max(values):.3g})")
