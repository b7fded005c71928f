"""Litmus tests, one a line, and what the literature and the vendors say of them.

    x.rel = 1      a store (w to z)   a = x.acq      a load into a register (a to h)
    a = x.acqrel += 1  an exchange    fence.acq      a fence
    y = a          a store of what was read (data)   if a   all that follows depends on a (control)
    z = x[a]       a load whose place depends on a (address)

Orders: rlx if none is written, acq, rel, acqrel, sc. The last field says which values of the registers are asked for.
"""

import pathlib
import re

from axioms import armv8, rc11
from executions import Operation, Program, Search, known

ORDERS = {None: "Relaxed", "rlx": "Relaxed", "acq": "Acquire", "rel": "Release", "acqrel": "AcqRel", "sc": "SeqCst"}
READ = re.compile(r"([a-h]) = ([w-z])(?:\[([a-h])\])?(?:\.(\w+))?(?: \+= (\d+))?$")
WRITE = re.compile(r"([w-z])(?:\.(\w+))? = (.+)$")


def place(name, index):
    return (name, index & 0) if index is not None else name


def thread(text):
    """Returns the generator function of one thread."""
    lines = [line.strip() for line in text.split(";")]

    def run():
        registers = {}
        for line in lines:
            if line.startswith("fence."):
                yield Operation("fence", order=ORDERS[line[6:]])
            elif line.startswith("if "):
                bool(registers[line[3:]])
            elif found := READ.match(line):
                register, name, index, order, added = found.groups()
                where, order = place(name, registers.get(index)), ORDERS[order]
                if added:
                    change = lambda old, added=int(added): old + added
                    registers[register] = yield Operation("exchange", where, order, change=change)
                else:
                    registers[register] = yield Operation("load", where, order)
            else:
                name, order, value = WRITE.match(line).groups()
                yield Operation("store", name, ORDERS[order], change=known(eval(value, {}, registers)))
        return {name: value.number for name, value in registers.items()}

    return run


def outcomes(threads, model):
    """Returns all final values of the registers, as sorted pairs, that the model allows."""
    found = set()

    def visit(state, threads, stuck):
        values = {name: value for thread in threads for name, value in thread.result.items()}
        values |= {place: state.last((place, 0)) for place in "wxyz" if (place, 0) in state.coherence}
        found.add(tuple(sorted(values.items())))

    checks = (lambda x: armv8(x.dependencies())) if model == "Armv8" else rc11
    Search(Program("", [thread(text) for text in threads]), checks, visit, puts_off=model == "Armv8").run()
    return found


def is_allowed(line, model):
    """Returns whether the model allows what a test's line asks for."""
    *threads, wanted = [part.strip() for part in line.split("|")]
    pairs = {(word.split("=")[0], int(word.split("=")[1])) for word in wanted.split()}
    return any(pairs <= set(outcome) for outcome in outcomes(threads, model))


def published():
    """Yields each test of `litmus.txt`: its name, its threads and what is asked for, and both verdicts."""
    for line in (pathlib.Path(__file__).parent / "litmus.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, test, verdicts, _ = (part.strip() for part in line.split(" : "))
            yield name, test, dict(zip(("RC11", "Armv8"), verdicts.split()))
