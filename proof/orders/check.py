"""Checks the orderings of the locks against RC11 and Armv8: see README.md, or `check.py --help`."""

import argparse
import copy
import pathlib
import sys
import time

sys.dont_write_bytecode = True  # no folders of compiled files among the sources

import axioms
import litmus
import source
from executions import Execution, Search
from protocols import platform, sharing, sleeping, spinning

PROTOCOLS = {name: list for part in (spinning, sleeping, sharing, platform) for name, list in part.PROGRAMS.items()}


class Found(Exception):
    """A fault, with the execution that shows it."""


def show(state, threads, why):
    """Describes an execution: the events of each thread, and what each read reads."""
    lines = [why]
    names = {number: f"e{number}" for number in range(len(state.events))}
    for number, event in sorted(enumerate(state.events), key=lambda it: (it[1].thread, it[1].step, it[1].part)):
        place = (event.place[0] or "fence") + (f"[{event.place[1]}]" if event.place[1] else "")
        source = f" from {names[state.source[number]]}" if number in state.source else ""
        who = f"thread {event.thread + 1}" if event.thread >= 0 else "at first"
        lines.append(f"  {names[number]:4} {who:9} {event.kind} {place} {event.value} {event.order}{source}")
    for place, order in state.coherence.items():
        lines.append(f"  {place[0]}[{place[1]}] in order: {' '.join(names[write] for write in order)}")
    return "\n".join(lines)


def search(program, model, table, used=None):
    """Returns the number of executions, of those cut, and of steps; raises `Found` at the first fault."""
    count = 0

    def visit(state, threads, stuck):
        nonlocal count
        count += stuck is not None
        wrong = [what for thread in threads for what in thread.wrong]
        if stuck:
            wrong.append(f"waits for ever: thread {', '.join(str(number + 1) for number in stuck)}")
        elif stuck is not None and program.end and not program.end([thread.result for thread in threads], state.final):
            wrong.append("ends wrong")
        if not wrong and model == "RC11" and axioms.races(Execution(state)):
            wrong.append("data race")
        if wrong:
            raise Found(show(state, threads, f"{program.name}, {model}: {'; '.join(wrong)}"))

    def order_of(operation):
        if operation.site is None:
            return operation.order, operation.failure
        if operation.site not in table:
            raise SystemExit(f"{program.name}: no `{operation.site}` has an ORDERING comment: did the source change?")
        if used is not None:
            used.add(operation.site)
        site = table[operation.site]
        return site.order, site.failure

    is_weak = model == "Armv8"
    allows = (lambda x: axioms.armv8(x.dependencies())) if is_weak else axioms.rc11
    run = Search(program, allows, visit, order_of, puts_off=is_weak)
    run.run()
    return count, run.cut, run.tried


MODELS = ("RC11", "Armv8")
HERE = pathlib.Path(__file__).parent


def reasons(name):
    """Reads a file of lines `key: reason`."""
    lines = (HERE / name).read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def litmus_tests(report):
    for name, test, verdicts in litmus.published():
        for model, verdict in verdicts.items():
            found = "allowed" if litmus.is_allowed(test, model) else "forbidden"
            if found != verdict:
                report.wrong(f"{name} is {found} under {model}, and should be {verdict}")
    print(f"{sum(1 for _ in litmus.published())} litmus tests under {' and '.join(MODELS)}", flush=True)


class Report:
    """What was found wrong."""

    def __init__(self):
        self.faults = 0

    def wrong(self, text):
        self.faults += 1
        print(f"WRONG: {text}", flush=True)


def programs_hold(name, programs, table, report, is_wide):
    """Searches the programs of one protocol; returns each search: its steps, program, model, and the sites used."""
    begun, counts, searches = time.monotonic(), {model: [0, 0] for model in MODELS}, []
    for program in programs:
        for model in program.models(is_wide):
            used = set()
            try:
                count, cut, steps = search(program, model, table, used)
            except Found as fault:
                report.wrong(f"{name}: {fault}")
                continue
            searches.append((steps, program, model, used))
            counts[model][0] += count
            counts[model][1] += cut
    numbers = ", ".join(f"{model} {all} executions ({cut} cut)" for model, (all, cut) in counts.items())
    print(f"{name:13} {len(programs)} programs: {numbers}, {time.monotonic() - begun:.1f} s", flush=True)
    return searches


def first_fault(searches, table, key, models=MODELS):
    """Returns the model and the fault by which a changed table is noticed; None if it is not."""
    for _, program, model, used in searches:
        try:
            if key in used and model in models:
                search(program, model, table)
        except Found as fault:
            return model, fault
    return None


def mutants_are_caught(searches, table, report, arguments):
    """Weakens each ordering in turn: a program must notice, or explained.txt says why not."""
    begun, explained = time.monotonic(), reasons("explained.txt")
    counts = {"caught": 0, "explained": 0, "RC11": 0, "Armv8": 0}
    for key in sorted(set().union(*(used for *_, used in searches))):
        for change, order, failure in source.mutants(table[key]):
            name = f"{key} {change}"
            if name in explained and not arguments.wide:
                counts["explained"] += 1
                continue
            mutant = copy.copy(table[key])
            mutant.order, mutant.failure = order, failure
            changed = table | {key: mutant}
            fault = first_fault(searches, changed, key)
            if fault:
                counts["caught"] += 1
                if arguments.wide:
                    other = "Armv8" if fault[0] == "RC11" else "RC11"
                    counts[fault[0]] += not first_fault(searches, changed, key, [other])
                if arguments.loud:
                    print(f"  {name}: {str(fault[1]).splitlines()[0]}", flush=True)
                if name in explained:
                    report.wrong(f"`{name}` is caught, and explained.txt says that it is not")
            elif name in explained:
                counts["explained"] += 1
            else:
                report.wrong(f"mutant `{name}` survives (at {table[key].place})")
    alone = f" ({counts['RC11']} of them by RC11 alone, {counts['Armv8']} by Armv8)" if arguments.wide else ""
    text = f"mutants: {counts['caught']} caught{alone}, {counts['explained']} explained"
    print(f"{text}, {time.monotonic() - begun:.1f} s", flush=True)


def sites_are_used(used, table, report):
    """Holds the source's sites against those that programs use."""
    unused = reasons("unused.txt")
    for key in sorted(set(table) - used):
        if not any(key.startswith(name) for name in unused):
            report.wrong(f"no program uses `{key}` ({table[key].place}), and unused.txt does not say why")
    for name in unused:
        if not any(key.startswith(name) for key in set(table) - used):
            report.wrong(f"unused.txt has `{name}`, which is used, or is no site")


def main():
    parser = argparse.ArgumentParser(description="Checks the orderings of the locks against RC11 and Armv8.")
    parser.add_argument("protocol", nargs="*", choices=[*PROTOCOLS, []], help="only these")
    parser.add_argument("--wide", action="store_true", help="larger programs, too (many minutes)")
    parser.add_argument("--no-mutants", action="store_true", help="the orderings as they are")
    parser.add_argument("--loud", action="store_true", help="say what catches each mutant")
    arguments = parser.parse_args()
    report, table, searches = Report(), source.sites(), []
    litmus_tests(report)
    for name in arguments.protocol or PROTOCOLS:
        asked = [program for program in PROTOCOLS[name] if program.models(arguments.wide)]
        searches += programs_hold(name, asked, table, report, arguments.wide)
    searches.sort(key=lambda it: it[0])  # the quick ones first
    if not arguments.no_mutants:
        mutants_are_caught(searches, table, report, arguments)
    used = set().union(*(used for *_, used in searches))
    if not arguments.protocol:
        sites_are_used(used, table, report)
    print(f"{len(used)} of {len(table)} sites, {report.faults} faults")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main())
